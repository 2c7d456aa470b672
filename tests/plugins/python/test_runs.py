"""Python systems in runs: on the command line, in the project file, across runs."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench_python import PythonSystem, PythonTransformer

Module = Callable[..., str]
Rows = Callable[..., None]
ROWS = [
    {"id": str(number), "context": "Rome is in Italy.", "question": f"q{number}"}
    for number in range(3)
]
ANSWER = """
    calls = []

    def answer(example, word="said"):
        calls.append(example["id"])
        if example["id"] == "1":
            raise LookupError("no index for this one")
        return f"{word} {example['question']}"

    async def later(example):
        return "later " + example["question"]

    def shorten(context: str, length=4):
        return context[:length]
"""


def test_an_error_in_the_users_code_fails_its_row_with_the_traceback(module: Module) -> None:
    name = module(ANSWER)
    result = evaluate(PythonSystem(f"{name}:answer", version="1"), ROWS, [])
    rows = list(result.rows)
    assert [row.response for row in rows] == ["said q0", None, "said q2"]
    [failure] = rows[1].errors
    assert (failure.kind, failure.message) == ("LookupError", "no index for this one")
    assert f"{name}.py" in failure.traceback


def test_an_async_function_is_awaited_on_the_event_loop(module: Module) -> None:
    result = evaluate(f"python:target={module(ANSWER)}:later,version=1", ROWS, [], max_workers=2)
    assert [row.response for row in result.rows] == ["later q0", "later q1", "later q2"]


def test_without_a_version_nothing_is_reused_in_another_run_and_that_is_said(
    module: Module, tmp_path: Path
) -> None:
    name = module(ANSWER)
    with pytest.warns(UserWarning, match=rf"{name}:later has no version.*version=\.\.\."):
        system = PythonSystem(f"{name}:later")
    assert not hasattr(system, "fingerprint")
    rows = ROWS[:1]
    for version, calls in ((None, 2), ("1", 1), ("2", 1)):
        sys.modules[name].calls.clear()
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                asked = PythonSystem(f"{name}:answer", version=version)
            evaluate(asked, rows, [], cache_dir=tmp_path / "runs")
        assert len(sys.modules[name].calls) == calls, version


def test_what_can_change_an_answer_is_in_the_fingerprint_and_secrets_are_not(
    module: Module,
) -> None:
    name = module(
        "class Rag:\n    def __init__(self, **options):\n        self.process = lambda example: 'x'\n"
    )

    def fingerprint(**options: object) -> object:
        return PythonSystem(f"{name}:Rag", **{"version": "1", **options}).fingerprint()  # type: ignore[arg-type]

    base = fingerprint(top_k=2, api_key="sk-secret-1")
    assert base == fingerprint(top_k=2, api_key="sk-secret-2", name="shown")
    assert "sk-secret" not in json.dumps(base)
    for change in ({"version": "2"}, {"input": "question"}, {"top_k": 3}, {"filters": {"a": 1}}):
        assert fingerprint(**{"top_k": 2, "api_key": "sk-secret-1", **change}) != base
    assert (
        PythonTransformer(f"{name}:Rag", version="1").fingerprint()
        != PythonSystem(f"{name}:Rag", version="1").fingerprint()
    )


def test_an_object_among_the_options_stands_as_its_type_in_the_fingerprint(module: Module) -> None:
    name = module(ANSWER)
    system = PythonSystem(f"{name}:answer", version="1", word=Path)
    assert system.fingerprint()["arguments"] == {"word": {"type": "builtins.type"}}
    assert [row.failed for row in evaluate(system, ROWS[:1], []).rows] == [False]


def test_an_object_that_tells_its_own_fingerprint_needs_no_version(module: Module) -> None:
    name = module(
        "class Own:\n    reads = ('question',)\n    def fingerprint(self):\n        return {'index': 3}\n"
        "    def process(self, example):\n        return {'response': 'x'}\n"
    )
    system = PythonSystem(f"{name}:Own")
    assert system.fingerprint()["own"] == {"index": 3}
    assert system.reads == ("question",)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "context_bench", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "NO_COLOR": "1"}
    )


def test_the_command_line_and_the_project_file_pass_options_on(
    module: Module, acme_rows: Rows
) -> None:
    name = module(ANSWER)
    acme_rows(ROWS[0], ROWS[2])
    done = run(
        "run", "--system", f"cli=python:target={name}:answer,word=hello,version=1", "--dataset", "acme-rows",
        "--evaluators", "acme-yes", "--output", "cli.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "hello q2" in Path("cli.json").read_text()
    Path("context-bench.toml").write_text(
        f"""
        [[systems]]
        name = "python-transformer"
        label = "short"
        options = {{ target = "{name}:shorten", version = "1", length = 7 }}
        steps = [{{ name = "python", options = {{ target = "{name}:echo", version = "1" }} }}]

        [[datasets]]
        name = "acme-rows"

        [run]
        evaluators = ["acme-yes"]
        """
    )
    with Path(f"{name}.py").open("a") as file:
        file.write("\n\ndef echo(context: str):\n    return 'read ' + context\n")
    done = run("run", "--output", "project.json")
    assert done.returncode == 0, done.stderr
    assert "read Rome is" in Path("project.json").read_text()


def test_the_command_line_warns_of_a_missing_version_in_one_line(
    module: Module, acme_rows: Rows
) -> None:
    name = module(ANSWER)
    acme_rows(ROWS[0])
    done = run(
        "run",
        "--system",
        f"python:target={name}:answer",
        "--dataset",
        "acme-rows",
        "--evaluators",
        "acme-yes",
    )
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stderr.splitlines() if "has no version" in line]
    assert line.startswith(f"Warning: {name}:answer has no version")
    assert "factory(**arguments)" not in done.stderr


def test_a_wrong_target_ends_the_run_in_one_line(module: Module, acme_rows: Rows) -> None:
    acme_rows(ROWS[0])
    done = run(
        "run",
        "--system",
        f"python:target={module(ANSWER)}:anser",
        "--dataset",
        "acme-rows",
        "--evaluators",
        "acme-yes",
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: The target ")
    assert "Did you mean 'answer'" in line


def test_a_secret_among_the_further_options_reaches_no_run_file(
    module: Module, acme_rows: Rows
) -> None:
    name = module(
        "class Rag:\n    def __init__(self, api_key):\n        pass\n    def process(self, example):\n        return 'x'\n"
    )
    acme_rows(ROWS[0])
    spec = f"python:target={name}:Rag,version=1,api_key=sk-canary-7"
    done = run("run", "--system", spec, "--dataset", "acme-rows", "--evaluators", "acme-yes")
    assert done.returncode == 0, done.stderr
    assert "sk-canary-7" not in done.stdout + done.stderr
    for path in Path("runs").iterdir():
        connection = sqlite3.connect(path)
        assert "sk-canary-7" not in "\n".join(connection.iterdump())
        connection.close()
