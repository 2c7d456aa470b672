"""`sys.exit` in the code of a package: it is told where, and the command never looks as if all went well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench.errors import ContextBenchError, exit_code_of

CODE = """
    import sys

    from context_bench.hookspecs import hookimpl

    class Leaves:
        name = "leaves"

        def compute(self, rows):
            sys.exit(0)

        def write(self, result, stream):
            sys.exit(0)

        @hookimpl
        def exit_code(self, result):
            sys.exit(0)

    class LeavesAtARow(Leaves):
        @hookimpl
        def should_stop(self, row):
            sys.exit(0)

    def after(result, leave=False):
        sys.exit(0)

    def closes(result, leave=False):
        raise GeneratorExit

    def command():
        sys.exit(0)
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [metrics.leaves]
    summary = "Leaves"
    values.none = { heading = "none" }
    [reporters.leaves]
    summary = "Leaves"
    [hooks.leaves]
    summary = "Leaves at the end"
    class = "Leaves"
    implements = ["exit_code"]
    [hooks.leaves-at-a-row]
    summary = "Leaves at a row"
    class = "LeavesAtARow"
    implements = ["exit_code", "should_stop"]
    [commands.after]
    summary = "Leaves"
    extends = "run"
    options.leave = { type = "bool", default = false, help = "Leave", flag = "--leave" }
    [commands.closes]
    summary = "Leaves otherwise"
    extends = "run"
    options.leave = { type = "bool", default = false, help = "Leave otherwise", flag = "--close-up" }
"""
POINTS = {
    "metrics": {"leaves": "acme_leaves:Leaves"},
    "reporters": {"leaves": "acme_leaves:Leaves"},
    "hooks": {"leaves": "acme_leaves:Leaves", "leaves-at-a-row": "acme_leaves:LeavesAtARow"},
    "commands": {"after": "acme_leaves:after", "closes": "acme_leaves:closes"},
}


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (("--add-metric", "leaves"), 2, "The metric leaves raised SystemExit: 0"),
        (("--format", "leaves"), 2, "The reporter leaves failed: SystemExit: 0"),
        (
            ("--extension", "leaves"),
            2,
            "Extension 'acme-leaves/leaves' failed in exit_code(): SystemExit: 0",
        ),
        (("--extension", "leaves-at-a-row"), 2, "failed in should_stop(): SystemExit: 0"),
        (("--leave",), 2, "acme-leaves/after failed: SystemExit: 0"),
        (("--close-up",), 2, "acme-leaves/closes failed: GeneratorExit:"),
    ],
    ids=[
        "metric",
        "reporter",
        "controller at the end",
        "hook at a row",
        "after the run",
        "GeneratorExit",
    ],
)
@pytest.mark.parametrize("workers", ["1", "4"])
def test_what_leaves_is_told_and_the_command_does_not_end_well(
    flags: tuple[str, ...],
    code: int,
    told: str,
    workers: str,
    site: Any,
    context_bench: Callable[..., Any],
) -> None:
    site.basics()
    site.add("acme-leaves", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    run = (
        "run",
        "--system",
        "echo",
        "--dataset",
        "toy",
        "--run-file",
        "r.sqlite",
        "--max-workers",
        workers,
    )
    done = context_bench(*run, *flags)
    assert told in done.words, done.words
    assert done.code == code, done.words


WELL = """
    import click
    from context_bench.errors import ContextBenchError, RunStoppedError
    from context_bench.hookspecs import hookimpl

    class Fine(ContextBenchError):
        exit_code = {code}

    class FineClick(click.ClickException):
        exit_code = {code}

    class FineKey(KeyboardInterrupt):
        exit_code = {code}

    class Well:
        name = "well"

        def __init__(self):
            raise Fine("it did not go well")

    class AtARow:
        @hookimpl
        def should_stop(self, row):
            raise Fine("it did not go well")

    @click.command()
    def complain():
        raise FineClick("it did not go well")

    @click.command()
    def fail():
        raise Fine("it did not go well")

    @click.command()
    def press():
        raise FineKey
"""
WELL_MANIFEST = """
    schema = 1
    api = "1.0"
    [systems.well]
    summary = "Ends well"
    class = "Well"
    kind = "system"
    [hooks.well]
    summary = "Ends well"
    class = "AtARow"
    implements = ["should_stop"]
    [commands]
    complain.summary = "Complain"
    fail.summary = "Fail"
    press.summary = "Press"
"""
WELL_POINTS = {
    "systems": {"well": "acme_well:Well"},
    "hooks": {"well": "acme_well:AtARow"},
    "commands": {name: f"acme_well:{name}" for name in ("complain", "fail", "press")},
}


@pytest.mark.parametrize("code", ["0", "256"])
@pytest.mark.parametrize(
    ("words", "expected", "told"),
    [
        (("run", "-s", "well", "-d", "toy"), 2, "it did not go well"),
        (("run", "-s", "echo", "-d", "toy", "--extension", "well"), 2, "it did not go well"),
        (("complain",), 2, "Error: it did not go well"),
        (("fail",), 2, "Error: it did not go well"),
        (("press",), 130, "Interrupted"),
    ],
    ids=["constructor", "hook at a row", "click", "command", "interrupt"],
)
def test_no_error_ends_as_if_all_went_well_whatever_its_class_says(
    words: tuple[str, ...],
    expected: int,
    told: str,
    code: str,
    site: Any,
    context_bench: Callable[..., Any],
) -> None:
    site.basics()
    site.add(
        "acme-well",
        code=WELL.replace("{code}", code),
        manifest=WELL_MANIFEST,
        entry_points=WELL_POINTS,
    )
    done = context_bench(*words)
    assert (done.code, told in done.words) == (expected, True), done.words


@pytest.mark.parametrize("code", [-256, 300, None, False, "0", 1.0], ids=str)
def test_what_is_no_exit_code_is_the_usual_one(code: Any) -> None:
    error = type("Odd", (ContextBenchError,), {"exit_code": code})()
    assert (exit_code_of(error), exit_code_of(error, 130), exit_code_of(KeyError())) == (2, 130, 2)
    error.exit_code = 12
    assert exit_code_of(error) == 12


def test_a_run_that_a_part_stops_on_purpose_may_end_well(
    site: Any, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    code = WELL.replace("class Fine(ContextBenchError)", "class Fine(RunStoppedError)").replace(
        "{code}", "2"
    )
    code = code.replace('raise Fine("it did', 'raise Fine(exit_code=0, message="it did')
    site.add("acme-well", code=code, manifest=WELL_MANIFEST, entry_points=WELL_POINTS)
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "--extension", "well", "--run-file", "r.sqlite"
    )
    assert (done.code, "Error" in done.err) == (0, False), done.words
