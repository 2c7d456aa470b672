"""The conformance engine: it imports a component, calls it, and compares what it does with its
manifest."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from context_bench.catalog import Component
from context_bench_testing.commands import check_command
from context_bench_testing.datasets import check_dataset
from context_bench_testing.evaluators import check_evaluator
from context_bench_testing.extensions import check_extension
from context_bench_testing.findings import Report
from context_bench_testing.metrics import check_metric
from context_bench_testing.reporters import check_reporter
from context_bench_testing.subject import Subject
from context_bench_testing.systems import check_system
from context_bench_testing.tokenizers import check_tokenizer
from context_bench_testing.watch import Watch

_CHECKS: dict[str, Callable[[Subject, Any], None]] = {
    "evaluators": lambda subject, thing: check_evaluator(subject),
    "datasets": check_dataset,
    "systems": lambda subject, thing: check_system(subject),
    "metrics": lambda subject, thing: check_metric(subject),
    "reporters": lambda subject, thing: check_reporter(subject),
    "tokenizers": lambda subject, thing: check_tokenizer(subject),
    "hooks": lambda subject, thing: check_extension(subject),
    "commands": check_command,
}


def check_component(component: Component) -> Report:
    """Return what importing and calling a component has shown.

    The component is called in a temporary folder, and network access is refused. Only the first
    import in a process shows what an import does, so a command checks each package in a new one.

    Args:
        component: An installed component; one that cannot be used is not called.
    """
    report = Report()
    usable = component.called_by_id()
    if usable.state != "ok":
        report.note("not-run", f"not called: it is {usable.status}: {usable.reason}")
        return report
    if not usable.target:
        report.note("not-run", "not called: it has no code, only options")
        return report
    subject = Subject(usable, report)
    with _workplace():
        thing = _imported(subject)
        check = _CHECKS.get(component.kind)
        if thing is not None and check is not None:
            check(subject, thing)
    return report


def _imported(subject: Subject) -> Any:
    """Return the object of an entry point, or None with a finding."""
    watch = Watch(subject.package)
    started = perf_counter()
    with watch:
        loaded, thing = subject.component.examine()
    seconds = perf_counter() - started
    subject.compare_acts("its import", watch)
    if loaded.state != "ok":
        subject.report.fault("import", f"{loaded.state}: {loaded.reason}")
        return None
    subject.report.note("import-time", f"imported in {seconds:.2f} s")
    return thing


@contextmanager
def _workplace() -> Iterator[None]:
    """Work in an empty folder, with a folder for temporary files below it."""
    before = os.getcwd()
    usual = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="context-bench-check-") as folder:
        temporary = Path(folder, "temporary")
        work = Path(folder, "work")
        temporary.mkdir()
        work.mkdir()
        os.chdir(work)
        tempfile.tempdir = str(temporary)
        try:
            yield
        finally:
            tempfile.tempdir = usual
            os.chdir(before)
