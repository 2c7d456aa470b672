"""Bug hunts and long refactors: generated from a seed, solved by their readers, checked without running code."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_tasks import (
    READERS,
    BugReader,
    Check,
    RefactorReader,
    Write,
    bug_hunt,
    digest_of,
    tasks,
)
from context_bench_tasks.expressions import ExpressionError, Functions
from context_bench_tasks.refactor import CONSTRAINTS, SUMMARY

CONFIGS = ["evidence-hunt", "bug-hunt", "long-refactor"]


def solve(task: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return what a reader with a full memory reads, and the files at the end."""
    files = dict(task["files"])
    texts = [task["question"]]
    paths: list[str] = []
    written: dict[str, str] = {}
    for _ in range(200):
        readers = [reader(texts, written) for reader in READERS]
        (reader,) = [reader for reader in readers if reader.is_readable]
        step = reader.next_step()
        if not isinstance(step, Write):
            paths.append(step.path)
            texts.append(files[step.path])
        elif written.get(step.path) == step.content:
            return paths, files
        else:
            files[step.path] = step.content
            written[step.path] = step.content
    raise AssertionError("The reader does not end.")


def passes(task: dict[str, Any], files: dict[str, str]) -> bool:
    digests = {path: digest_of(content) for path, content in files.items()}
    return Check.of_record(json.loads(json.dumps(task["check"]))).passes(digests, files)


@pytest.mark.parametrize(
    ("config", "digest"),
    [("bug-hunt", "644b5b8b63f2116a"), ("long-refactor", "3760e20a9680fa9f")],
    ids=CONFIGS[1:],
)
def test_the_same_options_generate_the_same_bytes(config: str, digest: str) -> None:
    first = json.dumps(list(tasks(config=config, n=3)), sort_keys=True)
    assert first == json.dumps(list(tasks(config=config, n=3)), sort_keys=True)
    assert first != json.dumps(list(tasks(config=config, n=3, seed=2)), sort_keys=True)
    assert hashlib.sha256(first.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("config", "assets"),
    [
        *[("evidence-hunt", assets) for assets in (1, 3, 8, 50)],
        *[("bug-hunt", assets) for assets in (3, 8, 15)],
        *[("long-refactor", assets) for assets in (1, 3, 8, 50)],
    ],
)
def test_a_reader_solves_each_task_and_reads_no_file_twice(config: str, assets: int) -> None:
    for task in tasks(config=config, n=5, seed=4, assets=assets):
        paths, files = solve(task)
        assert len(paths) == len(set(paths))
        assert passes(task, files)
        assert not passes(task, task["files"])


@pytest.mark.parametrize("assets", [2, 16, 50])
def test_a_bug_hunt_of_another_size_is_refused_with_the_range(assets: int) -> None:
    with pytest.raises(ConfigurationError, match="3 to 15"):
        tasks(config="bug-hunt", assets=assets)
    with pytest.raises(ConfigurationError, match="3 to 15"):
        bug_hunt(1, 0, assets)


@pytest.mark.parametrize("config", CONFIGS)
def test_no_expected_value_is_in_the_workspace(config: str) -> None:
    for task in tasks(config=config, n=5):
        visible = json.dumps([task["id"], task["question"], task["files"], task["limits"]])
        for digest in task["check"]["outputs"].values():
            assert digest not in visible
        for test in task["check"].get("tests", ()):
            assert str(test["expected"]) not in visible


@pytest.mark.parametrize("config", CONFIGS)
def test_a_changed_input_fails_the_check(config: str) -> None:
    task = next(tasks(config=config, n=1))
    _, files = solve(task)
    for path in task["check"]["unchanged"]:
        assert not passes(task, {**files, path: files[path] + "\n"})


def test_a_bug_that_is_corrected_otherwise_passes_and_a_formula_that_was_replaced_fails() -> None:
    task = next(tasks(config="bug-hunt", n=1))
    _, files = solve(task)
    (path,) = [path for path in files if files[path] != task["files"][path]]
    body = files[path].partition("return ")[2].partition("  #")[0]
    name = path.rpartition("/")[2].removesuffix(".py")
    longer = f'def {name}(first, second):\n    """Corrected."""\n    return 0 + ({body})\n'
    renamed = longer.replace("(first, second)", "(a, b)")
    assert passes(task, {**files, path: renamed})
    assert not passes(task, {**files, path: renamed.replace("0 +", "1 +")})
    assert not passes(task, {**files, path: "def broken("})
    notices = task["files"]["NOTES.md"]
    without = {**task["files"], "NOTES.md": "- end of the notices\n"}
    misled, _ = BugReader([task["question"], *without.values()]).next_step(), notices
    assert isinstance(misled, Write)
    reader = BugReader([task["question"], *task["files"].values()]).next_step()
    assert isinstance(reader, Write)
    assert (reader.path, reader.content) == (path, files[path])


def test_the_constraints_are_needed_last_and_frozen_modules_stay() -> None:
    task = next(tasks(config="long-refactor", n=1))
    paths, files = solve(task)
    assert paths[0] == CONSTRAINTS
    frozen = [path for path in task["files"] if path in task["check"]["unchanged"]]
    assert len(frozen) == 2 + 2  # two files of the task, and one module in four of eight
    modules = [path for path in files if files[path] != task["files"].get(path, "")]
    texts = [task["question"]]
    texts += [text for path, text in task["files"].items() if path != CONSTRAINTS]
    step = RefactorReader(texts, [path for path in modules if path != SUMMARY]).next_step()
    assert step.path == CONSTRAINTS


@pytest.mark.parametrize(
    "text",
    [
        "def f(a): return f(a)",
        "def f(a): return f(f(a) + f(a))",
        "def f(a): return a ** a",
        "def f(a): return __import__('os').getpid()",
        "def f(a): return [a]",
        "def f(a):\n    import os\n    return a",
        "def f(a): return b",
        "def f(): return 1",
        "def g(a): return a",
        "def f(a): return " + "a * 1000000000 * " * 9 + "a",
        "def f(a): return True",
        "def f(",
        "def f(a): return " + "(" * 5000 + "a" + ")" * 5000,
    ],
    ids=range(13),
)
def test_what_is_more_than_an_expression_is_refused_and_runs_nothing(text: str) -> None:
    with pytest.raises(ExpressionError):
        Functions({"a.py": text}).call("f", [1000])


def test_expressions_are_computed_as_python_does() -> None:
    text = "def f(a, b): return -a * 2 + g(b, a - 3)\n\n\ndef g(a, b):\n    return a * (b - 1)\n"
    names: dict[str, Any] = {}
    exec(text, names)
    for arguments in ([1, 2], [50, 7], [-3, 0]):
        assert Functions({"a.py": text}).call("f", arguments) == names["f"](*arguments)
    assert Functions({"a.md": "not Python", "b.py": text}).call("g", [2, 3]) == 4
