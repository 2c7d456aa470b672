"""``EvalResult.compare()``: what ``context-bench compare`` tells, as a value that prints, and that notebooks show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_compare.columns import PRIMARY, threshold_of
from context_bench_compare.comparing import Overview, overview
from context_bench_compare.rendering import (
    HEADINGS,
    aligned,
    cells,
    more_sentences,
    more_to_dict,
    sentences,
    to_dict,
)
from context_bench_compare.verdicts import Rules


@frozen
class Compared:
    """The comparison of a result's systems.

    Attributes:
        overview: Everything that is told.
    """

    overview: Overview

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict over all rows of the first metric, by system."""
        first = self.overview.lines[0].metric
        return {
            line.system: line.found.word
            for line in self.overview.lines
            if line.metric == first and line.slice == "all"
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as strict JSON values, as ``compare --json`` writes it."""
        return {
            "comparisons": [to_dict(line) for line in self.overview.lines],
            **more_to_dict(self.overview),
        }

    def _sentences(self) -> list[str]:
        return [*sentences(self.overview.lines), *more_sentences(self.overview)]

    def __str__(self) -> str:
        return "\n".join((aligned(HEADINGS, cells(self.overview.lines)), "", *self._sentences()))

    def _repr_html_(self) -> str:
        rows = [
            [("th", cell) for cell in HEADINGS],
            *([("td", cell) for cell in row] for row in cells(self.overview.lines)),
        ]
        told = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for tag, cell in row) for row in rows]
        below = "".join(f"<p>{escape(sentence.strip())}</p>" for sentence in self._sentences())
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in told)}</table>{below}"


def compare_result(
    result: Any,
    metrics: Sequence[str] | str = (PRIMARY,),
    baseline: str | None = None,
    by: Sequence[str] | str = (),
    cluster: str | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    threshold: float | None = None,
    seed: int = 0,
) -> Compared:
    """Return every system of a result held against its baseline.

    Args:
        result: An :class:`~context_bench.EvalResult` of a whole run.
        metrics: Scores and measures to compare; the primary score unless given.
        baseline: Label of the baseline; None takes the run's own, or the first system.
        by: What rows are sliced by besides: ``dataset``, ``tag``, ``length``, ``depth`` or a field of the examples.
        cluster: Field by which rows hang together.
        margin: Difference that does not matter.
        confidence: Of the intervals.
        threshold: Score that passes, for counting flips; None takes that of the run.
        seed: Seed of everything that is drawn.

    Raises:
        ConfigurationError: The result is filtered, has no run file, or one system only.
    """
    named = result.config.get("run_file") or getattr(
        getattr(result.rows, "reader", None), "path", None
    )
    if named is None or not Path(named).is_file() or "filter" in result.config:
        raise ConfigurationError(
            "Only the result of a whole run can be compared: give evaluate() a run_file."
        )
    rules = Rules(confidence, margin, 0.0 if threshold is None else threshold, "higher", seed)
    every, fields = ((one,) if isinstance(one, str) else tuple(one) for one in (metrics, by))
    with open_run(named) as run:
        if threshold is None:
            rules = evolve(rules, threshold=threshold_of(run))
        return Compared(overview([run], every, rules, baseline, cluster, fields))
