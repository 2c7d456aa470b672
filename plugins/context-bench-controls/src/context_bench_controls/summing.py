"""The table: for each system its advantage over random deletion, with an interval over sessions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from context_bench_compare.differences import difference_test
from context_bench_compare.families import PRIMARY, SCORES, SYSTEMS, Member, correct
from context_bench_compare.intervals import Interval, TooFew
from context_bench_controls.choosing import NAMES
from context_bench_controls.measuring import Held

HEADINGS = (
    "system",
    "literals",
    "rows",
    "sessions",
    "idle",
    "ratio",
    "kept",
    *NAMES,
    "advantage",
    "interval",
    "p",
    "best control",
)


@frozen
class Line:
    """One system, over the rows in which it did something.

    Attributes:
        system: Its label.
        kind: ``needed`` or ``all``.
        rows: Rows that count; those without such a literal do not.
        idle: Rows in which it did nothing, which count nowhere else.
        ratio: Median share of the region's tokens that it kept; None without rows.
        kept: Mean share of the literals that it kept.
        controls: The same by control.
        advantage: Mean of its share less that of random deletion, paired by row.
        interval: Of the advantage, or why there is none.
        best: The best control, and the mean advantage over it.
        sessions: Sessions that the rows are of.
        p_value: Of the test that the advantage is zero; 1.0 where there is no interval.
        corrected: The same, corrected for the lines of its family; see :func:`lines_of`.
        together: How many lines the family holds.
    """

    system: str
    kind: str
    rows: int
    idle: int
    ratio: float | None
    kept: float | None
    controls: dict[str, float]
    advantage: float | None
    interval: Interval | TooFew
    best: tuple[str, float] | None
    sessions: int = 0
    p_value: float = 1.0
    corrected: float = 1.0
    together: int = 1


def lines_of(held: Sequence[Held], confidence: float = 0.95) -> list[Line]:
    """Return two lines for each system, for the literals that were needed and for all.

    The first line is the primary comparison, and its p-value is not corrected. The further systems and the second kind of
    literals are two families, each corrected by Holm's method, as in ``compare``.
    """
    systems = dict.fromkeys(one.system for one in held)
    lines = [
        _line([one for one in held if one.system == system], system, kind, confidence)
        for system in systems
        for kind in ("needed", "all")
    ]
    tested = [number for number, line in enumerate(lines) if isinstance(line.interval, Interval)]
    members = []
    for number in tested:
        line = lines[number]
        family = PRIMARY if number == 0 else SYSTEMS if line.kind == "needed" else SCORES
        members.append(Member(family, line.p_value, number))
    for number, found in zip(tested, correct(members, 1 - confidence), strict=True):
        lines[number] = evolve(lines[number], corrected=found.p_value, together=found.together)
    return lines


def _line(rows: Sequence[Held], system: str, kind: str, confidence: float) -> Line:
    acting = [one for one in rows if not one.is_idle and one.values[kind] is not None]
    idle = sum(one.is_idle for one in rows)
    if not acting:
        return Line(
            system,
            kind,
            0,
            idle,
            None,
            None,
            {},
            None,
            TooFew("no row in which it did something"),
            None,
        )
    kept = [float(one.values[kind] or 0.0) for one in acting]
    controls = {name: [float(one.controls[name][kind] or 0.0) for one in acting] for name in NAMES}
    means = {name: statistics.fmean(values) for name, values in controls.items()}
    differences = np.array(kept) - np.array(controls["random"])
    names = {
        cluster: number
        for number, cluster in enumerate(dict.fromkeys(one.cluster for one in acting))
    }
    clusters = np.array([names[one.cluster] for one in acting], dtype=np.int64)
    best = max(means, key=lambda name: means[name])
    tested = difference_test(differences, clusters, confidence)
    return Line(
        system=system,
        kind=kind,
        rows=len(acting),
        idle=idle,
        ratio=statistics.median(one.ratio for one in acting),
        kept=statistics.fmean(kept),
        controls=means,
        advantage=float(differences.mean()),
        interval=tested.interval,
        p_value=tested.p_value,
        corrected=tested.p_value,
        best=(best, statistics.fmean(kept) - means[best]),
        sessions=len(names),
    )


def cells(line: Line) -> list[str | None]:
    """Return the cells of a line, below :data:`HEADINGS`."""
    shown = [None if name not in line.controls else f"{line.controls[name]:.4f}" for name in NAMES]
    interval = (
        f"[{line.interval.low:+.4f}, {line.interval.high:+.4f}]"
        if isinstance(line.interval, Interval)
        else "too few"
    )
    return [
        line.system,
        line.kind,
        str(line.rows),
        str(line.sessions),
        str(line.idle),
        None if line.ratio is None else f"{line.ratio:.3f}",
        None if line.kept is None else f"{line.kept:.4f}",
        *shown,
        None if line.advantage is None else f"{line.advantage:+.4f}",
        interval,
        f"{line.corrected:.2g}" if isinstance(line.interval, Interval) else None,
        None if line.best is None else f"{line.best[1]:+.4f} over {line.best[0]}",
    ]


def line_to_dict(line: Line) -> dict[str, Any]:
    """Return a line as JSON-like values."""
    interval: dict[str, Any] = (
        {
            "low": line.interval.low,
            "high": line.interval.high,
            "confidence": line.interval.confidence,
            "method": line.interval.method,
        }
        if isinstance(line.interval, Interval)
        else {"too_few": line.interval.reason}
    )
    return {
        "system": line.system,
        "literals": line.kind,
        "rows": line.rows,
        "sessions": line.sessions,
        "idle_rows": line.idle,
        "ratio": line.ratio,
        "kept": line.kept,
        "controls": line.controls,
        "advantage": line.advantage,
        "interval": interval,
        "p_value": line.p_value,
        "corrected_p_value": line.corrected,
        "best_control": None
        if line.best is None
        else {"name": line.best[0], "advantage": line.best[1]},
    }
