"""Reading a run again: the result of a run file, and the rows that equal runs have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from context_bench.bench.run import comparison_of, usual_metrics
from context_bench.errors import UnknownNameError
from context_bench.records import EvalRow
from context_bench.results import EvalResult, StoredRows, row_to_dict
from context_bench.store.runfile import RunFile


def read_result(
    path: Path, score_field: str | None = None, threshold: float | None = None, baseline: str | None = None
) -> EvalResult:
    """Return the result of a run file; nothing is run.

    Args:
        path: The run file.
        score_field, threshold: What the usual metrics look at, and what passes; None takes those of the run.
        baseline: Label of the system that the others are held against; None takes that of the run.

    Raises:
        StoreError: It is no run file, or is damaged.
        UnknownNameError: No system of the run is called as the baseline is.
        MetricError: The run has no such score.
    """
    store = RunFile.open(path)
    if baseline is not None:
        slots = {entry["label"]: entry["slot"] for entry in store.systems()}
        if baseline not in slots:
            raise UnknownNameError("system of this run for the baseline", baseline, slots)
        store.hold_against(slots[baseline])
    recorded = store.run()
    config = recorded["config"]
    labels, systems = store.labels(), [entry["label"] for entry in store.systems()]
    names = list(dict.fromkeys(label.dataset for label in labels))
    score_field = score_field or config.get("score_field", "score")
    metrics = usual_metrics(
        score_field,
        config.get("threshold", 0.7) if threshold is None else threshold,
        len(names),
        len(systems),
    )
    declared = [key for label in labels for key in label.keys]
    told = {
        "request": config,
        "run_file": str(path),
        "status": recorded["status"],
        "systems": systems,
        **comparison_of(store),
        "datasets": names,
        "evaluators": [entry["id"] for entry in store.evaluators()],
        "wiring": {label.label: label.plan for label in labels},
        "provenance": recorded["provenance"],
        "score_field": score_field,
        "metrics": [metric.name for metric in metrics],
        "num_examples": sum(entry["length"] or 0 for entry in store.datasets()),
    }
    return EvalResult(StoredRows(store), metrics, {}, told, declared, store.warnings())


def canonical_row(row: EvalRow) -> dict[str, Any]:
    """Return a row without what differs between equal runs: timing, attempts, headers, reuse."""
    told = row_to_dict(row)
    del told["latency"], told["system_latency"], told["metadata"]
    for details in told["details"].values():
        details.pop("seconds", None)
    for error in told["errors"]:
        del error["attempts"]
    return told | {"output": dict(row.output)}
