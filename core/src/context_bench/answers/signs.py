"""The signs of a text in one way of writing: line ends, blanks, composed letters, and nothing that
cannot be seen."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain, groupby
from typing import Literal

_CROWD = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32,}")
"""Many signs in a row that may be marks on one letter; all that begin with a mark when they are
taken apart are among them."""

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Marks of width zero or of direction, fillers, variation selectors, tags, and the frame that makes
a key of a digit."""
_UNSEEN = re.compile(rf"\x1b\[[0-9;]*[A-Za-z]|[{_INVISIBLE}\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BLANK = re.compile("[\x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_ORDINARY = re.compile(r"[\t\n\x20-\x7e]*")


def plain_signs(text: str) -> str:
    """Return a text with one kind of line end and of blank, its letters composed (NFC), and nothing
    that cannot be seen.

    What goes are marks of width zero and of direction, soft hyphens, variation selectors, control
    characters and the escape sequences of terminals. The reading of a reading is itself.

    >>> plain_signs("Rating:\\u200b\\xa04\\r\\n")
    'Rating: 4\\n'
    """
    if _ORDINARY.fullmatch(text):
        return text
    text = _UNSEEN.sub("", text)
    text = _BLANK.sub(" ", _LINE_END.sub("\n", text))
    return text if text.isascii() else _nfc(text)


def _nfc(text: str) -> str:
    """Return ``unicodedata.normalize("NFC", text)`` in time by its length; see :func:`nfkc`."""
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _CROWD.sub(_in_canonical_order, text))


def _in_canonical_order(crowd: re.Match[str]) -> str:
    return _ordered("NFD", crowd[0])


def nfkc(text: str) -> str:
    """Return ``unicodedata.normalize("NFKC", text)``, for any number of marks on a letter in time
    by the length of the text.

    Python puts the marks of a letter in order one by one, each behind those that are in order
    already, in time by the square of their number. Here many of them are in order before: the
    normal form of a text whose marks are ordered is the same.
    """
    return unicodedata.normalize("NFKC", _CROWD.sub(_in_order, text))


def _in_order(crowd: re.Match[str]) -> str:
    return _ordered("NFKD", crowd[0])


def _ordered(form: Literal["NFD", "NFKD"], crowd: str) -> str:
    signs = chain.from_iterable(unicodedata.normalize(form, sign) for sign in crowd)
    groups = groupby(signs, key=lambda sign: unicodedata.combining(sign) > 0)
    return "".join(
        "".join(sorted(group, key=unicodedata.combining) if marks else group)
        for marks, group in groups
    )
