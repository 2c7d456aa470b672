"""From the records of instruction benchmarks to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row

Record = Mapping[str, Any]
Example = dict[str, Any]


def ifeval(record: Record, row: Row = FIRST) -> Example:
    """Return an IFEval example; the hub pads the arguments of each instruction with nulls, which say nothing."""
    arguments = [{key: value for key, value in (each or {}).items() if value is not None} for each in record["kwargs"]]
    return {
        "id": record["key"],
        "context": record["prompt"],
        "question": record["prompt"],
        "prompt": record["prompt"],
        "instruction_id_list": list(record["instruction_id_list"]),
        "kwargs": arguments,
    }


def alpaca_eval(record: Record, row: Row = FIRST) -> Example:
    """Return an AlpacaEval example; the answer is that of the reference model."""
    return {
        "id": row.number,
        "context": record["instruction"],
        "question": record["instruction"],
        "answer": record["output"],
        "generator": record.get("generator"),
        "subset": record.get("dataset"),
    }


def mt_bench(record: Record, row: Row = FIRST) -> Example:
    """Return an MT-Bench example: both turns of the user, and the references of the categories that have them."""
    turns = list(record.get("prompt") or record["turns"])
    references = [text for text in record.get("reference") or () if text]
    return {
        "id": record.get("prompt_id") or record["question_id"],
        "context": turns[0],
        "question": turns[-1],
        "turns": [{"role": "user", "content": turn} for turn in turns],
        "multi_turn": True,
        "category": record["category"],
        **({"answer": references[-1], "references": references} if references else {}),
    }
