"""The letters of options in other scripts: the first four of an alphabet, and letters that look like A, B, C and E."""

from __future__ import annotations

import re

_ALPHABETS = {
    "A": "\u0410\u0391\u0623\u0627\u05d0\u0915\u0995\u0e01\u7532\uac00\u30a2\u0c05",
    "B": "\u0411\u0412\u0392\u0628\u05d1\u0916\u0996\u0e02\u4e59\ub098\u30a4\u0c06",
    "C": "\u0421\u062c\u05d2\u0917\u0997\u0e04\u4e19\ub2e4\u30a6\u0c07",
    "D": "\u062f\u05d3\u0918\u0998\u0e07\u4e01\ub77c\u30a8\u0c08",
    "E": "\u0415\u0395\u0647\u05d4",
}
_LATIN = {sign: letter for letter, signs in _ALPHABETS.items() for sign in signs}
_SIGNS = "".join(_LATIN)
_ALONE = (
    re.compile(  # in brackets, at the end of a line behind a blank or a colon, or alone in its line
        rf"(?<=[(\[*（【「])(?P<bracketed>[{_SIGNS}])(?=[)\]*）】」])"
        rf"|(?:^|(?<=[\s:：*]))(?P<ending>[{_SIGNS}])(?=[.)\]*。！!]*[ \t]*$)"
        rf"|^(?P<leading>[{_SIGNS}])(?=[.):）][ \t])",
        re.MULTILINE,
    )
)


def in_latin_letters(text: str) -> str:
    """Return a text with an option's letter in another script as the Latin one, where it cannot be a word.

    >>> in_latin_letters("\u041e\u0442\u0432\u0435\u0442: (\u0412)")[-3:]
    '(B)'
    """
    return text if text.isascii() else _ALONE.sub(lambda sign: _LATIN[sign[0]], text)
