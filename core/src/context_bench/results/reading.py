"""Reading a run again: its result, the rows that equal runs have in common, and the history of one
row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from context_bench.columns import ROW_COLUMNS
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.records import REPORTED_CURRENCY, EvalRow
from context_bench.results.pairing import unpaired
from context_bench.results.registry import RunMetric, metrics_for, recalled, stored_metrics
from context_bench.results.result import EvalResult, StoredRows, row_to_dict
from context_bench.results.summary import SCORES, Summary
from context_bench.run.datasets import gold_remark
from context_bench.runs import Run, open_run, reader_of
from context_bench.store.mark import is_own
from context_bench.store.queries import total_cost
from context_bench.store.reader import RunReader


def read_result(
    path: str | os.PathLike[str] | Run,
    score_field: str | None = None,
    threshold: float | None = None,
    baseline: str | None = None,
    catalog: Catalog | None = None,
    *,
    as_stored: bool = False,
) -> EvalResult:
    """Return the result of a run file; nothing is run.

    Args:
        path: The run file, or a run that :func:`~context_bench.runs.open_run` has opened.
        score_field, threshold: What the usual metrics look at, and what passes; None takes those of
            the run.
        baseline: Label of the system that the others are held against; None takes that of the run.
        catalog: What is installed; None looks.
        as_stored: Whether to take the values that the run's metrics had at its end, where it has
            ended, without the means of further scores: no row is read for them. ``total_cost`` in
            the ``config`` is what all rows cost, None where no row knows it.

    Raises:
        StoreError: It is no run file, or is damaged.
        UnknownNameError: No system of the run is called as the baseline is.
        MetricError: The run has no such score.
    """
    store = reader_of(path) if isinstance(path, Run) else RunReader(Path(path))
    if baseline is not None:
        numbers = {system["label"]: system["system_number"] for system in store.systems()}
        if baseline not in numbers:
            raise UnknownNameError("system of this run for the baseline", baseline, numbers)
        store.use_baseline(numbers[baseline])
    with store.snapshot():  # all of one moment
        recorded = store.run()
        summary = None
        more: dict[str, Any] = {}
        if as_stored:
            metrics, summary = _as_stored(store)
            told_of_metrics: list[str] = []
            more["total_cost"] = total_cost(store)
        else:
            metrics, told_of_metrics = _metrics_of(store, catalog, score_field, threshold)
        told = {
            "request": recorded["config"],
            "run_file": str(store.path),
            "status": recorded["status"],
            **told_of(store, metrics),
            "provenance": recorded["provenance"],
            **more,
        }
        warnings = [*store.warnings(), *told_of_metrics]
        return EvalResult(StoredRows(store), metrics, {}, told, warnings=warnings, summary=summary)


def _as_stored(store: RunReader) -> tuple[list[RunMetric], Summary]:
    """Return the metrics that a run recorded, and the values that they had at its end."""
    record = store.metrics()
    stored = record.get("summary", {})
    metrics: list[RunMetric] = []
    keys: dict[str, list[str]] = {}
    values: dict[str, dict[str, Any]] = {entry["label"]: {} for entry in store.systems()}
    for entry in record.get("metrics", ()) if stored else ():
        metrics.append(recalled({"reason": "", **entry}, stored)[0])
        keys[entry["name"]] = list(entry["keys"])
        for label, known in values.items():
            own = stored.get(label, {})
            known.update({key: float(own[key]) for key in entry["keys"] if key in own})
    every = {label: {**known, SCORES: {}} for label, known in values.items()}
    return metrics, Summary(every, keys, ())


def _metrics_of(
    store: RunReader, catalog: Catalog | None, score_field: str | None, threshold: float | None
) -> tuple[list[RunMetric], list[str]]:
    """Return the metrics that a run recorded, those that cannot be had now as it keeps them, and
    what to tell of that."""
    if catalog is None:
        catalog = discover(PluginSettings.read(environ=os.environ))
    record = store.metrics()
    changes = {"score_field": score_field, "threshold": threshold}
    changes = {name: value for name, value in changes.items() if value is not None}
    if not record:  # the run has not come to its metrics
        config = store.run()["config"]
        names = [name for name in ("score_field", "threshold") if name in config]
        return metrics_for(catalog, **{**{name: config[name] for name in names}, **changes}), []
    metrics, absent = stored_metrics(catalog, record["metrics"], changes, is_own=is_own(store))
    old = [recalled(entry, record.get("summary", {})) for entry in absent]
    return [*metrics, *(metric for metric, _ in old)], [line for _, line in old]


def _editions(store: RunReader) -> dict[str, dict[str, Any]]:
    """Return by label the revision of each dataset, the name and hash of the file that it was read
    from, and the fingerprint of its examples, as far as the run recorded them."""
    editions: dict[str, dict[str, Any]] = {}
    for entry in store.datasets():
        recorded = entry["description"]
        known = {name: recorded[name] for name in ("revision", "source") if recorded.get(name)}
        if entry["content"]:
            known["fingerprint"] = entry["content"].hex()
        if known:
            editions[entry["label"]] = known
    return editions


def told_of(store: RunReader, metrics: Sequence[RunMetric]) -> dict[str, Any]:
    """Return what a result's config says of the run that its file holds."""
    labels = store.labels()
    fields = [getattr(metric.metric, "score_field", "score") for metric in metrics]
    return {
        "systems": [entry["label"] for entry in store.systems()],
        **comparison_of(store),
        "datasets": list(dict.fromkeys(label.dataset for label in labels)),
        "editions": _editions(store),
        "evaluators": [entry["id"] for entry in store.evaluators()],
        "wiring": {label.label: label.plan for label in labels},
        "metrics": [metric.name for metric in metrics],
        "score_field": next((field for field in fields if field != "score"), "score"),
        "num_examples": sum(entry["length"] or 0 for entry in store.datasets()),
    }


