"""Rescoring: new or changed evaluators over the stored responses of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from attrs import evolve

from context_bench.bench.parameters import AbsentObject
from context_bench.bench.planner import OBJECT_RULE, Planner
from context_bench.bench.preparation import hooks_of
from context_bench.bench.reading import read_result
from context_bench.bench.recomputation import Silent
from context_bench.bench.requests import Request
from context_bench.bench.run import INTERRUPTED, reference_of
from context_bench.bench.secrets import secrecy_of
from context_bench.errors import RunStoppedError, StoreError
from context_bench.metrics.registry import metrics_record
from context_bench.plugins.catalog import Catalog
from context_bench.results import EvalResult
from context_bench.runner.loop import Loop
from context_bench.runner.parts import Slot
from context_bench.runner.rescoring_jobs import Again
from context_bench.runner.work import Workbench
from context_bench.store.connection import told_as_damage
from context_bench.store.reader import RunReader
from context_bench.store.rescored import Rescoring
from context_bench.tokens import WordTokenizer


def rescore(
    catalog: Catalog,
    path: Path,
    change: Callable[[Request], Request],
    *,
    force: bool = False,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Run new or changed evaluators over the stored responses of a run; no system is asked anything.

    Args:
        catalog: What is installed.
        path: The run file; the scores are added to it.
        change: Changes what the run said about evaluators.
        force: Whether to score again also what the same evaluators scored before.
        on_warning: Is told what the user should know.

    Raises:
        StoreError: The file is no run file, or was written without its examples.
        ContextBenchError: The evaluators do not fit, or one of them cannot be used.
    """
    with closing(RunReader(path)) as reader, told_as_damage(path):
        request = _asked(reader)
    request = _without_objects(change(request), path)
    session = Rescoring(path, {"request": request.to_dict(catalog), "force": force})
    try:
        store = session.store
        hooks = hooks_of(catalog, evolve(request, locked=None), on_warning)[0]
        planner = Planner(catalog, request.choice(catalog), (), request.options, os.environ, hooks, on_warning, store)
        labels = store.labels()
        planner.know_stored(labels)
        for label in labels:
            planner.wire(label.label)
        slots = [
            Slot(entry["slot"], entry["label"], Silent(entry["label"]), entry["key"], False)
            for entry in store.systems()
        ]
        secrecy = secrecy_of(catalog, request.systems, request.datasets, request.options, os.environ)
        workbench = Workbench(WordTokenizer(), secrecy=secrecy)
        Loop(workbench, store, 1).run(Again(store, slots, planner.wire, force, reference_of(store)).jobs())
        result = read_result(store.path, catalog=catalog)
        store.keep_metrics(metrics_record(result.metrics, result.summary, result.said))
        session.publish()
    except KeyboardInterrupt:
        raise RunStoppedError(
            f"Interrupted. {path} shows its earlier scores; the same rescore goes on where this one ended.",
            None,
            INTERRUPTED,
        ) from None
    finally:
        session.leave()
    return read_result(path, catalog=catalog)


def _asked(reader: RunReader) -> Request:
    """Return what a run was asked for; of a run of an earlier version's ``evaluate()``, what it was scored with."""
    config = reader.run()["config"]
    if "systems" in config:
        return Request.from_dict(config)
    stored = reader.evaluators()
    objects = [entry["id"] for entry in stored if entry["provenance"].get("rule") == OBJECT_RULE]
    if not objects:
        return Request()
    names = [entry["id"] for entry in stored if entry["id"] not in objects]
    return Request(evaluators=(*names, *(AbsentObject("", name) for name in objects)))


def _without_objects(request: Request, path: Path) -> Request:
    """Return a request without the evaluators that were objects, all of which must be left out by name.

    Raises:
        StoreError: One of them is not: its scores would go, and the headline with them.
    """
    absent = [one for _, one in request.absent("evaluators")]
    lacking = [one for one in absent if not {one.name, one.type} & set(request.without)]
    if lacking:
        named = " and ".join(f"the evaluator {one}" for one in lacking)
        leave = " ".join(f"--without {one.name or one.type}" for one in lacking)
        raise StoreError(
            f"{path} was scored with {named}, which evaluate() was given and no file can keep. Choose other evaluators "
            f"with --evaluators, or leave it out: {leave}."
        )
    if not absent:
        return request
    known = {name for one in absent for name in (one.name, one.type)}
    return evolve(
        request,
        evaluators=tuple(one for one in request.evaluators or () if isinstance(one, str)),
        without=tuple(name for name in request.without if name not in known),
    )
