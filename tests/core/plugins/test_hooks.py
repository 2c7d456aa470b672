"""Extensions that watch a run, or adjust its wiring, and what happens when they fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import StoreError
from context_bench.records import EvalRow
from context_bench.store.runfile import RunFile

Run = Callable[..., Any]

ADJUST = """
    from attrs import evolve

    from context_bench.hookspecs import hookimpl

    @hookimpl
    def adjust_wiring(plan):
        decisions = [
            evolve(decision, wired=False, reason="taken out by a hook")
            if decision.evaluator == "bench-basics/exact" else decision
            for decision in plan.decisions
        ]
        return evolve(plan, decisions=tuple(decisions))
"""
WATCH = """
    from context_bench.hookspecs import hookimpl

    class Watch:
        @hookimpl
        def run_started(self, config):
            self.write("started")

        @hookimpl
        def row_finished(self, row):
            self.write(f"row {row.example_id}")

        @hookimpl
        def run_finished(self, status, rows, failed):
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
    {default}
"""
WATCHES = '["run_started", "row_finished", "run_finished"]'
ADJUSTS = '["adjust_wiring"]'
DECIDING = {
    "raises at import": ("raise RuntimeError('out of order')", "RuntimeError: out of order"),
    "raises when it is called": (
        ADJUST.replace("decisions = [", "raise KeyError('gone')\n        decisions = ["),
        "failed in adjust_wiring(): KeyError: 'gone'",
    ),
    "returns no plan": (
        ADJUST.replace("return evolve(plan, decisions=tuple(decisions))", "return 5"),
        "failed in adjust_wiring(): it returned int, not a plan",
    ),
    "implements a hook that it does not declare": (WATCH, "cannot be registered: "),
    "is misspelt": (
        ADJUST.replace("def adjust_wiring", "def adjust_wirng"),
        "cannot be registered: PluginValidationError",
    ),
    "takes an argument that there is not": (
        ADJUST.replace("(plan)", "(plan, weather)"),
        "cannot be registered: PluginValidationError",
    ),
    "wraps other hooks": (
        "import pluggy\n\n@pluggy.HookimplMarker('context_bench')(wrapper=True)\n"
        "def adjust_wiring(plan):\n    return (yield)",
        "its adjust_wiring is a wrapper",
    ),
}


def add_hook(
    site: Any, code: str, target: str = "acme_hook", implements: str = ADJUSTS, default: str = ""
) -> None:
    site.basics()
    site.evaluator("acme-one", "one", wire="[{ always = true }]")
    manifest = MANIFEST.format(
        implements=implements, default=f'default = "{default}"' if default else ""
    )
    site.add("acme-hook", code=code, manifest=manifest, entry_points={"hooks": {"hook": target}})


def add_watch(site: Any, code: str = WATCH) -> None:
    add_hook(site, code, "acme_hook:Watch", WATCHES, "installed")


def test_a_hook_adjusts_the_wiring_and_the_change_is_stored(site: Any, context_bench: Run) -> None:
    add_hook(site, ADJUST)
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "-q", "--format", "json", "--extension", "hook"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"one": 1.0}
    done = context_bench("run", "-s", "echo", "-d", "toy", "--dry-run", "--extension", "hook")
    assert "extension acme-hook/hook 1.0: adjust_wiring (manifest " in done.words
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
    add_hook(site, "raise SystemExit('imported')", implements=WATCHES, default="installed")
    assert context_bench("lock", "-s", "echo", "-d", "toy", "-p", "no:hook").code == 0
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked")
    assert (done.code, "switched off" in done.err) == (0, False)
    assert "acme-hook/hook is not in context-bench.lock" in done.words
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked", "--extension", "hook")
    assert (done.code, "acme-hook/hook" in done.words) == (2, True)
    assert context_bench("lock", "-s", "echo", "-d", "toy").code == 0
    assert list(json.loads((workplace / "context-bench.lock").read_text())["extensions"]) == [
        "acme-hook/hook"
    ]
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--locked", "-p", "no:hook")
    assert (done.code, "acme-hook/hook" in done.words) == (2, True)


def test_a_hook_watches_a_run(site: Any, context_bench: Run, workplace: Path) -> None:
    add_watch(site)
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

    add_watch(site)
    monkeypatch.setattr(RunFile, "begin", refuse)
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 2
    assert not (workplace / "watched.txt").exists()


def test_no_row_is_read_again_once_nobody_watches(
    site: Any, context_bench: Run, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = WATCH.replace('row.example_id}")', 'row.example_id}")\n            return False')
    add_watch(site, code)
    read: list[str] = []
    rows_at = RunFile.rows_at

    def counted(store: RunFile, numbers: Iterable[int]) -> Iterator[EvalRow]:
        for row in rows_at(store, numbers):
            read.append(row.example_id)
            yield row

    monkeypatch.setattr(RunFile, "rows_at", counted)
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 0
    assert (workplace / "watched.txt").read_text().splitlines() == [
        "started",
        "row 1",
        "finished 2 0",
    ]
    assert len(read) == 1


@pytest.mark.parametrize(("code", "fault"), DECIDING.values(), ids=DECIDING.keys())
def test_an_extension_that_decides_and_fails_stops_the_run_with_its_name(
    site: Any, context_bench: Run, asked: Callable[[], int], code: str, fault: str
) -> None:
    add_hook(site, code, "acme_hook:Watch" if code == WATCH else "acme_hook")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--extension", "hook")
    assert (done.code, asked()) == (2, 0)
    assert fault in done.words
    assert "acme-hook/hook" in done.words


@pytest.mark.parametrize("hook", ["run_started", "row_finished", "run_finished"])
@pytest.mark.parametrize("error", ["KeyError('gone')", "SystemExit(0)"])
def test_an_extension_that_watches_and_fails_is_switched_off(
    site: Any, context_bench: Run, workplace: Path, hook: str, error: str
) -> None:
    before, _, rest = WATCH.partition(f"def {hook}(")
    signature, _, after = rest.partition("\n")
    add_watch(site, f"{before}def {hook}({signature}\n            raise {error}\n{after}")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--run-file", "r.sqlite")
    assert done.code == 0
    assert done.words.count(f"'acme-hook/hook' failed in {hook}(): {error[:8]}") == 1
    order = ["run_started", "row_finished", "row_finished", "run_finished"]
    path = workplace / "watched.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    assert len(lines) == order.index(hook)  # none of its hooks is called after the error
    report = json.loads(context_bench("report", "r.sqlite", "--format", "json").out)
    assert f"failed in {hook}()" in " ".join(report["warnings"])


@pytest.mark.parametrize("flags", [(), ("--extension", "hook")])
def test_an_extension_that_watches_and_cannot_be_loaded_stops_only_a_run_that_names_it(
    site: Any, context_bench: Run, flags: tuple[str, ...]
) -> None:
    add_watch(site, "raise RuntimeError('out of order')")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", *flags)
    assert done.code == (2 if flags else 0)
    assert "RuntimeError: out of order" in done.words


def test_without_hooks_pluggy_is_never_imported(site: Any, process: Run) -> None:
    site.basics()
    (site.folder / "pluggy.py").write_text("raise RuntimeError('nobody asked for me')")
    assert process("run", "-s", "echo", "-d", "toy", "-q").code == 0


ADJUSTED = {
    "another dataset": "evolve(plan, dataset=evolve(plan.dataset, label='other'))",
    "other decisions": "evolve(plan, decisions=(1, 2))",
    "no plan": "7",
    "an unknown primary score": "evolve(plan, primary='nope')",
}


@pytest.mark.parametrize("case", ADJUSTED)
def test_what_is_not_a_plan_of_the_dataset_stops_the_run(
    case: str, site: Any, context_bench: Run
) -> None:
    made = ADJUSTED[case]
    body = ADJUST[: ADJUST.index("        decisions = [")] + f"        return {made}\n"
    add_hook(site, body)
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--extension", "hook")
    assert done.code == 2
    assert "'acme-hook/hook' failed in adjust_wiring()" in done.words


def test_a_hook_that_takes_the_primary_out_leaves_another_one(
    site: Any, context_bench: Run
) -> None:
    site.basics()
    site.evaluator("acme-two", "two", wire='[{ datasets = ["toy"] }]')
    code = ADJUST.replace("bench-basics/exact", "acme-two/two")
    site.add(
        "acme-out",
        code=code,
        manifest=MANIFEST.format(implements=ADJUSTS, default=""),
        entry_points=OUT,
    )
    run = ("run", "-s", "echo", "-d", "toy", "-q", "--format", "json")
    assert json.loads(context_bench(*run).out)["rows"][0]["primary"] == "two"
    assert (
        json.loads(context_bench(*run, "--extension", "hook").out)["rows"][0]["primary"] == "exact"
    )


OUT = {"hooks": {"hook": "acme_out"}}
