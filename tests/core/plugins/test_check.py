"""The check that authors run: what the manifest promises is held against the code."""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

Run = Callable[..., Any]

MANIFEST = """
    schema = 1
    api = "1.0"
    [evaluators.one]
    summary = "s"
    class = "Evaluator"
    primary = "one"
    version = "1"
    wire = [{ option = "one-url" }]
    scores.one = {}
    options.url = { flag = "--one-url", help = "h" }
    options.depth = { type = "int", default = 3, help = "h" }
    [datasets.rows]
    summary = "s"
    class = "rows"
    options.path = { type = "path", required = true, help = "h" }
    [systems.answer]
    summary = "s"
    class = "System"
    [hooks.watch]
    summary = "s"
    implements = ["row_finished"]
"""
CODE = """
    class Evaluator:
        name = "one"
        def __init__(self, url=None, depth=3):
            pass
        def score(self, original, processed):
            return {}
    def rows(path, limit=None, config=None, split=None):
        yield {}
    class System:
        name = "answer"
        def process(self, example):
            return {}
    from context_bench.hookspecs import hookimpl

    class Watch:
        @hookimpl
        def row_finished(self):
            pass
"""
POINTS = {
    "evaluators": {"one": "acme_one:Evaluator"},
    "datasets": {"rows": "acme_one:rows"},
    "systems": {"answer": "acme_one:System"},
    "hooks": {"watch": "acme_one:Watch"},
}


def faults(
    site: Any, context_bench: Run, code: str = CODE, manifest: str = MANIFEST, **more: Any
) -> list[str]:
    site.add("acme-one", code=dedent(code), manifest=manifest, entry_points=POINTS, **more)
    done = context_bench("plugins", "check", "acme-one", "--json")
    found = [fault for lines in json.loads(done.out).values() for fault in lines]
    assert done.code == (2 if found else 0)
    return found


def test_a_good_plugin_has_no_fault(site: Any, context_bench: Run) -> None:
    assert faults(site, context_bench) == []
    assert "acme-one/one (evaluator): ok" in context_bench("plugins", "check").out


CODE_FAULTS = {
    "another class": (
        "class Evaluator:",
        "class Evaluator: pass\nclass Other:",
        "what its entry point names has no score(), which every evaluator has",
    ),
    "no process": (
        "def process",
        "def answer",
        "what its entry point names has no process() or transform(), which every system has",
    ),
    "an option that the class does not take": (
        "depth=3",
        "deep=3",
        "option depth: its class or function takes no such argument",
    ),
    "an argument that is no option": (
        "depth=3",
        "depth=3, *, key",
        "it needs the argument key, which the manifest does not declare as an option",
    ),
    "another default": (
        "depth=3",
        "depth=4",
        "option depth: its default is 3 in the manifest and 4 in the code",
    ),
    "a default for what is required": (
        "def rows(path,",
        "def rows(path='x',",
        "option path is required in the manifest, but has the default 'x' in the code",
    ),
    "a loader without a limit": (
        "limit=None, config",
        "config",
        "argument limit: its class or function takes no such argument",
    ),
    "a loader that is no function": (
        "def rows(",
        "rows = 5\ndef rows_of(",
        "its entry point names int, which cannot be called",
    ),
}


@pytest.mark.parametrize(("old", "new", "fault"), CODE_FAULTS.values(), ids=CODE_FAULTS.keys())
def test_code_that_does_not_keep_the_promise_is_a_fault(
    site: Any, context_bench: Run, old: str, new: str, fault: str
) -> None:
    code = dedent(CODE)
    assert old in code
    assert fault in faults(site, context_bench, code.replace(old, new))


MANIFEST_FAULTS = {
    "a class that is not there": (
        'class = "Evaluator"',
        'class = "Missing"',
        "class = 'Missing', but the package acme_one has no such attribute",
    ),
    "a class that is another": (
        'class = "Evaluator"',
        'class = "System"',
        "class = 'System' is not what its entry point acme_one:Evaluator names",
    ),
    "a rule that waits for nothing": (
        'option = "one-url"',
        'option = "two-url"',
        "a wiring rule waits for --two-url, but none of its options has that flag",
    ),
    "an unknown key": (
        "[hooks.watch]",
        "[hooks.watch]\n    sumary = 's'",
        "manifest: hooks.watch.sumary: unknown key",
    ),
    "a wrong value": (
        'version = "1"',
        "version = 1",
        "evaluators.one.version: expected a text, got a whole number",
    ),
}


@pytest.mark.parametrize(
    ("old", "new", "fault"), MANIFEST_FAULTS.values(), ids=MANIFEST_FAULTS.keys()
)
def test_a_manifest_that_is_wrong_is_a_fault(
    site: Any, context_bench: Run, old: str, new: str, fault: str
) -> None:
    assert old in MANIFEST
    assert fault in faults(site, context_bench, manifest=MANIFEST.replace(old, new))


def test_each_fault_of_a_manifest_is_told_once(site: Any, context_bench: Run) -> None:
    found = faults(site, context_bench, manifest=MANIFEST.replace('version = "1"', "version = 1"))
    assert found == ["evaluators.one.version: expected a text, got a whole number"]


def test_all_faults_of_a_manifest_are_told(site: Any, context_bench: Run) -> None:
    manifest = MANIFEST.replace('version = "1"', "version = 1").replace(
        'summary = "s"', "summary = 2"
    )
    assert (
        sum(
            "expected a text, got a whole number" in fault
            for fault in faults(site, context_bench, manifest=manifest)
        )
        >= 4
    )


def test_a_class_that_takes_any_argument_takes_every_option(site: Any, context_bench: Run) -> None:
    assert faults(site, context_bench, CODE.replace("url=None, depth=3", "**options")) == []


def test_every_installed_plugin_keeps_its_promises(process: Run) -> None:
    done = process("plugins", "check", "--json", CONTEXT_BENCH_PLUGINS="")
    assert {name: found for name, found in json.loads(done.out).items() if found} == {}
