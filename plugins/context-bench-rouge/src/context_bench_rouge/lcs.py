"""The longest common subsequence of two token sequences, computed on the bits of Python integers.

A text of n tokens is an integer of n bits, bit i for its token i. A row of the table of common lengths is such an
integer too: bit i is 0 where the common length grows from the first i tokens to the first i + 1, so that the number of
zeros is the common length. A row follows from the one before in four operations on whole machine words (Allison and Dix
1986, in the form of Hyyrö 2004): no table is filled, and the time falls by the number of bits in a word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, takewhile
from math import isqrt
from operator import eq

_LONG = 10_000  # tokens; building the bits of a longer text one by one would take quadratic time
_BLOCK = 1024  # rows that are kept at a time on the way back


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence of two token sequences, exactly.

    Computed by rapidfuzz where that is installed, to the same number.

    >>> lcs_length("the cat sat on the mat".split(), "the cat lay on a mat".split())
    4
    """
    if (fast := _rapidfuzz()) is not None:
        return fast(first, second)
    return own_lcs_length(first, second)


def own_lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The same, in plain Python."""
    # What is in one sequence only is in no common subsequence, and what both begin or end with is in a longest one.
    common = set(first).intersection(second)
    first, second = (
        [token for token in first if token in common],
        [token for token in second if token in common],
    )
    start = _equal_tokens(first, second)
    first, second = first[start:], second[start:]
    end = _equal_tokens(reversed(first), reversed(second))
    shorter, longer = sorted((first[: len(first) - end], second[: len(second) - end]), key=len)
    positions = _positions(shorter)
    full = (1 << len(shorter)) - 1
    last_row = _last_row(full, full, [positions.get(token, 0) for token in longer])
    return start + end + len(shorter) - last_row.bit_count()


@cache
def _rapidfuzz() -> Callable[[Sequence[str], Sequence[str]], int] | None:
    """The function of rapidfuzz (the extra ``fast``) that computes the same; None where it is not installed."""
    try:
        from rapidfuzz.distance.LCSseq import similarity  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    found: Callable[[Sequence[str], Sequence[str]], int] = similarity
    return found


def union_lcs(sentence: Sequence[str], others: Sequence[Sequence[str]]) -> list[str]:
    """The words of a sentence that are in its longest common subsequence with any of the others, in their order.

    Of several subsequences of one length the same is taken as in rouge-score, which matters for the union.

    >>> union_lcs("w1 w2 w3 w4 w5".split(), ["w1 w2 w6 w7 w8".split(), "w1 w3 w8 w9 w5".split()])
    ['w1', 'w2', 'w3', 'w5']
    """
    if sentence in others:
        return list(sentence)
    if (
        len(sentence) > _LONG
    ):  # a word that none of them has is never on the path, and would only cost bits
        known = set(chain.from_iterable(others))
        sentence = [word for word in sentence if word in known]
    positions = _positions(sentence)
    union = 0
    for other in others:
        matches = list(map(positions.get, other))
        if any(matches):
            # Equal ends are where the way back begins, without a look at any row.
            length = len(sentence)
            if sentence[-1] == other[-1]:
                end = _equal_tokens(reversed(sentence), reversed(other))
                length -= end
                union |= (1 << len(sentence)) - (1 << length)
                del matches[-end:]
            # Words without a match leave the row as it is: of several in succession one has the effect of all.
            telling = [
                matched or 0 for matched, before in zip(matches, (1, *matches)) if matched or before
            ]
            union |= _chosen_positions(length, telling)
    return [word for word, bit in zip(sentence, reversed(f"{union:b}")) if bit == "1"]


def _chosen_positions(length: int, matches: Sequence[int]) -> int:
    """One longest common subsequence, as the bits of its positions.

    The path through the table is walked back from its end: over a match to the left and up, else up where the row above
    has the same length, else left. Upward steps are skipped all at once: the next stop in a column is the highest bit
    that is a match or a growth.
    """
    chosen, below = 0, (1 << length) - 1
    for matched, row in _rows_backwards(below, matches):
        stops = (matched | ~row) & below
        if not stops:
            break
        stop = 1 << stops.bit_length() - 1
        below = stop - 1
        if matched & stop:
            chosen |= stop
        else:
            below |= stop
    return chosen


def _rows_backwards(full: int, matches: Sequence[int]) -> Iterator[tuple[int, int]]:
    """All rows with their matches, the last one first. Of long texts, blocks of rows are computed a second time."""
    if len(matches) <= _BLOCK:
        return zip(reversed(matches), reversed(_rows(full, full, matches)))
    size = max(_BLOCK, isqrt(len(matches)))
    blocks = [matches[start : start + size] for start in range(0, len(matches), size)]
    starts = [full]
    for block in blocks[:-1]:
        starts.append(_last_row(starts[-1], full, block))
    by_block = (
        zip(reversed(block), reversed(_rows(start, full, block)))
        for start, block in zip(reversed(starts), reversed(blocks))
    )
    return chain.from_iterable(by_block)


def _rows(row: int, full: int, matches: Iterable[int]) -> list[int]:
    """The rows after `row`, one for each token of the other text; `matches` has the positions where that token is."""
    rows = []
    for matched in matches:
        if matched := matched & row:
            row = (row + matched | row - matched) & full
        rows.append(row)
    return rows


def _last_row(row: int, full: int, matches: Iterable[int]) -> int:
    """The last of `_rows`, for which none has to be kept."""
    for matched in matches:
        if matched := matched & row:
            row = (row + matched | row - matched) & full
    return row


def _positions(tokens: Sequence[str]) -> dict[str, int]:
    """For each token, an integer with a bit for each place where it stands."""
    if len(tokens) > _LONG:
        return _positions_of_many(tokens)
    positions: dict[str, int] = {}
    bit = 1
    for token in tokens:
        positions[token] = positions.get(token, 0) | bit
        bit <<= 1
    return positions


def _positions_of_many(tokens: Sequence[str]) -> dict[str, int]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(tokens):
        places[token].append(place)
    positions = {}
    for token, found in places.items():
        octets = bytearray(found[-1] // 8 + 1)
        for place in found:
            octets[place >> 3] |= 1 << (place & 7)
        positions[token] = int.from_bytes(octets, "little")
    return positions


def _equal_tokens(first: Iterable[str], second: Iterable[str]) -> int:
    """How many tokens two sequences begin with alike."""
    return sum(takewhile(bool, map(eq, first, second)))
