"""The rows as the page's script gets them: columns of scores and excerpts, full texts of as many as there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import frozen
from markupsafe import Markup

from context_bench_html.embedding import embedded
from context_bench_html.side_by_side import (
    DIFFERENT,
    FAILED,
    IMPROVED,
    REGRESSED,
    Cells,
    SideBySide,
)

EXCERPT_BYTES = 9_000_000
"""Room for the beginnings of questions, right answers and responses of all rows together."""

_BLOCK = 400_000
_LONGEST_EXCERPT, _SHORTEST_EXCERPT = 160, 24


def excerpt_length(rows: int) -> int:
    """Return how many letters of each text are shown in the list, so that a report of any number of rows stays small."""
    return max(_SHORTEST_EXCERPT, min(_LONGEST_EXCERPT, EXCERPT_BYTES // max(1, 2 * rows)))


@frozen(eq=False)
class Texts:
    """Full texts of some lines.

    Attributes:
        blocks: JSON objects by line number; each is read when one of its lines is opened.
        block_of: Number of the block that holds a line, by line number.
        left_out: Lines whose full texts are not there, by what they are: ``regressed``, ``failed``, ``different``, ``other``.
    """

    blocks: tuple[Markup, ...]
    block_of: dict[int, int]
    left_out: dict[str, int]


_KINDS = (("regressed", REGRESSED), ("failed", FAILED), ("different", DIFFERENT))


def texts_of(states: Sequence[int], detail: Callable[[int], dict[str, Any]], room: int) -> Texts:
    """Return full texts of the lines that matter most, as many as there is room for.

    Args:
        states: What each line is; regressed lines come first, then failed ones, different ones, and the others.
        detail: Returns everything about a line.
        room: Bytes.
    """
    blocks: list[list[Markup]] = [[]]
    block_of: dict[int, int] = {}
    left_out: dict[str, int] = {}
    size, is_full = 0, room <= 0
    for kind, line in _by_importance(states):
        if not is_full:
            told = embedded(str(line)) + Markup(":") + embedded(detail(line))
            length = len(told.encode("utf-8"))
            is_full = size + length > room
            if not is_full:
                if sum(map(len, blocks[-1])) + length > _BLOCK and blocks[-1]:
                    blocks.append([])
                blocks[-1].append(told)
                block_of[line] = len(blocks) - 1
                size += length
                continue
        left_out[kind] = left_out.get(kind, 0) + 1
    joined = tuple(Markup("{") + Markup(",").join(block) + Markup("}") for block in blocks if block)
    return Texts(joined, block_of, left_out)


def _by_importance(states: Sequence[int]) -> Iterator[tuple[str, int]]:
    def kind_of(state: int) -> str:
        return next((name for name, bit in _KINDS if state & bit), "other")

    for wanted in (*(name for name, _ in _KINDS), "other"):
        yield from ((wanted, line) for line, state in enumerate(states) if kind_of(state) == wanted)


def rows_payload(
    found: SideBySide,
    states: Sequence[int],
    texts: Texts | None,
    address: str | None = None,
    notes: str | None = None,
) -> Markup:
    """Return the columns of rows as JSON.

    Args:
        found: The rows side by side.
        states: What each line is.
        texts: Which full texts the page holds.
        address: Where a server has the others; the name of the line is appended. None where there is no server.
        notes: Where a server keeps what persons say of rows; None where there is no server.
    """
    datasets = found.datasets
    numbers = {label: number for number, label in enumerate(datasets)}
    block_of = texts.block_of if texts else {}
    return embedded(
        {
            "baseline": found.baseline,
            "better": [found.directions.get(name, found.better) for name in datasets],
            "datasets": datasets,
            "bits": {
                "regressed": REGRESSED,
                "improved": IMPROVED,
                "different": DIFFERENT,
                "failed": FAILED,
            },
            "id": [line.id for line in found.lines],
            "dataset": [numbers[line.dataset] for line in found.lines],
            "repetition": [line.identity[2] for line in found.lines]
            if any(line.identity[2] for line in found.lines)
            else None,
            "question": found.questions or None,
            "gold": found.golds or None,
            "state": list(states),
            "block": [block_of.get(line, -1) for line in range(len(found.lines))],
            "systems": [_column(cells) for cells in found.cells],
            "address": address,
            "line": [line.name for line in found.lines] if address else None,
            "notes": notes,
        }
    )


def _column(cells: Cells) -> dict[str, Any]:
    return {
        "label": cells.label,
        "score": _rounded(cells.values),
        "failed": [number for number, failed in enumerate(cells.failed) if failed],
        "response": cells.responses,
        "latency": _rounded(cells.latency, 3),
        "cost": _rounded(cells.cost, 3) if any(cells.cost) else None,
        "tokens": list(cells.prompt_tokens) if any(cells.prompt_tokens) else None,
        "scores": {key: _rounded(values) for key, values in cells.scores.items()}
        if len(cells.scores) > 1
        else {},
    }


def _rounded(values: Sequence[float | None], digits: int = 5) -> list[float | None]:
    return [None if value is None else float(f"{value:.{digits}g}") for value in values]
