"""Conformance of a command: its help, and its answer to an option that it does not have."""

from __future__ import annotations

from typing import Any

import click
from click.testing import CliRunner

from context_bench_testing.subject import Subject

_UNKNOWN = "--no-such-option-of-any-command"
_USAGE = 2


def check_command(subject: Subject, thing: Any) -> None:
    """Check a command without running what it does, which may take long or write files."""
    manifest = subject.component.command
    if manifest.extends is not None:
        subject.report.note("not-run", f"not called: it extends {manifest.extends}")
        return
    if not isinstance(thing, click.Command):
        kind = type(thing).__name__
        subject.report.fault("return-type", f"its entry point names {kind}, not a click command")
        return
    if isinstance(thing, click.Group) != manifest.is_group:
        declared = "true" if manifest.is_group else "false"
        text = f"group = {declared} in its manifest, which its code contradicts"
        subject.report.fault("group", text)
    if not (thing.help or "").strip():
        subject.report.fault("help", "it has no help text")
    for option in thing.params:
        if isinstance(option, click.Option) and not option.help and not option.hidden:
            subject.report.note("help", f"its option {option.opts[0]} has no help text")
    _check_answer(subject, thing, "--help", 0)
    _check_answer(subject, thing, _UNKNOWN, _USAGE)


def _check_answer(subject: Subject, command: click.Command, argument: str, code: int) -> None:
    runner = CliRunner()
    outcome = subject.call("the command", runner.invoke, command, [argument])
    if outcome.error is not None:
        subject.report.fault("raises", f"with {argument} it raises {outcome.error_text}")
        return
    result = outcome.value
    if result.exit_code != code:
        reason = "" if result.exception is None else f" ({result.exception!r})"
        text = f"with {argument} its exit code is {result.exit_code}{reason}, not {code}"
        subject.report.fault("exit-code", text[:300])
