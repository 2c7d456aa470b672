"""Labels with a number behind each, as in "SUPPORTS: 0.1, REFUTES: 0.8": the likeliest one is meant."""

from __future__ import annotations

import math
from collections.abc import Iterator

from context_bench_nli import grammar as g
from context_bench_nli.concepts import Concept
from context_bench_nli.tokens import Token

_LEADS = frozenset(":=|-–—~≈")
_REACH = 6  # signs between a label and its number
_TAIL = 4  # words behind a number, as in "3 of 10 sentences"


def weighed(
    tokens: list[Token], concepts: list[Concept], denials: list[bool | None]
) -> dict[int, bool]:
    """Where the concepts begin that are listed with a number each, and of each whether its label is the likeliest.

    Where the numbers are no likelihoods (counts, or the codes of a legend), or two labels are the likeliest, none is. A list in
    which something is denied is none.
    """
    found: dict[int, bool] = {}
    denied = {concept.start for concept, is_denied in zip(concepts, denials) if is_denied}
    for run in _runs(tokens, concepts):
        if any(concept.start in denied for concept, _ in run):
            continue
        best = max(value for _, value in run)
        likeliest = {concept.possible for concept, value in run if value == best}
        is_decided = len(likeliest) == 1 and _are_likelihoods([value for _, value in run])
        found.update((concept.start, is_decided and value == best) for concept, value in run)
    return found


def _runs(tokens: list[Token], concepts: list[Concept]) -> Iterator[list[tuple[Concept, float]]]:
    """The concepts of different meanings that stand one behind the other, each with a number."""
    run: list[tuple[Concept, float]] = []
    for place, concept in enumerate(concepts):
        following = concepts[place + 1].start if place + 1 < len(concepts) else len(tokens)
        number = None if concept.opener else _number(tokens, concept.stop, following)
        if number is not None:
            run.append((concept, number[0]))
        if number is None or not _goes_on(tokens, number[1], following):
            if len({concept.possible for concept, _ in run}) > 1:
                yield run
            run = []
    if len({concept.possible for concept, _ in run}) > 1:
        yield run


def _number(tokens: list[Token], start: int, stop: int) -> tuple[float, int] | None:
    """The number that stands behind a concept, and the token behind it."""
    for index in range(start, min(start + _REACH, stop)):
        word = tokens[index].word
        if word.isdigit() or (
            word == "." and index > start and _is_digits(tokens, index + 1, index)
        ):
            return _read(tokens, index, stop)
        if word == "[" or not (word in _LEADS or g.is_markup(word)):  # "supports [1]" cites
            return None
    return None


def _read(tokens: list[Token], index: int, stop: int) -> tuple[float, int]:
    written = tokens[index].word
    while index + 1 < stop and tokens[index + 1].start == tokens[index].end:
        word = tokens[index + 1].word
        if word[0].isalnum() and not word.isdigit():
            return math.inf, index + 2  # "1e-3", "2nd"
        if not (word.isdigit() or (word == "." and _is_digits(tokens, index + 2, index + 1))):
            break
        written += word
        index += 1
    whole, _, places = written.partition(".")
    value = float(f"{whole or 0}.{places.replace('.', '') or 0}")
    is_percent = index + 1 < stop and tokens[index + 1].word == "%"
    return (value / 100 if is_percent else value), index + 1 + is_percent


def _is_digits(tokens: list[Token], index: int, behind: int) -> bool:
    return (
        index < len(tokens)
        and tokens[index].word.isdigit()
        and tokens[index].start == tokens[behind].end
    )


def _goes_on(tokens: list[Token], start: int, stop: int) -> bool:
    """Whether between a number and the next concept there is nothing but signs and the number's own words."""
    words = [token.word for token in tokens[start:stop] if token.word[0].isalnum()]
    return (
        stop < len(tokens)
        and len(words) <= _TAIL
        and not any(token.word in ".!?" for token in tokens[start:stop])
    )


def _are_likelihoods(values: list[float]) -> bool:
    """Whether numbers can be likelihoods: none above 1, and no mere codes such as 0 and 1; or all of 100 together."""
    if max(values) > 1:
        return 99 <= sum(values) <= 101
    return any(value % 1 for value in values) or (sum(values) == 1 and len(values) > 2)
