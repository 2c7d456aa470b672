"""Verifying a run file: is it whole, is it what was written, and do its scores come out again?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from attrs import evolve, field, mutable

from context_bench.bench.planner import Planner
from context_bench.bench.requests import Request
from context_bench.bench.run import reference_of
from context_bench.errors import ContextBenchError, StoreError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.hooks import Hooks
from context_bench.runner.parts import LabelWiring, Slot
from context_bench.runner.rescoring_jobs import Again
from context_bench.runner.transcript import output_of
from context_bench.runner.work import Workbench
from context_bench.store.encoding import DIGEST_SIZE, from_json
from context_bench.store.keys import RowId, example_key, output_key
from context_bench.store.runfile import RunFile
from context_bench.store.seal import is_sealed
from context_bench.tokens import WordTokenizer

_MOST = 20


@mutable
class Verification:
    """What verifying a run file found.

    Attributes:
        sealed: Whether the whole file was held against its seal; an interrupted run may have none.
        rows: Rows read and held against their check sums.
        recomputed: Scores that were computed again.
        problems: What is wrong, at most 20 lines.
        notes: What could not be verified, and why.
    """

    sealed: bool = False
    rows: int = 0
    recomputed: int = 0
    problems: list[str] = field(factory=list)
    notes: list[str] = field(factory=list)

    def blame(self, problem: str) -> None:
        """Add a problem, while there is room."""
        if len(self.problems) < _MOST:
            self.problems.append(problem)


def verify(catalog: Catalog, path: Path) -> Verification:
    """Hold a run file against its seal, its check sums and its hashes, and recompute its deterministic scores.

    Nothing in the file is changed, and no system is asked.

    Raises:
        StoreError: The file is missing or is no run file at all.
    """
    if not path.is_file():
        raise StoreError(f"There is no run file {path}.")
    found = Verification()
    try:
        found.sealed = is_sealed(path)
        store = RunFile.open(path)
        _check_tables(store, found)
        _check_rows(store, found)
        _check_examples(store, found)
    except StoreError as error:
        found.blame(str(error))
        return found
    except (ValueError, LookupError, TypeError) as error:  # tables that have no check sums of their own
        found.blame(f"{path} is damaged: {type(error).__name__}: {error}")
        return found
    if not found.sealed:
        found.notes.append("The run has not ended, so there is no seal to hold the whole file to.")
    try:
        _recompute(catalog, store, found)
    except ContextBenchError as error:
        found.notes.append(f"The scores were not computed again: {error}")
    return found


def _check_tables(store: RunFile, found: Verification) -> None:
    for (line,) in store.read("PRAGMA integrity_check(20)"):
        if line != "ok":
            found.blame(f"SQLite: {line}")


def _check_rows(store: RunFile, found: Verification) -> None:
    for _ in store.rows():
        found.rows += 1
    turns: dict[int, list[Any]] = {}
    if store.has_turns:
        for (number,) in store.read("SELECT DISTINCT response FROM turns"):
            turns[number] = [output_of(turn)["response"] for turn in store.turns(RowId.unpack(number))]
    for number, output, digest in store.read("SELECT id, output, hash FROM responses ORDER BY id"):
        if output_key(from_json(output)) != digest:
            found.blame(f"The output at {RowId.unpack(number)} is not the one that was hashed.")
        if number in turns and turns[number] != from_json(output).get("turn_responses"):
            found.blame(f"The turns at {RowId.unpack(number)} are not those of its response.")


def _check_examples(store: RunFile, found: Verification) -> None:
    content: dict[int, Any] = {}
    lengths: dict[int, int] = {}
    for number, dataset, digest, body in store.read("SELECT id, dataset, hash, body FROM examples ORDER BY id"):
        if dataset not in content:
            content[dataset] = blake2b(b"context-bench dataset 1", digest_size=DIGEST_SIZE)
        content[dataset].update(digest)
        lengths[dataset] = lengths.get(dataset, 0) + 1
        if body is not None and example_key(from_json(body)) != digest:
            found.blame(f"The example at {RowId.unpack(number)} is not the one that was hashed.")
    for entry in store.datasets():
        number, length = entry["number"], entry["length"]
        if length is None:
            found.notes.append(f"Dataset {entry['label']!r} was not read to its end.")
        elif length != lengths.get(number, 0):
            found.blame(f"Dataset {entry['label']!r} had {length} examples, and {lengths.get(number, 0)} are here.")
        elif length and content[number].digest() != entry["content"]:
            found.blame(f"The examples of dataset {entry['label']!r} are not those that the run was given.")


def _recompute(catalog: Catalog, store: RunFile, found: Verification) -> None:
    stored = {entry["id"]: entry["key"] for entry in store.evaluators()}
    known = [name for name in stored if "/" in name and any(c.id == name for c in catalog.of_kind("evaluators"))]
    for name in stored:
        if name not in known:
            found.notes.append(f"Scores of {name} were not computed again: it is no installed plugin.")
    if not known:
        return
    config = store.run()["config"]
    request = evolve(Request.from_dict(config) if "systems" in config else Request(), evaluators=tuple(known), also=())
    planner = Planner(catalog, request.choice(catalog), (), request.options, os.environ, Hooks(catalog), None)
    planner.know_stored(store.labels())
    slots = [
        Slot(entry["slot"], entry["label"], _Silent(entry["label"]), entry["key"], False) for entry in store.systems()
    ]
    workbench = Workbench(WordTokenizer())
    for job in Again(
        store, slots, _deterministic(planner, stored, found), force=True, reference=reference_of(store)
    ).jobs():
        row = workbench.do(job)
        before = _stored_scores(store, job.id.pack())
        names = {scorer.number: scorer.id for scorer in job.only or ()}
        for evaluation in row.evaluations:
            name = names[evaluation.evaluator]
            if name in before:
                found.recomputed += 1
                if before[name] != dict(evaluation.scores):
                    found.blame(f"{name} scored {before[name]} at {job.id}, and scores {dict(evaluation.scores)} now.")


def _deterministic(planner: Planner, stored: dict[str, bytes], found: Verification) -> Callable[[str], LabelWiring]:
    wirings: dict[str, LabelWiring] = {}

    def wire(label: str) -> LabelWiring:
        if label not in wirings:
            wiring = planner.wire(label)
            kept = []
            for scorer in wiring.scorers:
                if not scorer.deterministic:
                    note = f"Scores of {scorer.id} were not computed again: it is not deterministic."
                elif scorer.key != stored.get(scorer.id):
                    note = f"Scores of {scorer.id} were not computed again: it or its options have changed since."
                else:
                    kept.append(scorer)
                    continue
                if note not in found.notes:
                    found.notes.append(note)
            wirings[label] = evolve(wiring, scorers=tuple(kept))
        return wirings[label]

    return wire


def _stored_scores(store: RunFile, number: int) -> dict[str, dict[str, float]]:
    told: dict[str, dict[str, float]] = {}
    for evaluator, name, value in _evaluated(store, number):
        scores = told.setdefault(evaluator, {})
        if name is not None:
            scores[name] = value
    return told


def _evaluated(store: RunFile, number: int) -> Iterator[tuple[str, str | None, float]]:
    yield from store.read(
        "SELECT evaluators.id, name, value FROM evaluations JOIN evaluators ON number = evaluations.evaluator "
        "LEFT JOIN scores ON scores.response = evaluations.response AND scores.evaluator = evaluations.evaluator "
        f"WHERE evaluations.response = {number}"
    )


class _Silent:
    """Stands in for a system that must not be asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"verify asked the system {self.name}")
