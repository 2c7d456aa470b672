"""The benchmarks' own solutions pass, in every form, and real samples get the verdict of plain concatenation."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any

import pytest

from context_bench_code import CodeExecution, sandbox

Row = dict[str, Any]
Failures = Callable[[list[Row], Callable[[Row], str]], list[Any]]

pytestmark = pytest.mark.shared


def body(row: Row) -> str:
    return str(row["canonical_solution"])


def function(row: Row) -> str:
    """The function alone: without the imports and helpers that its prompt begins with."""
    prompt = str(row["prompt"])
    return prompt[prompt.rindex(f"def {row['entry_point']}") :] + body(row)


FORMS: dict[str, Callable[[Row], str]] = {
    "bare body": body,
    "full function": lambda row: row["prompt"] + body(row),
    "fenced function": lambda row: f"```python\n{function(row)}\n```",
    "chatty with a fence": lambda row: (
        f"Sure! Here's the code:\n\n```python\n{function(row)}```\n\nIt's O(n) because it's one loop."
    ),
    "carriage returns": lambda row: f"```py\n{function(row)}\n```".replace("\n", "\r\n"),
    "several blocks": lambda row: (
        f"```bash\npip install nothing\n```\nA first idea:\n```python\ndef {row['entry_point']}(*_):\n    return None\n```\n"
        f"and now right:\n```python\n{function(row)}\n```\nIts use:\n```python\nprint({row['entry_point']}())\n```\n"
        "It prints\n```\n42\n```"
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_164_solutions_of_humaneval_pass_as(
    form: str, humaneval: list[Row], failures: Failures
) -> None:
    assert len(humaneval) == 164
    assert failures(humaneval, FORMS[form]) == []


def test_all_solutions_of_mbpp_pass_bare(mbpp: list[Row], failures: Failures) -> None:
    assert len(mbpp) == 280
    assert failures(mbpp, lambda row: row["code"]) == []


def test_all_solutions_of_mbpp_pass_in_fences(mbpp: list[Row], failures: Failures) -> None:
    assert failures(mbpp, lambda row: f"Here it is:\n```python\n{row['code']}\n```\n") == []


def test_a_solution_of_another_problem_fails(humaneval: list[Row], failures: Failures) -> None:
    few = humaneval[:40]
    wrong = {row["task_id"]: body(other) for row, other in zip(few, few[1:] + few[:1])}
    assert len(failures(few, lambda row: wrong[row["task_id"]])) == 40


def test_real_samples_get_the_verdict_of_plain_concatenation(
    evaluator: CodeExecution, humaneval: list[Row], shared: Callable[[str], list[Row]]
) -> None:
    """One sample for every problem; the definition is prompt + completion + tests + call, as one text."""
    passed = 0
    for record in shared("outputs/humaneval.codegen16b-samples.jsonl.gz"):
        row, sample = problem_of(record, humaneval), record["samples"][0]
        whole = f"{row['prompt']}{sample}\n{row['test']}\ncheck({row['entry_point']})"
        job = {
            "response": "nothing = 0",
            "prompts": [],
            "entry_point": None,
            "calls": "",
            "imports": "",
            "setup": "",
            "tests": [whole],
        }
        _, verdict = sandbox.run(job, timeout=10, memory=1024)
        score = evaluator.score(row, {"response": sample})
        assert score == {"pass_at_1": float(verdict.passed)}, row["task_id"]
        passed += verdict.passed
    assert 20 <= passed <= 60


def problem_of(record: Row, humaneval: list[Row]) -> Row:
    """The problem of a record whose prompt lacks the examples and is one of two with the same function name."""
    name = re.findall(r"^def (\w+)", record["prompt"], re.MULTILINE)[-1]
    rows = [row for row in humaneval if row["entry_point"] == name]
    return max(rows, key=lambda row: SequenceMatcher(None, row["prompt"], record["prompt"]).ratio())
