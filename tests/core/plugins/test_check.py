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
        "no score()",
    ),
    "no process": (
        "def process",
        "def answer",
        "no process()",
    ),
    "an option that the class does not take": (
        "depth=3",
        "deep=3",
        "option depth",
    ),
    "an argument that is no option": (
        "depth=3",
        "depth=3, *, key",
        "argument key",
    ),
    "another default": (
        "depth=3",
        "depth=4",
        "option depth",
    ),
    "a default for what is required": (
        "def rows(path,",
        "def rows(path='x',",
        "option path",
    ),
    "a loader without a limit": (
        "limit=None, config",
        "config",
        "argument limit",
    ),
    "a loader that is no function": (
        "def rows(",
        "rows = 5\ndef rows_of(",
        "names int",
    ),
}


@pytest.mark.parametrize(("old", "new", "fault"), CODE_FAULTS.values(), ids=CODE_FAULTS.keys())
def test_code_that_does_not_keep_the_promise_is_a_fault(
    site: Any, context_bench: Run, old: str, new: str, fault: str
) -> None:
    code = dedent(CODE)
    assert old in code
    found = faults(site, context_bench, code.replace(old, new))
    assert [line for line in found if fault in line]


MANIFEST_FAULTS = {
    "a class that is not there": (
        'class = "Evaluator"',
        'class = "Missing"',
        "class = 'Missing'",
    ),
    "a class that is another": (
        'class = "Evaluator"',
        'class = "System"',
        "class = 'System'",
    ),
    "a rule that waits for nothing": (
        'option = "one-url"',
        'option = "two-url"',
        "--two-url",
    ),
    "an unknown key": (
        "[hooks.watch]",
        "[hooks.watch]\n    sumary = 's'",
        "hooks.watch.sumary",
    ),
    "a wrong value": (
        'version = "1"',
        "version = 1",
        "evaluators.one.version",
    ),
}


@pytest.mark.parametrize(
    ("old", "new", "fault"), MANIFEST_FAULTS.values(), ids=MANIFEST_FAULTS.keys()
)
def test_a_manifest_that_is_wrong_is_a_fault(
    site: Any, context_bench: Run, old: str, new: str, fault: str
) -> None:
    assert old in MANIFEST
    found = faults(site, context_bench, manifest=MANIFEST.replace(old, new))
    assert [line for line in found if fault in line]


def test_a_class_that_takes_any_argument_takes_every_option(site: Any, context_bench: Run) -> None:
    assert faults(site, context_bench, CODE.replace("url=None, depth=3", "**options")) == []


def test_every_installed_plugin_keeps_its_promises(process: Run) -> None:
    done = process("plugins", "check", "--json", CONTEXT_BENCH_PLUGINS="")
    assert {name: found for name, found in json.loads(done.out).items() if found} == {}
