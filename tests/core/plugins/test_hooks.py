"""Hooks: plugins that watch a run, or adjust its wiring."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import StoreError
from context_bench.store.runfile import RunFile

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
    implements = {implements}
"""
WATCHES = '["run_started", "row_finished", "run_finished"]'
ADJUSTS = '["adjust_wiring"]'
FAILING = {
    "raises at import": (
        "raise RuntimeError('out of order')",
        "loading it raised RuntimeError: out of order",
    ),
    "leaves at import": (
        "raise SystemExit(0)",
        "acme-hook/hook is switched off: loading it raised SystemExit: 0",
    ),
    "leaves when it is called": (
        ADJUST.replace("decisions = [", "raise SystemExit(0)\n        decisions = ["),
        "acme-hook/hook is switched off: adjust_wiring raised SystemExit: 0",
    ),
    "does more than it says": (
        WATCH,
        "acme-hook/hook is switched off: registering it raised ValueError: it implements ",
    ),
    "raises when it is called": (
        ADJUST.replace("decisions = [", "raise KeyError('gone')\n        decisions = ["),
        "The hook acme-hook/hook is switched off: adjust_wiring raised KeyError: 'gone'",
    ),
    "returns no plan": (
        ADJUST.replace("return evolve(plan, decisions=tuple(decisions))", "return 5"),
        "The hook acme-hook/hook is switched off: adjust_wiring returned int, not a plan",
    ),
    "is misspelt": (
        ADJUST.replace("context_bench_adjust_wiring", "context_bench_adjust_wirng"),
        "The hook acme-hook/hook is switched off: registering it raised PluginValidationError",
    ),
    "takes an argument that there is not": (
        ADJUST.replace("(plan)", "(plan, weather)"),
        "The hook acme-hook/hook is switched off: registering it raised PluginValidationError",
    ),
}


def add_hook(site: Any, code: str, target: str = "acme_hook", implements: str = ADJUSTS) -> None:
    site.basics()
    site.evaluator("acme-one", "one", wire="[{ always = true }]")
    manifest = MANIFEST.format(implements=implements)
    site.add("acme-hook", code=code, manifest=manifest, entry_points={"hooks": {"hook": target}})


def test_a_hook_adjusts_the_wiring_and_the_change_is_stored(site: Any, context_bench: Run) -> None:
    add_hook(site, ADJUST)
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "-q", "--format", "json", "--hook", "hook"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"one": 1.0}
    done = context_bench("run", "-s", "echo", "-d", "toy", "--dry-run", "--hook", "hook")
    assert "hook acme-hook/hook 1.0: adjust_wiring (manifest " in done.words
    assert "- bench-basics/exact taken out by a hook" in done.words


def test_what_can_change_a_run_is_not_active_unless_it_is_named(
    site: Any, context_bench: Run
) -> None:
    add_hook(site, "raise SystemExit('imported')")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json")
    assert (done.code, json.loads(done.out)["rows"][0]["scores"]) == (0, {"exact": 1.0, "one": 1.0})
    assert "switched off" not in done.err