def comparison_of(store: RunReader) -> dict[str, Any]:
    """Return the part of a result's config that describes the roles of its systems, and money.

    It has keys only for what the run has: ``reads_gold``, ``derived``, ``baseline``, ``reference``,
    ``baselines``, ``unpaired``, ``currency`` and ``prices_date``.
    """
    systems = store.systems()
    config: dict[str, Any] = {}
    for trait in ("reads_gold", "derived"):
        labels = [entry["label"] for entry in systems if entry["description"].get(trait)]
        if labels:
            config[trait] = labels
    billing: dict[str, str] = {}
    for entry in systems:
        description = entry["description"]
        if entry["system_number"] == store.baseline():
            config["baseline"] = entry["label"]
        if "reference" in description:
            config["reference"] = entry["label"]
        billing = billing or description.get("billing", {})
    if "baseline" in config:
        config.update(_pairs_of(store, config["baseline"]))
    config["currency"] = billing.get("currency", REPORTED_CURRENCY)
    if billing.get("date"):
        config["prices_date"] = billing["date"]
    return config


def _pairs_of(store: RunReader, baseline: str) -> dict[str, Any]:
    """Return which systems have another baseline, and which are called differently than theirs."""
    systems = {entry["system_number"]: entry for entry in store.systems()}
    [main] = [entry for entry in systems.values() if entry["label"] == baseline]
    paired = store.paired()
    baselines: dict[str, str] = {}
    differences: dict[str, dict[str, list[Any]]] = {}
    for number, entry in systems.items():
        partner = main
        if number in paired:
            partner = systems[paired[number]]
            baselines[entry["label"]] = partner["label"]
        unequal = unpaired(entry["description"], partner["description"])
        if unequal:
            differences[entry["label"]] = {name: list(pair) for name, pair in unequal.items()}
    config: dict[str, Any] = {}
    if baselines:
        config["baselines"] = baselines
    if differences:
        config["unpaired"] = differences
    return config


def canonical_row(row: EvalRow) -> dict[str, Any]:
    """Return a row without what differs between equal runs: timing, attempts, headers, reuse."""
    values = row_to_dict(row)
    for name, column in ROW_COLUMNS.items():
        if column.exported and not column.canonical:
            del values[name]
    del values["metadata"]
    for details in values["details"].values():
        details.pop("seconds", None)
    for error in values["errors"]:
        del error["attempts"]
    return values | {"output": dict(row.output)}


def failure_causes(path: Path, limit: int = 3) -> list[str]:
    """Return a line for each kind of failure of a run, the most frequent first: how many, whose,
    what it said, and where.

    Beyond ``limit`` kinds, one more line says how many there are.
    """
    with open_run(path) as run:
        causes = run.causes()
    lines = []
    for first, count in causes[:limit]:
        failure = first.failure
        source = f"evaluator {failure.evaluator}" if failure.evaluator else first.system
        rows = "1 row" if count == 1 else f"{count} rows"
        message = " ".join(failure.message.split())
        if len(message) > _LONGEST_CAUSE:
            message = f"{message[:_LONGEST_CAUSE]}..."
        text = f"{failure.kind}: {message}" if message else failure.kind
        text += gold_remark(failure)
        lines.append(f"{source}, {rows}: {text} (explain row {path} '{first.example_id}')")
    others = len(causes) - limit
    if others > 0:
        lines.append(f"and {others} other {'kind' if others == 1 else 'kinds'} of failure")
    return lines


_LONGEST_CAUSE = 200
