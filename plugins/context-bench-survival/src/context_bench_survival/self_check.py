"""The extension ``survival-check``: a run in which doing nothing does not score 1.0, or an empty region scores, exits with 2.

It needs no system of its own: for every example of the run the evaluator is asked about the example itself, unchanged, and about
the example without its region. Rows of the system ``identity`` are looked at too, as they were scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_bench import EvalResult
from context_bench.console import warn
from context_bench.hookspecs import hookimpl
from context_bench.records import EvalRow
from context_bench_survival.contexts import given
from context_bench_survival.evaluators import FAILED, SHOWN, Survival, unsound


class SelfCheck:
    """Checks the evaluator on the examples of the run, and says so when it fails."""

    def __init__(self) -> None:
        self._faults: list[str] = []

    @hookimpl
    def row_finished(self, row: EvalRow) -> None:
        """Check the scores of a system that changes nothing; the run continues, so that all faults are found."""
        if "kept_ratio" in row.scores and row.system == "identity":
            self._faults += [
                f"{row.example_id}: identity {fault}" for fault in unsound(row.scores, 1.0)
            ]

    @hookimpl
    def exit_code(self, result: EvalResult) -> int | None:
        """Return 2 when anything was wrong, and print the first few faults."""
        from context_bench.runs import open_run

        with open_run(result.config["run_file"]) as opened:
            for example in opened.examples():
                if example.content is not None:
                    self._faults += [
                        f"{example.id}: {fault}" for fault in faults_of(example.content)
                    ]
        for fault in self._faults[:SHOWN]:
            warn(f"Self-check: {fault}.")
        if self._faults:
            warn(
                f"The self-check of survival failed in {len(self._faults)} places: its scores in this run mean nothing."
            )
        return FAILED if self._faults else None


def faults_of(example: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the scores of an unchanged example, and of one whose region is empty."""
    before, region = given(example)
    if before is None:
        return
    kind = "messages" if example.get("messages") else "context"
    unchanged = {kind: example[kind]}
    emptied = (
        {"messages": [*before[: region[0]], *before[region[1] :]]}
        if kind == "messages"
        else {"context": ""}
    )
    evaluator = Survival()
    yield from (
        f"unchanged, {fault}" for fault in unsound(evaluator.score(example, unchanged), 1.0)
    )
    yield from (
        f"with an empty region, {fault}"
        for fault in unsound(evaluator.score(example, emptied), 0.0)
    )
