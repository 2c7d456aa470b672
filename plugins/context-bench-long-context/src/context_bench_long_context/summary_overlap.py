"""ROUGE-L as the package ``rouge`` 1.0 computes it for LongBench: over sets of words, sentence by sentence.

Its rule differs from that of ``rouge-score``: sentences end at a full stop, words at white space, and a word counts once.
The union of the longest common subsequences of all pairs of sentences is held against the number of different words.
"""

from __future__ import annotations

from collections.abc import Sequence


def rouge_l(response: str, reference: str) -> float:
    """Return the F1; 0.0 where one of the texts has no words.

    >>> round(rouge_l("the cat sat. it slept", "the cat slept."), 4)
    0.75
    """
    ours, theirs = _sentences(response), _sentences(reference)
    ours_words, their_words = {w for s in ours for w in s}, {w for s in theirs for w in s}
    if not ours_words - {""} or not their_words - {""}:
        return 0.0
    union: set[str] = set()
    count = 0
    for sentence in theirs:
        before = len(union)
        for other in ours:
            union |= _common(sentence, other)
        count += len(union) - before
    precision, recall = count / len(ours_words), count / len(their_words)
    return 2.0 * precision * recall / (precision + recall + 1e-8)


def _sentences(text: str) -> list[list[str]]:
    """Return the words of each part between full stops; a part of white space alone is the empty word, as the package has it."""
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _common(first: Sequence[str], second: Sequence[str]) -> set[str]:
    """Return the words of a longest common subsequence; of several, the one that a backward walk finds first.

    A row of the table is an integer: a bit is 0 where the length grows at its column (Hyyrö 2004). That takes an eighth of a
    byte a cell and few steps a row, so that a response of a megabyte without a full stop takes a second and no gigabytes.
    """
    wanted = set(first)
    places = {word: bytearray(len(second) // 8 + 1) for word in wanted.intersection(second)}
    for column, word in enumerate(second):
        if word in places:
            places[word][column // 8] |= 1 << column % 8
    masks = {word: int.from_bytes(bits, "little") for word, bits in places.items()}
    kept = [word for word in first if word in masks]
    rows = [(1 << len(second)) - 1]
    for word in kept:
        same = rows[-1] & masks[word]
        rows.append((rows[-1] + same | rows[-1] - same) & rows[0])
    return _walked(kept, second, rows)


def _walked(first: Sequence[str], second: Sequence[str], rows: Sequence[int]) -> set[str]:
    """Return the words on the way back through a table of :func:`_common`: along a match, else up where that loses nothing."""
    found: set[str] = set()
    row, column = len(first), len(second)
    line, above = rows[row], rows[row - 1] if row else 0
    here, up = _length(line, column), _length(above, column)
    bits, bits_above = _bytes(line, column), _bytes(above, column)
    while row and column:
        last = column - 1
        left = here - _grows(bits, last)
        if first[row - 1] != second[last] and up <= left:
            column, here, up = last, left, up - _grows(bits_above, last)
            continue
        if first[row - 1] == second[last]:
            found.add(second[last])
            column, up = last, up - _grows(bits_above, last)
        row -= 1
        here, bits = up, bits_above
        if row:
            up, bits_above = _length(rows[row - 1], column), _bytes(rows[row - 1], len(second))
    return found


def _length(line: int, column: int) -> int:
    return column - (line & ((1 << column) - 1)).bit_count()


def _bytes(line: int, columns: int) -> bytes:
    return line.to_bytes(columns // 8 + 1, "little")


def _grows(bits: bytes, column: int) -> int:
    return 1 - (bits[column // 8] >> column % 8 & 1)
