"""Token F1 as SQuAD's script and those that follow it compute it, for English and for Chinese."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
CHINESE_PUNCTUATION = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰"
    "〾〿–—‘’‛“”„‟…‧﹏."
)
_PUNCTUATION = set(string.punctuation)
_BOTH = _PUNCTUATION | set(CHINESE_PUNCTUATION)


def english(text: str) -> list[str]:
    """Return lower-case words without articles and punctuation.

    >>> english("The cat, a dog.")
    ['cat', 'dog']
    """
    bare = "".join(letter for letter in text.lower() if letter not in _PUNCTUATION)
    return _ARTICLES.sub(" ", bare).split()


def chinese(text: str) -> str:
    """Return a text in lower case without white space and punctuation of either kind."""
    return "".join("".join(letter for letter in text.lower() if letter not in _BOTH).split())


def f1(response: Sequence[str], reference: Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of two bags of tokens."""
    common = sum((Counter(response) & Counter(reference)).values())
    if not common:
        return 0.0
    precision, recall = common / len(response), common / len(reference)
    return 2 * precision * recall / (precision + recall)
