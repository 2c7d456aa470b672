"""Hooks: plugins that watch a run, or adjust its wiring."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

ADJUST = """
    from attrs import evolve
    import pluggy

    hookimpl = pluggy.HookimplMarker("context_bench")

    @hookimpl
    def context_bench_adjust_wiring(plan):
        decisions = [
            evolve(decision, wired=False, reason="taken out by a hook")
            if decision.evaluator == "bench-basics/exact" else decision
            for decision in plan.decisions
        ]
        return evolve(plan, decisions=tuple(decisions))
"""
WATCH = """
    import pluggy

    hookimpl = pluggy.HookimplMarker("context_bench")

    class Watch:
        @hookimpl
        def context_bench_run_started(self, config):
            self.write("started")

        @hookimpl
        def context_bench_row_finished(self, row):
            self.write(f"row {row.example_id}")

        @hookimpl
        def context_bench_run_finished(self, status, rows, failed):
            self.write(f"{status} {rows} {failed}")

        def write(self, line):
            with open("watched.txt", "a") as file:
                file.write(line + "\\n")
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [hooks.hook]
    summary = "Does something"
"""
FAILING = {
    "raises at import": ("raise RuntimeError('out of order')", "loading it raised RuntimeError: out of order"),
    "raises when it is called": (
        ADJUST.replace("decisions = [", "raise KeyError('gone')\n        decisions = ["),
        "The hook context_bench_adjust_wiring of acme-hook/hook failed: KeyError: 'gone'",
    ),
    "returns no plan": (
        ADJUST.replace("return evolve(plan, decisions=tuple(decisions))", "return 5"),
        "The hook context_bench_adjust_wiring of acme-hook/hook returned int",
    ),
    "is misspelt": (
        ADJUST.replace("context_bench_adjust_wiring", "context_bench_adjust_wirng"),
        "The hooks of acme-hook/hook cannot be registered: PluginValidationError",
    ),
    "takes an argument that there is not": (
        ADJUST.replace("(plan)", "(plan, weather)"),
        "The hooks of acme-hook/hook cannot be registered: PluginValidationError",
    ),
}


def add_hook(site: Any, code: str, target: str = "acme_hook") -> None:
    site.basics()
    site.evaluator("acme-one", "one", wire="[{ always = true }]")
    site.add("acme-hook", code=code, manifest=MANIFEST, entry_points={"hooks": {"hook": target}})


def test_a_hook_adjusts_the_wiring_and_the_change_is_stored(site: Any, context_bench: Run) -> None:
    add_hook(site, ADJUST)
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json")
    assert json.loads(done.out)["rows"][0]["scores"] == {"one": 1.0}
    done = context_bench("run", "-s", "echo", "-d", "toy", "--dry-run")
    assert "- bench-basics/exact taken out by a hook" in done.words


def test_the_change_of_a_hook_is_drift(site: Any, context_bench: Run) -> None:
    add_hook(site, ADJUST)
    assert context_bench("lock", "-s", "echo", "-d", "toy", "-p", "no:hook").code == 0
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked", "-p", "no:hook").code == 0
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked")
    assert (done.code, "bench-basics/exact is gone (was: always)" in done.words) == (2, True)


def test_a_hook_watches_a_run(site: Any, context_bench: Run, workplace: Path) -> None:
    add_hook(site, WATCH, "acme_hook:Watch")
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 0
    assert (workplace / "watched.txt").read_text().splitlines() == ["started", "row 1", "row 2", "finished 2 0"]


@pytest.mark.parametrize(("code", "said"), FAILING.values(), ids=FAILING.keys())
def test_a_hook_that_fails_stops_the_run_before_the_first_example(
    site: Any, context_bench: Run, asked: Callable[[], int], code: str, said: str
) -> None:
    add_hook(site, code)
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (done.code, asked()) == (2, 0)
    assert said in done.words
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q", "-p", "no:hook").code == 0


def test_without_hooks_pluggy_is_never_imported(site: Any, process: Run) -> None:
    site.basics()
    (site.folder / "pluggy.py").write_text("raise RuntimeError('nobody asked for me')")
    assert process("run", "-s", "echo", "-d", "toy", "-q").code == 0
