"""A run of a suite: the arguments of :func:`context_bench.evaluate`, and the headline table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench import EvalResult
from context_bench_suites.pins import STAMP
from context_bench_suites.suite_file import Column, Suite


def arguments(suite: Suite, systems: Sequence[str], limit: int | None = None) -> dict[str, Any]:
    """Return the arguments of :func:`context_bench.evaluate` for a run of a suite.

    Args:
        suite: The suite.
        systems: Specs of the systems to measure, which follow those of the suite.
        limit: Rows of each dataset, for a trial; None for as many as the suite says.
    """
    fixed = dict(suite.run)
    own_systems = fixed.pop("systems", [])
    extensions = {**fixed.pop("extension_options", {}), STAMP: suite.stamp()}
    if limit is not None:
        fixed.pop("sample", None)
        fixed["max_examples"] = limit
    return {
        **fixed,
        "systems": [*own_systems, *systems],
        "baseline": suite.compare.get("baseline"),
        "extension_options": extensions,
    }


def headline(suite: Suite, result: EvalResult) -> list[dict[str, Any]]:
    """Return the headline table: for each system its label, and a value by heading.

    A value is the mean of a score over the rows of a dataset; None if no row has the score. Beside it, under the heading
    and the name of the control, is the mean of the control of that system.

    Args:
        suite: The suite.
        result: The result of its run.
    """
    suffix = f" {suite.control}"
    labels = [label for label in result.summary if not _is_control(label, result)]
    table = []
    for label in labels:
        line: dict[str, Any] = {"system": label}
        for column in suite.columns:
            line[column.heading] = _mean(result.summary[label], column)
            control = result.summary.get(label + suffix)
            if suite.control is not None:
                line[f"{column.heading}, {suite.control}"] = (
                    None if control is None else _mean(control, column)
                )
        table.append(line)
    return table


def _is_control(label: str, result: EvalResult) -> bool:
    """Return whether a row of the summary is of a control: it begins with the label of another system."""
    return any(label.startswith(f"{other} ") for other in result.summary)


def _mean(summary: Mapping[str, Any], column: Column) -> float | None:
    for scores in summary["scores"].values():
        if column.score in scores:
            found = scores[column.score]["datasets"].get(column.dataset, {})
            mean: float | None = found.get("mean")
            return mean
    return None
