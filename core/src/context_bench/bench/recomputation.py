"""Scores computed again from stored responses, without writing anything and without asking a system."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from context_bench.bench.planner import Planner
from context_bench.bench.requests import Request
from context_bench.bench.run import reference_of
from context_bench.plugins.catalog import Catalog
from context_bench.runner.parts import LabelWiring, Slot
from context_bench.runner.rescoring_jobs import Again
from context_bench.runner.work import Workbench
from context_bench.runs import Run
from context_bench.store.identity import RowId
from context_bench.store.reader import RunReader
from context_bench.tokens import WordTokenizer


class Recomputation:
    """The scores of a run's deterministic, unchanged evaluators, computed again.

    Args:
        catalog: What is installed.
        run: The run.

    Attributes:
        notes: Which scores were not computed again, and why; whole once :meth:`scores` has ended.
    """

    def __init__(self, catalog: Catalog, run: Run) -> None:
        self.notes: list[str] = []
        self._catalog, self._run = catalog, run
        self._keys = {entry["id"]: entry["key"] for entry in run.evaluators}
        self._wirings: dict[str, LabelWiring] = {}

    def scores(self) -> Iterator[tuple[RowId, str, Mapping[str, float]]]:
        """Yield identity of the row, id of the evaluator, and scores.

        Raises:
            ContextBenchError: The evaluators do not fit any more, or the examples were not kept.
        """
        installed = {component.id for component in self._catalog.of_kind("evaluators")}
        known = [name for name in self._keys if "/" in name and name in installed]
        for name in self._keys:
            if name not in known:
                self._note(f"Scores of {name} were not computed again: it is no installed plugin.")
        if not known:
            return
        config = dict(self._run.request)
        request = Request.from_dict(config) if "systems" in config else Request()
        request = evolve(request, evaluators=tuple(known), also=())
        planner = Planner(self._catalog, request.choice(self._catalog), (), request.options, os.environ, None, None)
        reader = RunReader(self._run.path)
        planner.know_stored(reader.labels())
        slots = [
            Slot(entry["slot"], entry["label"], Silent(entry["label"]), entry["key"], False)
            for entry in self._run.systems
        ]
        workbench = Workbench(WordTokenizer())
        again = Again(reader, slots, lambda label: self._wiring(planner, label), True, reference_of(reader))
        for job in again.jobs():
            names = {scorer.number: scorer.id for scorer in job.only or ()}
            for evaluation in workbench.do(job).evaluations:
                yield job.id, names[evaluation.evaluator], evaluation.scores

    def _wiring(self, planner: Planner, label: str) -> LabelWiring:
        """Return the wiring of a label, with those evaluators only that must score as they did."""
        if label not in self._wirings:
            wiring = planner.wire(label)
            kept = []
            for scorer in wiring.scorers:
                if not scorer.deterministic:
                    self._note(f"Scores of {scorer.id} were not computed again: it is not deterministic.")
                elif scorer.key != self._keys.get(scorer.id):
                    self._note(f"Scores of {scorer.id} were not computed again: it or its options have changed since.")
                else:
                    kept.append(scorer)
            self._wirings[label] = evolve(wiring, scorers=tuple(kept))
        return self._wirings[label]

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


class Silent:
    """Stands in for a system that must not be asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Refuse."""
        raise AssertionError(f"the system {self.name} was asked again")