def test_a_locked_run_loads_no_hook_that_is_not_locked(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    add_hook(site, "raise SystemExit('imported')", implements=WATCHES)
    assert context_bench("lock", "-s", "echo", "-d", "toy", "-p", "no:hook").code == 0
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked")
    assert (done.code, "switched off" in done.err) == (0, False)
    assert (
        "The hook acme-hook/hook is not in context-bench.lock, so this locked run does not load it."
        in done.words
    )
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked", "--hook", "hook")
    assert (
        done.code,
        "the hook acme-hook/hook was asked for, but is not in the lock file" in done.words,
    ) == (2, True)
    assert context_bench("lock", "-s", "echo", "-d", "toy").code == 0
    assert list(json.loads((workplace / "context-bench.lock").read_text())["hooks"]) == [
        "acme-hook/hook"
    ]
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked", "-p", "no:hook")
    assert (done.code, "the hook acme-hook/hook is locked, but not active now" in done.words) == (
        2,
        True,
    )


def test_a_hook_watches_a_run(site: Any, context_bench: Run, workplace: Path) -> None:
    add_hook(site, WATCH, "acme_hook:Watch", WATCHES)
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 0
    assert (workplace / "watched.txt").read_text().splitlines() == [
        "started",
        "row 1",
        "row 2",
        "finished 2 0",
    ]


def test_a_hook_is_not_told_the_end_of_a_run_whose_beginning_it_was_not_told(
    site: Any, context_bench: Run, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("The disk is full.")

    add_hook(site, WATCH, "acme_hook:Watch", WATCHES)
    monkeypatch.setattr(RunFile, "begin", refuse)
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 2
    assert not (workplace / "watched.txt").exists()


def test_no_row_is_read_again_once_nobody_watches(
    site: Any, context_bench: Run, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = WATCH.replace('row.example_id}")', 'row.example_id}")\n            return False')
    add_hook(site, code, "acme_hook:Watch", WATCHES)
    read: list[int] = []
    rows = RunFile.rows

    def counted(store: RunFile, *places: int) -> Any:
        read.extend(places[:1])
        return rows(store, *places)

    monkeypatch.setattr(RunFile, "rows", counted)
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 0
    assert (workplace / "watched.txt").read_text().splitlines() == [
        "started",
        "row 1",
        "finished 2 0",
    ]
    assert len(read) == 1


@pytest.mark.parametrize(("code", "said"), FAILING.values(), ids=FAILING.keys())
def test_a_hook_that_fails_is_named_and_switched_off(
    site: Any, context_bench: Run, asked: Callable[[], int], code: str, said: str
) -> None:
    add_hook(site, code, "acme_hook:Watch" if code == WATCH else "acme_hook")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--hook", "hook")
    assert (done.code, asked()) == (0, 2)
    assert said in done.words


def test_without_hooks_pluggy_is_never_imported(site: Any, process: Run) -> None:
    site.basics()
    (site.folder / "pluggy.py").write_text("raise RuntimeError('nobody asked for me')")
    assert process("run", "-s", "echo", "-d", "toy", "-q").code == 0


ADJUSTED = {
    "another dataset": (
        "evolve(plan, dataset=evolve(plan.dataset, label='other'))",
        "a plan of another dataset or of oth",
    ),
    "no decisions": (
        "evolve(plan, decisions=())",
        "a plan of another dataset or of other evaluators",
    ),
    "decisions that are none": (
        "evolve(plan, decisions=(1, 2))",
        "a plan of another dataset or of other evaluators",
    ),
    "None for decisions": (
        "evolve(plan, decisions=None)",
        "a plan of another dataset or of other evaluators",
    ),
    "numbers": ("7", "int, not a plan"),
    "a headline of nobody's": (
        "evolve(plan, headline='nope')",
        "a plan with the headline 'nope', which none of its eva",
    ),
    "a headline that is no text": (
        "evolve(plan, headline=7)",
        "a plan with the headline 7, which none of its evaluators gi",
    ),
}


@pytest.mark.parametrize("case", ADJUSTED)
def test_a_plan_that_is_none_switches_its_hook_off_and_the_run_goes_on(
    case: str, site: Any, context_bench: Run
) -> None:
    made, told = ADJUSTED[case]
    body = ADJUST[: ADJUST.index("        decisions = [")] + f"        return {made}\n"
    add_hook(site, body)
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "-q", "--format", "json", "--hook", "hook"
    )
    assert f"The hook acme-hook/hook is switched off: adjust_wiring returned {told}" in done.err
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "one": 1.0}


def test_a_hook_that_takes_the_headline_out_leaves_another_one(
    site: Any, context_bench: Run
) -> None:
    site.basics()
    site.evaluator("acme-two", "two", wire='[{ datasets = ["toy"] }]')
    code = ADJUST.replace("bench-basics/exact", "acme-two/two")
    site.add(
        "acme-out",
        code=code,
        manifest=MANIFEST.format(implements='["adjust_wiring"]'),
        entry_points=OUT,
    )
    run = ("run", "-s", "echo", "-d", "toy", "-q", "--format", "json")
    assert json.loads(context_bench(*run).out)["rows"][0]["headline"] == "two"
    assert json.loads(context_bench(*run, "--hook", "hook").out)["rows"][0]["headline"] == "exact"


OUT = {"hooks": {"hook": "acme_out"}}
