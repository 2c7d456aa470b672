"""From the records of code benchmarks to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_in, texts_of

Record = Mapping[str, Any]
Example = dict[str, Any]


def humaneval(record: Record, row: Row = FIRST) -> Example:
    """Return a HumanEval example: a function to complete, and the tests that call it."""
    return {
        "id": identity_of(record, row, "task_id"),
        "context": text_in(record, "prompt"),
        "question": record["prompt"],
        "prompt": record["prompt"],
        **_solution(record, "canonical_solution"),
        "test": text_in(record, "test"),
        "entry_point": text_in(record, "entry_point"),
    }


def mbpp(record: Record, row: Row = FIRST) -> Example:
    """Return an MBPP example: the task with the tests that its authors show, which tell the function's name."""
    text = text_in(record, "prompt" if "prompt" in record else "text")
    tests = texts_of(record["test_list"], "test_list")
    if not tests:
        raise ValueError("test_list has no test")
    asked = "\n".join([text.strip(), "", "Your Python code has to pass these tests:", "", *tests])
    example = {
        "id": identity_of(record, row, "task_id"),
        "context": asked,
        "question": asked,
        **_solution(record, "code"),
        "test_list": tests,
    }
    imports, setup = (
        texts_in(record, "test_imports"),
        text_of(record.get("test_setup_code"), "test_setup_code"),
    )
    return {
        **example,
        **({"test_imports": imports} if imports else {}),
        **({"test_setup_code": setup} if setup else {}),
    }


def _solution(record: Record, name: str) -> Example:
    """Return the solution of the authors as the answer; tests decide, so a record may do without."""
    text = text_of(record[name], name)
    return {"answer": text} if text and text.strip() else {}
