"""Conformance of an extension: a small run with it ends well, and equals one without it if its hooks
only watch."""

from __future__ import annotations

from typing import Any

from context_bench.hookspecs import HOOKS
from context_bench_testing.samples import Example, examples_of
from context_bench_testing.small_run import small_run
from context_bench_testing.subject import Subject, same

_METRICS = ("counts", "mean-score")


def check_extension(subject: Subject) -> None:
    """Check an extension with each of its examples."""
    component = subject.component
    for example in examples_of(component):
        lacking = [
            name
            for name, option in component.manifest.options.items()
            if option.required and name not in example.options
        ]
        if lacking:
            table = f"[[hooks.{component.name}.examples]]"
            text = f"not called: it needs the option {lacking[0]}; name it in {table}"
            subject.report.note("not-run", text)
        else:
            _check_run(subject, example)


def _check_run(subject: Subject, example: Example) -> None:
    component = subject.component
    options = example.options

    def run() -> Any:
        return small_run(
            metrics=_METRICS,
            extensions=[component.name],
            extension_options={component.name: options} if options else None,
        )

    outcome = subject.call("the extension", run)
    if outcome.error is not None:
        if not subject.is_refused(outcome) and not subject.refuses(outcome, example):
            text = f"a small run with it ends with {outcome.error_text}"
            subject.report.fault("raises", text)
        return
    for line in outcome.value.warnings:
        if f"'{component.id}' failed" in line:
            subject.report.fault("raises", f"a small run with it warns: {line}")
    watches = all(HOOKS[name].watches for name in component.extension.implements if name in HOOKS)
    if watches and not same(outcome.value.summary, small_run(metrics=_METRICS).summary):
        text = "its hooks only watch, but a run with it has another summary"
        subject.report.fault("mutation", text)
