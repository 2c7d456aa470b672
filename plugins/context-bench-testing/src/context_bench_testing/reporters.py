"""Conformance of a reporter: the text that it writes about the result of a run."""

from __future__ import annotations

import io
from copy import deepcopy
from typing import Any

from context_bench.errors import ContextBenchError
from context_bench_testing.samples import examples_of
from context_bench_testing.small_run import small_run
from context_bench_testing.subject import Subject


def check_reporter(subject: Subject) -> None:
    """Check a reporter with each of its examples."""
    for example in examples_of(subject.component):
        reporter = subject.build(example)
        if reporter is None:
            continue
        subject.require_name(reporter)
        write = getattr(reporter, "write", None)
        if not callable(write):
            subject.report.fault("signature", "what its class builds has no write()")
        elif subject.require_binding("write", write, None, io.StringIO()):
            _check_write(subject, write)


def _check_write(subject: Subject, write: Any) -> None:
    result = small_run()
    before = deepcopy(result.summary)
    first = _written(subject, write, result, "the result of a small run")
    if first is None:
        return
    if not first:
        subject.report.fault("empty", "it writes nothing about the result of a small run")
    if result.summary != before:
        subject.report.fault("mutation", "write() changes the summary of the result")
    second = _written(subject, write, result, "the same result again")
    if subject.component.manifest.deterministic and second is not None and second != first:
        text = "it writes another text about the same result; set deterministic = false"
        subject.report.fault("not-deterministic", text)
    failed = result.filter(lambda row: row.failed)
    _written(subject, write, failed, "a result with only failed rows")


def _written(subject: Subject, write: Any, result: Any, what: str) -> str | None:
    """Return the text that it writes about a result, or None with a finding."""
    stream = io.StringIO()
    outcome = subject.call("write()", write, result, stream)
    if isinstance(outcome.error, ContextBenchError):
        subject.report.note("refuses", f"write() refuses {what}: {outcome.error_text}")
        return None
    if outcome.error is not None:
        if not subject.is_refused(outcome):
            text = f"write() raises {outcome.error_text} for {what}"
            subject.report.fault("raises", text)
        return None
    if stream.closed:
        subject.report.fault("closed", "write() closes the stream, which its caller owns")
        return None
    return stream.getvalue()
