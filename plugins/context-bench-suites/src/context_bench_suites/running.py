"""A run of a suite: the arguments of :func:`context_bench.evaluate`, and the headline table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench import EvalResult
from context_bench.runs import Run
from context_bench_suites.model import Model
from context_bench_suites.pins import STAMP
from context_bench_suites.suite_file import Column, Suite


def arguments(
    suite: Suite, systems: Sequence[str], limit: int | None = None, model: Model | None = None
) -> dict[str, Any]:
    """Return the arguments of :func:`context_bench.evaluate` for a run of a suite.

    Args:
        suite: The suite.
        systems: Specs of the systems to measure, which follow those of the suite.
        limit: Rows of each dataset, for a trial; None for as many as the suite says.
        model: The model that the suite calls; None for a suite that calls none.
    """
    fixed = dict(suite.run)
    own_systems: list[Any] = fixed.pop("systems", [])
    stamp = suite.stamp()
    called: list[Any] = []
    if model is not None and suite.model is not None:
        stamp["model"] = model.name
        own_systems = [model.direct(suite.model), *own_systems]
        called = model.of_proxies(suite.model)
        fixed["reader"] = model.reader(suite.model)
    extensions = {**fixed.pop("extension_options", {}), STAMP: stamp}
    if limit is not None:
        fixed.pop("sample", None)
        fixed["max_examples"] = limit
    return {
        **fixed,
        "systems": [*own_systems, *called, *systems],
        "baseline": suite.compare.get("baseline"),
        "extension_options": extensions,
    }


def headline(suite: Suite, result: EvalResult, run: Run) -> list[dict[str, Any]]:
    """Return the headline table: for each system its label, and a value by heading.

    A value is the mean of a score over the rows of a dataset, or a value of a metric; None if there is none. Beside it,
    under the heading and the name of the control, is that of the control of the system.

    Args:
        suite: The suite.
        result: The result of its run.
        run: The run file of it, which says of each system whether it is derived from another one.
    """
    controls = _controls(run, suite.control)
    table = []
    for system in run.systems:
        if "derived" in system["description"]:
            continue
        label = system["label"]
        line: dict[str, Any] = {"system": label}
        for column in suite.columns:
            line[column.heading] = _shown(result.summary[label], column)
            if suite.control is not None:
                control = result.summary.get(controls.get(label, ""))
                line[f"{column.heading}, {suite.control}"] = (
                    None if control is None else _shown(control, column)
                )
        table.append(line)
    return table


def _controls(run: Run, name: str | None) -> dict[str, str]:
    """Return the labels of the controls of one name by the labels of their systems."""
    controls = {}
    for system in run.systems:
        derived = system["description"].get("derived", {})
        if derived.get("control") == name and name is not None:
            controls[derived["from"]] = system["label"]
    return controls


def _shown(summary: Mapping[str, Any], column: Column) -> float | None:
    if column.value:
        value: float | None = summary.get(column.value)
        return value
    for scores in summary["scores"].values():
        if column.score in scores:
            found = scores[column.score]["datasets"].get(column.dataset, {})
            mean: float | None = found.get("mean")
            return mean
    return None
