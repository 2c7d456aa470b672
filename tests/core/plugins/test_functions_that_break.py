"""A function of a package that raises, leaves the process or returns something else is reported by its name, exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from context_bench.errors import ContextBenchError, PluginError, exit_code_of
from context_bench.plugins.catalog import Catalog
from context_bench.session.hooks import RunHooks

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
        values = {"nothing": (), "number": (5,), "number_below_0": (-1,), "texts": (iter("ab"),)}
        return values[how]

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

    class Count:
        name = "count"

        def count(self, text):
            found = breaks("Count.count")
            return found[0] if found else 3

    @may_break
    def after(result, leave=False):
        return None

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
    [tokenizers.count]
    summary = "Counts tokens"
    [commands.after]
    summary = "Runs after a run"
    extends = "run"
    options.leave = { type = "bool", default = false, help = "Leave", flag = "--leave" }
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
    "tokenizers": {"count": "acme_breaks:Count"},
    "commands": {"after": "acme_breaks:after"},
    "hooks": {
        "prepare": "acme_breaks:Prepare",
        "govern": "acme_breaks:Govern",
        "derive": "acme_breaks:Derive",
    },
}
CASES = [
    ("Loud.__init__", "raises leaves", "acme-breaks/loud"),
    ("Loud.fingerprint", "raises nothing number texts", "loud"),
    ("Spread.compute", "raises leaves nothing number texts", "metric spread"),
    ("Count.count", "raises leaves number_below_0 texts", "acme-breaks/count"),
    ("Tab.write", "raises leaves", "reporter tab"),
    ("after", "raises leaves", "acme-breaks/after"),
    ("Prepare.prepare_systems", "raises leaves", "prepare_systems()"),
    ("Prepare.replace_systems", "raises texts", "replace_systems()"),
    ("Govern.before_first_call", "raises", "before_first_call()"),
    ("Govern.admit_call", "raises", "admit_call()"),
    ("Govern.call_cost", "raises", "call_cost()"),
    ("Govern.call_settled", "leaves", "call_settled()"),
    ("Derive.derived_systems", "raises", "derived_systems()"),
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
PARTS = (
    "--leave",
    "--tokenizer",
    "count",
    "--extension",
    "prepare",
    "--extension",
    "govern",
    "--extension",
    "derive",
)


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
def test_a_function_that_breaks_is_reported_by_its_name(
    point: str,
    how: str,
    told: str,
    breaking: Any,
    context_bench: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BREAKS", f"{point}={how}")
    done = context_bench(*RUN, *PARTS)
    assert (done.code, told in done.words) == (2, True), done.words


def test_what_a_broken_metric_leaves_can_be_reported_as_its_message_says(
    breaking: Any, context_bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BREAKS", "Spread.compute=raises")
    done = context_bench(*RUN)
    assert "CONTEXT_BENCH_DISABLE_PLUGINS=spread" in done.words
    assert "context-bench report r.sqlite" in done.words
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
    assert "acme-ends/ends" in done.words
    assert "context-bench report r.sqlite" in done.words
    assert context_bench("report", "r.sqlite").code == 0


@pytest.mark.parametrize("code", [-256, 300, None, False, "0", 1.0], ids=str)
def test_an_error_whose_exit_code_is_not_valid_has_the_usual_one(code: Any) -> None:
    error = type("Odd", (ContextBenchError,), {"exit_code": code})()
    assert (exit_code_of(error), exit_code_of(error, 130), exit_code_of(KeyError())) == (2, 130, 2)
    error.exit_code = 12
    assert exit_code_of(error) == 12


def test_the_highest_exit_code_counts() -> None:
    hooks = RunHooks(Catalog())
    evaluators = [
        (f"The evaluator {code}", SimpleNamespace(finished=lambda run, code=code: code))
        for code in (None, 3, 10, 0)
    ]
    assert hooks.exit_code(None, evaluators) == 10
    assert hooks.exit_code(None, evaluators[:1]) is None
    for finished in (lambda run: 1 // 0, lambda run: 999, lambda run: "no"):
        with pytest.raises(PluginError):
            hooks.exit_code(None, [("The evaluator b", SimpleNamespace(finished=finished))])


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
