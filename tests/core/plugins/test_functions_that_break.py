"""What packages bring besides systems and evaluators: whatever one of its functions does, it is told by its name, exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CODE = """
    import os
    from functools import wraps

    from context_bench.hookspecs import hookimpl

    class Reply(dict):
        pass

    def breaks(point):
        where, _, how = os.environ.get("BREAKS", "").partition("=")
        if where != point:
            return None
        if how == "raises":
            raise KeyError("no such thing")
        if how == "leaves":
            raise SystemExit(0)
        return {"nothing": (), "number": (5,), "texts": (iter("ab"),)}[how]

    def may_break(function):
        @wraps(function)
        def asked(*arguments, **options):
            found = breaks(function.__qualname__)
            if found is None:
                return function(*arguments, **options)
            return found[0] if found else None
        return asked

    class Loud:
        name = "loud"

        def __init__(self, times=1):
            breaks("Loud.__init__")
            self.times = times

        @may_break
        def fingerprint(self):
            return {"times": self.times}

        def process(self, example):
            return {"response": "out", "usage": {"input_tokens": 3}}

    class Spread:
        name = "spread"

        @may_break
        def compute(self, rows):
            return {"rows": float(len(list(rows)))}

    class Tab:
        name = "tab"

        @may_break
        def write(self, result, stream):
            stream.write("written")

    class Prepare:
        @hookimpl
        @may_break
        def prepare_systems(self, systems, request):
            return systems

        @hookimpl
        @may_break
        def replace_systems(self, systems, warn):
            return [one.system for one in systems]

    class Govern:
        @hookimpl
        @may_break
        def before_first_call(self, systems, run_file):
            return ()

        @hookimpl
        @may_break
        def admit_call(self, call):
            return None

        @hookimpl
        @may_break
        def call_cost(self, usage, models):
            return 0.5, "prices"

        @hookimpl
        @may_break
        def call_settled(self, call, usage, cost):
            return None

    class Derive:
        @hookimpl
        @may_break
        def derived_systems(self, systems):
            return ()
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [systems.loud]
    summary = "Answers"
    class = "Loud"
    [metrics.spread]
    summary = "Counts"
    class = "Spread"
    values.rows = { heading = "rows" }
    [reporters.tab]
    summary = "Writes"
    class = "Tab"
    files = [".tab"]
    [hooks.prepare]
    summary = "Prepares"
    class = "Prepare"
    implements = ["prepare_systems", "replace_systems"]
    [hooks.govern]
    summary = "Governs"
    class = "Govern"
    implements = ["before_first_call", "admit_call", "call_cost", "call_settled"]
    [hooks.derive]
    summary = "Derives"
    class = "Derive"
    implements = ["derived_systems"]
