"""Ways to cut a text into the words that ROUGE compares."""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from context_bench.answers import nfkc
from context_bench_rouge.porter import stem

Tokenizer = Callable[[str], list[str]]

_KEPT = (string.ascii_lowercase + string.digits).encode()
_SPACE_OUT = bytes(byte if byte in _KEPT else ord(" ") for byte in range(256))

_LATIN_LETTERS = re.compile(
    r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\ufb00-\ufb06\uff21-\uff5a]"
)
_LETTERS = re.compile(r"[^\W\d_]")

# Scripts that are written without spaces between words, as the inside of a regular expression's character class.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Tibetan, Burmese, Khmer
    "\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9d\U0001b000-\U0001b16f"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)


def tokenizer_for(name: str, reference: str) -> str:
    """The name of the tokenizer to use: for "auto" it depends on the script of the reference.

    rouge-score knows the letters a to z only, and so gives 0 to any two texts in another script, even the same text
    twice. "auto" is rouge-score's tokenizer unless most of the reference's letters are not Latin, or none of its letters and
    digits is one that rouge-score knows.

    >>> tokenizer_for("auto", "α-helix"), tokenizer_for("auto", "東京へ行く"), tokenizer_for("auto", "٤٢")
    ('rouge-score', 'unicode', 'unicode')
    """
    if name != "auto":
        return name
    if reference.isascii():
        return "rouge-score"
    letters, latin = len(_LETTERS.findall(reference)), len(_LATIN_LETTERS.findall(reference))
    return "unicode" if 2 * latin < letters or not rouge_score_words(reference) else "rouge-score"


def rouge_score_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, as in rouge-score and ROUGE-1.5.5.

    >>> rouge_score_words("Don't panic: 42 naïve cafés")
    ['don', 't', 'panic', '42', 'na', 've', 'caf', 's']
    """
    return text.lower().encode("ascii", "replace").translate(_SPACE_OUT).decode("ascii").split()


def unicode_words(text: str) -> list[str]:
    """Words of letters, digits and their marks in any script; single characters where a script puts no spaces.

    >>> unicode_words("Don't panic: naïve 東京タワー नमस्ते")
    ['don', 't', 'panic', 'naïve', '東', '京', 'タ', 'ワ', 'ー', 'नमस्ते']
    """
    return _unicode_word().findall(nfkc(text).lower())


def whitespace_words(text: str) -> list[str]:
    """What stands between white space, in lower case, punctuation and all.

    >>> whitespace_words("Don't panic: 42")
    ["don't", 'panic:', '42']
    """
    return text.lower().split()


TOKENIZERS: dict[str, Tokenizer] = {
    "rouge-score": rouge_score_words,
    "unicode": unicode_words,
    "whitespace": whitespace_words,
}


def stemmed(tokenize: Tokenizer) -> Tokenizer:
    """A tokenizer that also stems, as rouge-score does: ASCII words of more than three characters."""

    def tokenize_and_stem(text: str) -> list[str]:
        return [stem(word) if len(word) > 3 and word.isascii() else word for word in tokenize(text)]

    return tokenize_and_stem


@lru_cache(maxsize=1)
def _unicode_word() -> re.Pattern[str]:
    # `\w` has no combining marks, without which the words of most scripts of India fall apart.
    marks = "".join(
        c
        for c in map(chr, range(0x300, sys.maxunicode >> 3))
        if unicodedata.category(c).startswith("M")
    )
    return re.compile(
        rf"(?=[^\W_])[{_UNSPACED}][{marks}]*|(?:(?![{_UNSPACED}])(?:[^\W_]|[{marks}]))+"
    )
