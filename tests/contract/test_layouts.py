"""A layout that does not change what a reply says changes no verdict, and neither does quoting the opposite answer after it.

CI reads a sample of the recorded replies, the same on every machine; ``CONTEXT_BENCH_LAYOUTS=all`` reads all of them, and a
number so many of each evaluator.
"""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from recorded_replies import LAYOUTS, QUOTING, Recorded, recorded

from context_bench.answers import answer_of
from context_bench.errors import InconclusiveScoreError
from context_bench.evaluators import (
    BBHExactMatch,
    BFCLMatch,
    DropF1,
    FinalNumber,
    MathEquivalence,
    MultipleChoiceAccuracy,
    NeedleRecall,
    NLILabelMatch,
)
from context_bench_code.inside.assembly import assemble
from context_bench_code.marking import marked
from context_bench_code.problem import job_of
from context_bench_judge import UnreadableReply, read_rating, read_verdict
from context_bench_rag import LexicalFaithfulness

pytestmark = [pytest.mark.shared, pytest.mark.one_python]

READERS = (
    "math",
    "final_number",
    "multiple_choice",
    "bbh",
    "nli",
    "rating",
    "verdict",
    "drop",
    "needle",
    "bfcl",
    "faithfulness",
    "code",
)
_SAMPLE = 12
_READS_ALL = {"needle", "drop", "bfcl", "faithfulness", "code"}
"""Readers for which all of a reply is its answer, so that a quotation is part of it."""
_OTHER_CODE = (
    *(
        "a quoted list",
        "headings",
        "bold lines",
        "a table",
        "line break tags",
        "paragraphs of HTML",
    ),
    *("NBSP", "width zero", "direction marks", "a fence", "a named fence", "a fence in its line"),
)
"""Layouts that write into the lines of a program, or a fence around a fence: they make it another program."""


def _code_in(example: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the code that would be run for a reply, less its docstrings, which a layout may change; nothing is run."""
    row = {**example, "test": "def check(candidate):\n    pass\n"}
    job = job_of(row, marked(answer_of(output) or ""))
    assert job is not None
    sources = [source.text for source in assemble(job).sources if source.name == "<response>"]
    function = None
    for node in ast.parse("\n".join(sources)).body:
        if isinstance(node, ast.FunctionDef) and node.name == example["entry_point"]:
            function = node
    return {"code": function and ast.dump(_without_docstrings(function))}


def _without_docstrings(function: ast.FunctionDef) -> ast.FunctionDef:
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef):
            node.body = [each for each in node.body if not _is_text(each)]
    return function


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a text alone, as docstrings are."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


@cache
def _scorers() -> Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Any]]:
    return {
        "math": MathEquivalence().score,
        "final_number": FinalNumber().score,
        "multiple_choice": MultipleChoiceAccuracy().score,
        "bbh": BBHExactMatch().score,
        "nli": NLILabelMatch().score,
        "drop": DropF1().score,
        "needle": NeedleRecall().score,
        "bfcl": BFCLMatch().score,
        "faithfulness": LexicalFaithfulness().score,
        "code": _code_in,
        "rating": lambda _, output: {"rating": read_rating(output["response"], (1, 10))},
        "verdict": lambda _, output: {"verdict": read_verdict(output["response"])},
    }


def verdict_on(case: Recorded, reply: str) -> Any:
    """Return the scores of a reply, or why there are none."""
    try:
        return dict(_scorers()[case.reader](case.example, {"response": reply}))
    except (UnreadableReply, InconclusiveScoreError) as error:
        return type(error).__name__
    except SyntaxError:
        return "no program"


@pytest.fixture(scope="session")
def replies(shared: Callable[[str], Path]) -> Mapping[str, list[Recorded]]:
    """The recorded replies by their readers, as many of each as are asked for."""
    groups: dict[str, list[Recorded]] = defaultdict(list)
    for case in recorded(shared("data")):
        groups[case.reader].append(case)
    wanted = os.environ.get("CONTEXT_BENCH_LAYOUTS", str(_SAMPLE))
    if wanted == "all":
        return groups
    return {
        reader: cases[:: max(1, len(cases) // int(wanted))][: int(wanted)]
        for reader, cases in groups.items()
    }


@pytest.mark.parametrize(
    ("reader", "layout"),
    [
        (reader, layout)
        for reader in READERS
        for layout in LAYOUTS
        if reader != "code" or layout not in _OTHER_CODE
    ],
)
def test_a_layout_changes_no_verdict(
    reader: str, layout: str, replies: Mapping[str, list[Recorded]]
) -> None:
    changed = [
        (case.reply[-200:], before, after)
        for case in replies[reader]
        if (before := verdict_on(case, case.reply))
        != (after := verdict_on(case, LAYOUTS[layout](case.reply)))
    ]
    assert changed == []


@pytest.mark.parametrize("quoting", QUOTING)
@pytest.mark.parametrize("reader", [reader for reader in READERS if reader not in _READS_ALL])
def test_quoting_the_opposite_answer_after_the_own_one_changes_no_verdict(
    reader: str, quoting: str, replies: Mapping[str, list[Recorded]]
) -> None:
    changed = [
        (case.reply[-200:], before, after)
        for case in replies[reader]
        if (before := verdict_on(case, case.reply))
        != (after := verdict_on(case, QUOTING[quoting](case.reply, case.opposite)))
    ]
    assert changed == []