"""
POINTS = {
    "systems": {"loud": "acme_breaks:Loud"},
    "metrics": {"spread": "acme_breaks:Spread"},
    "reporters": {"tab": "acme_breaks:Tab"},
    "hooks": {
        "prepare": "acme_breaks:Prepare",
        "govern": "acme_breaks:Govern",
        "derive": "acme_breaks:Derive",
    },
}
CASES = [
    ("Loud.__init__", "raises leaves", "system loud (acme-breaks/loud) cannot be set up: "),
    ("Loud.fingerprint", "raises", "System loud cannot be used: KeyError: 'no such thing'"),
    ("Loud.fingerprint", "nothing number texts", "The fingerprint of system loud is "),
    ("Spread.compute", "raises leaves", "The metric spread raised "),
    ("Spread.compute", "nothing number texts", "The metric spread returned "),
    ("Tab.write", "raises leaves", "The reporter tab failed: "),
    ("Prepare.prepare_systems", "raises leaves number", "failed in prepare_systems(): "),
    ("Prepare.prepare_systems", "texts", "Unknown system 'a'"),
    ("Prepare.replace_systems", "raises leaves number", "failed in replace_systems(): "),
    ("Prepare.replace_systems", "texts", "it returned 2 of 1 systems"),
    ("Govern.before_first_call", "raises leaves number", "failed in before_first_call(): "),
    ("Govern.admit_call", "raises leaves", "failed in admit_call(): "),
    ("Govern.call_cost", "raises leaves number texts", "failed in call_cost(): "),
    ("Govern.call_settled", "raises leaves", "failed in call_settled(): "),
    ("Derive.derived_systems", "raises leaves number", "failed in derived_systems(): "),
    ("Derive.derived_systems", "texts", "'a' is not a derived system, it lacks label"),
]
RUN = (
    "run",
    "--system",
    "loud",
    "--dataset",
    "toy",
    "--run-file",
    "r.sqlite",
    "--add-metric",
    "spread",
    "-o",
    "r.tab",
)
PARTS = ("--extension", "prepare", "--extension", "govern", "--extension", "derive")


@pytest.fixture
def breaking(site: Any, workplace: Any) -> Any:
    site.basics()
    site.add("acme-breaks", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    return workplace


@pytest.mark.parametrize(
    ("point", "how", "told"),
    [
        pytest.param(point, how, told, id=f"{point} {how}")
        for point, ways, told in CASES
        for how in ways.split()
    ],
)
def test_a_function_that_breaks_is_told_by_its_name(
    point: str,
    how: str,
    told: str,
    breaking: Any,
    context_bench: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BREAKS", f"{point}={how}")
    done = context_bench(*RUN, *PARTS)
    assert told in done.words, done.words
    assert done.code == 2, done.words
    assert "Traceback" not in done.words


def test_what_a_broken_metric_leaves_can_be_reported_as_its_message_says(
    breaking: Any, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAKS", "Spread.compute=raises")
    done = context_bench(*RUN)
    assert "CONTEXT_BENCH_DISABLE_PLUGINS=spread does so." in done.words
    assert "The run is complete: context-bench report r.sqlite" in done.words
    assert context_bench("report", "r.sqlite").code == 2
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "spread")
    assert context_bench("report", "r.sqlite").code == 0


ENDS = """
    class Evaluator:
        name = "ends"

        def score(self, original, processed):
            return {"ends": 1.0}

        def finished(self, run):
            raise KeyError("no such thing")
"""


def test_a_run_whose_end_breaks_an_evaluator_is_complete_and_told_where(
    site: Any, workplace: Path, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    site.evaluator("acme-ends", "ends", code=ENDS)
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "--add-evaluator", "ends", "--run-file", "r.sqlite", "-q"
    )
    assert done.code == 2
    assert "The evaluator acme-ends/ends failed: KeyError" in done.words
    assert "The run is complete: context-bench report r.sqlite" in done.words
    assert context_bench("report", "r.sqlite").code == 0


def test_a_run_that_cannot_begin_is_not_called_complete_because_its_place_is_taken(
    site: Any, workplace: Path, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    (workplace / "r.sqlite").write_text("another one")
    flags = ("--run-file", "r.sqlite", "--score-field", "nope", "-q")
    done = context_bench("run", "-s", "echo", "-d", "toy", *flags)
    assert done.code == 2
    assert "complete" not in done.words


def test_a_report_without_a_blocked_metric_says_a_flag_that_it_takes(
    breaking: Any, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert context_bench(*RUN).code == 0
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "spread")
    blocked = context_bench("report", "r.sqlite")
    assert "spread is blocked: switched off by the environment variable" in blocked.words
    assert "or give -p spread" in blocked.words
    admitted = context_bench("report", "r.sqlite", "-p", "spread")
    assert admitted.code == 0
    assert "blocked" not in admitted.words


def test_a_reporter_that_breaks_does_not_hide_where_the_run_is(
    breaking: Any, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAKS", "Tab.write=raises")
    done = context_bench(*RUN)
    assert "Run file: r.sqlite" in done.words
    assert context_bench("report", "r.sqlite").code == 0


@pytest.mark.parametrize("how", ["raises", "leaves"])
def test_a_reporter_that_breaks_leaves_an_older_report_as_it_was(
    how: str, breaking: Any, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert context_bench(*RUN).code == 0
    report = ("report", "r.sqlite", "--format", "none", "-o", "report.tab")
    assert context_bench(*report).code == 0
    written = Path("report.tab").read_text()
    before = sorted(Path().iterdir())
    monkeypatch.setenv("BREAKS", f"Tab.write={how}")
    assert context_bench(*report).code == 2
    assert Path("report.tab").read_text() == written == "written"
    assert sorted(Path().iterdir()) == before
