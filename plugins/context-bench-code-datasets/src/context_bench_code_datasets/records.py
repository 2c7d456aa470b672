"""From the records of code benchmarks to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row

Record = Mapping[str, Any]
Example = dict[str, Any]


def humaneval(record: Record, row: Row = FIRST) -> Example:
    """Return a HumanEval example: a function to complete, and the tests that call it."""
    return {
        "id": record["task_id"],
        "context": record["prompt"],
        "question": record["prompt"],
        "prompt": record["prompt"],
        "answer": record["canonical_solution"],
        "test": record["test"],
        "entry_point": record["entry_point"],
    }


def mbpp(record: Record, row: Row = FIRST) -> Example:
    """Return an MBPP example: the task with the tests that its authors show, which tell the function's name."""
    text = record.get("prompt") or record["text"]
    tests = list(record["test_list"])
    asked = "\n".join([text.strip(), "", "Your Python code has to pass these tests:", "", *tests])
    example = {
        "id": record["task_id"],
        "context": asked,
        "question": asked,
        "answer": record["code"],
        "test_list": tests,
    }
    imports, setup = list(record.get("test_imports") or []), record.get("test_setup_code")
    return {
        **example,
        **({"test_imports": imports} if imports else {}),
        **({"test_setup_code": setup} if setup else {}),
    }
