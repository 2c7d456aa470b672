"""What a session records in the run file in addition to rows: systems, datasets, wiring, versions,
and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.errors import StoreError
from context_bench.results.registry import metrics_record
from context_bench.results.result import EvalResult
from context_bench.run.admission import Admission
from context_bench.session.location import now
from context_bench.session.prepare import PreparedRun
from context_bench.session.provenance import dependencies, used_distributions
from context_bench.store.runfile import RunFile


class RunRecord:
    """Writes the records of one session.

    Args:
        prepared: The run.
        store: Its run file.
        is_kept: Whether the run file stays when the result is gone; else versions are not recorded.
    """

    def __init__(self, prepared: PreparedRun, store: RunFile, is_kept: bool) -> None:
        self._prepared = prepared
        self._store = store
        self._is_kept = is_kept
        self._extensions: Mapping[str, Any] = {}

    def begin(self) -> None:
        """Record systems, datasets, the wiring that is known, and the metrics."""
        prepared = self._prepared
        store = self._store
        store.begin()
        store.expect(prepared.expected_rows)
        for system in prepared.systems:
            store.add_system(
                system_number=system.number,
                label=system.label,
                key=system.key,
                reusable=system.shared,
                description=prepared.redactor.of_answer(system.description),
            )
        for dataset in prepared.datasets:
            description = prepared.redactor.of_answer(dataset.description)
            store.add_dataset(dataset.number, dataset.label or dataset.fallback, description)
            if dataset.label is not None:
                prepared.wiring.wire(dataset.label)
        self.dependencies()
        self.extensions()
        store.keep_metrics(metrics_record(prepared.metrics))

    def dependencies(self) -> None:
        """Record the versions of what core and the used plugins require."""
        if not self._is_kept:
            return
        used = used_distributions(self._store)
        recorded = self._store.run()["provenance"].get("dependencies", {})
        if not used <= recorded.keys():
            self._store.add_provenance({"dependencies": recorded | dependencies(used)})

    def extensions(self) -> None:
        """Record the active extensions, those that were loaded while the run went on included."""
        described = self._prepared.hooks.described
        if described != self._extensions:
            self._extensions = described
            self._store.add_provenance({"extensions": described})

    def calls(self, admission: Admission) -> None:
        """Record the extensions that calls needed, and the limits of endpoints that were
        learned."""
        self.extensions()
        if admission.learned:
            self._store.add_provenance({"limits": admission.learned})

    def end(self, status: str, warnings: Sequence[str]) -> None:
        """Record how the session ended."""
        self.dependencies()
        self._store.warn(warnings)
        self._store.finish(status, now())

    def result(self, result: EvalResult) -> None:
        """Record the summary of the metrics, and what they found."""
        self._store.keep_metrics(
            metrics_record(result.metrics, result.summary, result.keys_by_metric)
        )
        self._store.warn(result.findings)

    def count(self) -> tuple[int, int]:
        """Return how many rows are answered, and how many failed; none when the file cannot be
        read."""
        try:
            counts = self._store.counts().values()
        except StoreError:
            return 0, 0
        return sum(answered for answered, _ in counts), sum(failed for _, failed in counts)
