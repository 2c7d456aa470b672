"""Cutting texts into passages, and putting some of them together again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from context_bench_compress.sentences import sentence_spans
from context_bench_compress.tokens import TOKEN, count_tokens, splits_token

LONGEST_SENTENCE = 200
"""Tokens above which a sentence is a table, a listing or a text without full stops, and is cut into windows."""


@dataclass(frozen=True)
class Passage:
    """A stretch of one of the texts."""

    text: int
    start: int
    end: int
    tokens: int


def by_sentences(texts: list[str], sentences: int, language: str) -> list[Passage]:
    """Return passages of so many sentences; the last one of a text may have fewer."""
    passages = []
    for index, text in enumerate(texts):
        pieces = list(_pieces(text, language))
        for first in range(0, len(pieces), sentences):
            group = pieces[first : first + sentences]
            passages.append(
                Passage(index, group[0][0], group[-1][1], sum(size for *_, size in group))
            )
    return passages


def by_tokens(texts: list[str], tokens: int) -> list[Passage]:
    """Return passages of so many tokens; the last one of a text may have fewer."""
    return [
        Passage(index, *piece)
        for index, text in enumerate(texts)
        for piece in _windows(text, 0, len(text), tokens)
    ]


def joined(texts: list[str], passages: Iterable[Passage]) -> list[str]:
    """Return the texts with only these passages in them, which are given in document order; empty texts go.

    White space stays as it was, except at a new beginning or end. Where a gap between two passages had none, a space
    keeps their words apart.
    """
    parts: dict[int, list[Passage]] = {}
    for passage in passages:
        parts.setdefault(passage.text, []).append(passage)
    return [_rebuilt(texts[index], kept) for index, kept in parts.items()]


def _rebuilt(text: str, passages: list[Passage]) -> str:
    pieces: list[str] = []
    end = 0
    for passage in passages:
        if (
            pieces
            and passage.start != end
            and not (text[end - 1].isspace() or text[passage.start].isspace())
        ):
            pieces.append(" ")
        pieces.append(text[passage.start : passage.end])
        end = passage.end
    whole = "".join(pieces)
    whole = whole if passages[0].start == 0 else whole.lstrip()
    return whole if end == len(text) else whole.rstrip()


def _pieces(text: str, language: str) -> Iterator[tuple[int, int, int]]:
    for start, end in sentence_spans(text, language):
        size = count_tokens(text[start:end])
        if size <= LONGEST_SENTENCE:
            yield start, end, size
        else:
            yield from _windows(text, start, end, LONGEST_SENTENCE)


def _windows(text: str, start: int, end: int, tokens: int) -> Iterator[tuple[int, int, int]]:
    """Yield stretches of so many tokens, a few more where a cut would split a sign."""
    size = 0
    for match in TOKEN.finditer(text, start, end):
        if size >= tokens and not splits_token(text, match.start()):
            yield start, match.start(), size
            start, size = match.start(), 0
        size += 1
    if start < end:
        yield start, end, size
