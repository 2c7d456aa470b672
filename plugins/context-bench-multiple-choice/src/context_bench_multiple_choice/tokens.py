"""A response as tokens: words, numbers, signs and line ends, with cue words of other languages read as English ones."""

from __future__ import annotations

import re

from context_bench_multiple_choice.languages import PHRASES, WORDS
from context_bench_multiple_choice.replies import Token

__all__ = ["Token", "plain", "tokenize"]


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in order; white space other than line ends is dropped.

    >>> [token.word for token in tokenize("Die Antwort ist **C**.")]
    ['die', 'answer', 'is', '**', 'c', '**', '.']
    >>> [token.word for token in tokenize("答案是C")]
    ['answer', 'is', 'c']
    """
    return [Token(match[0], _word(match[0]), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def plain(text: str) -> str:
    """The text with full-width, circled, squared and mathematical letters and digits as ASCII ones.

    >>> plain("Ａ Ⓑ 🅲 𝐃 ４")
    'A B C D 4'
    """
    return text if text.isascii() else text.translate(_PLAIN)


def _word(text: str) -> str:
    lower = text.lower()
    if "’" in lower:
        lower = lower.replace("’", "'")
    return _ENGLISH.get(lower, lower)


_ENGLISH = WORDS | PHRASES
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_TOKEN = re.compile(
    "|".join(
        (
            r"</?(?:b|i|u|p|br|strong|em|span|div|code|li|ul|ol|mark|h[1-6])(?: [^<>\n]{0,80})?/?>",
            rf"[{_LATIN}]+(?:['’][A-Za-z]+)*",
            r"\d+(?:[.,]\d+)*",
            r"\n",
            r"-+>|=+>|[→⇒➜⟶⟹∴]",
            r"\\[A-Za-z]+|\\\S",  # a LaTeX command or an escaped sign
            r"\*+|#+|`+|_",
            r"[^\w\s]",
            *(re.escape(phrase) for phrase in sorted(PHRASES, key=len, reverse=True)),
            r"[\u0370-\u06ff]+",  # words of Greek, Cyrillic, Hebrew and Arabic letters
            r"\w",  # scripts without spaces, letter by letter
        )
    )
)

_INVISIBLE = (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufe0f\ufeff"
)
_STYLED = (  # the first code point of an alphabet or of the ten digits, and what it begins with
    (0xFF21, "A"),
    (0xFF41, "a"),
    (0xFF10, "0"),
    (0x24B6, "A"),  # circled
    (0x24D0, "a"),
    (0x249C, "a"),  # in parentheses
    (0x1F110, "A"),
    (0x1F130, "A"),  # squared
    (0x1F150, "A"),  # white on black
    (0x1F170, "A"),
    (0x1D400, "A"),  # mathematical bold
    (0x1D41A, "a"),
    (0x1D5D4, "A"),  # mathematical sans-serif bold
    (0x1D5EE, "a"),
)
_PLAIN: dict[int, str | None] = {
    **{first + i: chr(ord(begin) + i) for first, begin in _STYLED for i in range(10 if begin == "0" else 26)},
    **{ord(sign): None for sign in _INVISIBLE},
    **{ord(sign): "\n" for sign in "\x0b\x0c\x85\u2028\u2029"},
}
