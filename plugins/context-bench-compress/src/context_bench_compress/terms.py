"""Search terms: what BM25, TF-IDF and the summarizers compare."""

from __future__ import annotations

import re

from context_bench.answers import nfkc

# Scripts written without spaces between words: Thai and Lao, Myanmar, Khmer, kana, Han.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TERM = re.compile(rf"([{_DENSE}]+)|[^\W{_DENSE}]+")


def terms_of(text: str) -> list[str]:
    """Return the search terms of a text.

    >>> terms_of("The code: 北京大学!")
    ['the', 'code', '北京', '京大', '大学']
    """
    terms: list[str] = []
    for match in _TERM.finditer(nfkc(text).casefold()):
        run = match[0]
        if match[1] and len(run) > 1:
            terms += [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            terms.append(run)
    return terms
