"""Unit tests of model-written code, in the sandbox of context-bench-code."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from context_bench_code import CodeExecution
from context_bench_code.errors import SandboxError
from context_bench_scorers import MissingParameterError, UserValueError, scorer_from_string
from context_bench_scorers_code import PythonUnitTesting, PythonUnitTestingEvaluator

ADD = "def add(a, b):\n    return a + b\n"
TESTS = ["assert add(1, 1) == 2", "assert add(1, 1) == 3"]


@pytest.fixture(autouse=True)
def sandbox() -> None:
    """Skips where nothing isolates: programs of models are not run then."""
    try:
        CodeExecution().isolation()
    except SandboxError as reason:
        pytest.skip(str(reason))


def test_candidate_and_test_go_in_pairs() -> None:
    scorer = PythonUnitTesting(unit_tests=TESTS)
    found = scorer.run([ADD, ADD], batch_size=1)
    assert [(result.score, result.category.name) for result in found if result.category] == [
        (1.0, "pass"),
        (0.0, "fail"),
    ]
    assert found[1].details["outcome"] == "failed assertion"
    assert scorer.run([ADD]) == found[:1]
    assert scorer.run_batch([ADD, ADD]) == found
    assert asyncio.run(scorer.arun([ADD, ADD], batch_size=1)) == found
    assert asyncio.run(scorer.arun_batch([ADD, ADD])) == found


def test_the_files_of_a_folder_are_taken_by_name(tmp_path: Path) -> None:
    for name, test in zip(("b.py", "a.py"), TESTS):
        (tmp_path / name).write_text(test, "utf-8")
    scorer = PythonUnitTesting(tmp_path)
    assert [result.score for result in scorer.run([ADD, ADD])] == [0.0, 1.0]
    config = json.loads(json.dumps(scorer.to_dict()))
    assert config["unit_test_dir"] == str(tmp_path)
    assert PythonUnitTesting.from_dict(config) == scorer


def test_what_a_system_leaves_in_a_folder_is_no_test_and_shifts_none(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").write_bytes(b"\x00\xff")
    (tmp_path / ".gitkeep").write_bytes(b"")
    (tmp_path / "a.py").write_text(TESTS[0], "utf-8-sig")
    assert PythonUnitTesting(tmp_path).unit_tests == [TESTS[0]]


def test_a_file_that_is_no_text_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.pyc").write_bytes(b"\x00\xff")
    with pytest.raises(UserValueError, match=r"'a\.pyc' is no text in UTF-8"):
        PythonUnitTesting(tmp_path)


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "raise SystemExit",
        "def add(a, b): return 1",
        "",
        "no code at all",
        "while True: pass",
    ],
)
def test_exits_errors_and_loops_do_not_pass(code: str) -> None:
    result = PythonUnitTesting(unit_tests=[TESTS[0]], timeout=2).run([code])[0]
    assert result.score == 0.0
    assert result.category is not None
    assert result.category.name == "fail"


@pytest.mark.parametrize("code", [ADD, "", "assert ("])
@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("assert (", "<test 0> is no Python"),
        ("import numpy\nassert add(1, 1) == 2", "<test 0> imports 'numpy'"),
        (" ", "no tests"),
    ],
)
def test_a_broken_unit_test_scores_nobody_and_says_why(test: str, reason: str, code: str) -> None:
    [result] = PythonUnitTesting(unit_tests=[test]).run([code])
    assert (result.score, result.category and result.category.name) == (None, "broken test")
    assert reason in result.details["unscored"]
    scores = PythonUnitTestingEvaluator().score({"unit_test": test}, {"response": code})
    assert scores == {}
    assert reason in scores.details["unscored"]


def test_neither_and_both_are_refused(tmp_path: Path) -> None:
    for arguments in ({}, {"unit_test_dir": tmp_path, "unit_tests": TESTS}):
        with pytest.raises(ValueError, match="Give unit_test_dir") as refused:
            PythonUnitTesting(**arguments)  # type: ignore[arg-type]
        assert isinstance(refused.value, MissingParameterError)
    with pytest.raises(UserValueError, match="there is no folder"):
        PythonUnitTesting(tmp_path / "none")
    with pytest.raises(UserValueError, match="holds no file"):
        PythonUnitTesting(tmp_path)


def test_fewer_tests_than_candidates_are_refused() -> None:
    with pytest.raises(UserValueError, match="There are 1 unit tests for 2 candidates"):
        PythonUnitTesting(unit_tests=TESTS[:1]).run([ADD, ADD])


def test_one_text_is_no_list_of_tests() -> None:
    with pytest.raises(TypeError, match="write \\[text\\] for one"):
        PythonUnitTesting(unit_tests=TESTS[0])


@pytest.mark.parametrize("right", [2, 3])
@pytest.mark.parametrize(
    "test",
    [
        pytest.param(
            "def check(candidate):\n    assert candidate(1, 1) == {right}\n\ncheck(add)",
            id="HumanEval's",
        ),
        pytest.param("def test_add():\n    assert add(1, 1) == {right}\n", id="pytest's"),
    ],
)
def test_tests_in_functions_are_run(test: str, right: int) -> None:
    result = PythonUnitTesting(unit_tests=[test.format(right=right)]).run([ADD])[0]
    assert result.score == float(right == 2), result.details


def test_it_is_made_again_from_json() -> None:
    scorer = PythonUnitTesting(unit_tests=TESTS, timeout=3.0)
    assert PythonUnitTesting.from_dict(json.loads(json.dumps(scorer.to_dict()))) == scorer
    assert scorer_from_string("python_unit_testing") is PythonUnitTesting
    assert [category.name for category in PythonUnitTesting.categories()] == [
        "fail",
        "pass",
        "broken test",
    ]


def test_the_consent_rule_is_that_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise SandboxError("no sandbox works here")

    monkeypatch.setattr("context_bench_code.sandbox.run", none)
    with pytest.raises(SandboxError, match="no sandbox works here"):
        PythonUnitTesting(unit_tests=TESTS).run([ADD])
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(SandboxError, match="allow_unsandboxed"):
        PythonUnitTesting(unit_tests=TESTS)


def test_the_evaluator_scores_rows() -> None:
    evaluator = PythonUnitTestingEvaluator()
    fenced = {"response": f"Here:\n```python\n{ADD}```"}
    scores = evaluator.score({"unit_test": TESTS[0]}, fenced)
    assert scores == {"python_unit_testing": 1.0}
    assert scores.details["category"] == "pass"
    assert evaluator.score({"unit_tests": TESTS}, fenced) == {"python_unit_testing": 0.0}
    assert evaluator.score({}, fenced) == {}
    assert evaluator.score({"test": TESTS[0]}, {"response": None}) == {}
    assert evaluator.isolation()


def test_the_blocks_of_the_readme_run(run_readme: Any) -> None:
    run_readme()
