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
    if not ours_words or not their_words:
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
    parts = (" ".join(part.split()) for part in text.split("."))
    return [part.split(" ") for part in parts if part]


def _common(first: Sequence[str], second: Sequence[str]) -> set[str]:
    """Return the words of a longest common subsequence; of several, the one that a backward walk finds first."""
    rows, columns = len(first), len(second)
    lengths = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row, word in enumerate(first, start=1):
        line, above = lengths[row], lengths[row - 1]
        for column, other in enumerate(second, start=1):
            line[column] = above[column - 1] + 1 if word == other else max(above[column], line[column - 1])
    found: set[str] = set()
    row, column = rows, columns
    while row and column:
        if first[row - 1] == second[column - 1]:
            found.add(first[row - 1])
            row, column = row - 1, column - 1
        elif lengths[row - 1][column] > lengths[row][column - 1]:
            row -= 1
        else:
            column -= 1
    return found
