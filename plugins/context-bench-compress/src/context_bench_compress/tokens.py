r"""Tokens, and cuts between them.

A token is a match of ``\w+|[^\w\s]``: a run of word characters, or a single other sign; white space counts nothing. It
is the rule of the default tokenizer of context-bench, so a budget here and a compression ratio in a report agree. A
cut never falls inside a token, nor between a sign and what hangs on it: a combining accent, a vowel sign, the parts of
a joined emoji, the second half of a surrogate pair.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

TOKEN = re.compile(r"\w+|[^\w\s]")

_JOINER = "\u200d"
_LONGEST_CLUSTER = 32
"""Signs further from a cut than this are not looked at: nobody writes so many accents on one letter."""


def count_tokens(text: str) -> int:
    r"""Return the number of matches of ``\w+|[^\w\s]``.

    >>> count_tokens("Don't panic!")
    5
    """
    return sum(1 for _ in TOKEN.finditer(text))


def head_end(text: str, count: int, total: int) -> int:
    """Return where the first ``count`` of ``total`` tokens end, or earlier where that would split a sign."""
    if count >= total:
        return len(text)
    first = max(count - _LONGEST_CLUSTER, 0)
    ends = [] if first else [0]
    ends += [match.end() for match in islice(TOKEN.finditer(text), first, count)]
    return next((end for end in reversed(ends) if not hangs_on(text, end)), ends[-1])


def tail_start(text: str, count: int, total: int) -> int:
    """Return where the last ``count`` of ``total`` tokens start, or later where that would split a sign."""
    if count >= total:
        return 0
    first = total - count
    starts = [
        match.start() for match in islice(TOKEN.finditer(text), first, first + _LONGEST_CLUSTER)
    ]
    starts += [len(text)] if count < _LONGEST_CLUSTER else []
    return next((start for start in starts if not hangs_on(text, start)), starts[0])


def hangs_on(text: str, position: int) -> bool:
    """Return whether the character at ``position`` belongs to the one before it."""
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if after.isascii() and before != _JOINER:
        return False
    return (
        _JOINER in (before, after)
        or unicodedata.category(after) in ("Mn", "Mc", "Me")
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )


def splits_token(text: str, position: int) -> bool:
    """Return whether a cut at ``position`` would fall inside a word or a sign."""
    if not 0 < position < len(text):
        return False
    return bool(_INSIDE_WORD.match(text, position - 1)) or hangs_on(text, position)


_INSIDE_WORD = re.compile(r"\w\w")
