"""From the records of instruction benchmarks to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_of
from context_bench_huggingface.layouts import rows_of

Record = Mapping[str, Any]
Example = dict[str, Any]


def ifeval(record: Record, row: Row = FIRST) -> Example:
    """Return an IFEval example; the hub pads the arguments of each instruction with nulls, which say nothing."""
    kinds, given = (
        texts_of(record["instruction_id_list"], "instruction_id_list"),
        rows_of(record["kwargs"]),
    )
    if not kinds or len(kinds) != len(given):
        raise ValueError(
            f"instruction_id_list names {len(kinds)} instructions, and kwargs has arguments of {len(given)}"
        )
    arguments = [
        {key: value for key, value in (each or {}).items() if value is not None} for each in given
    ]
    return {
        "id": identity_of(record, row, "key"),
        "context": text_in(record, "prompt"),
        "question": record["prompt"],
        "prompt": record["prompt"],
        "instruction_id_list": kinds,
        "kwargs": arguments,
    }


def alpaca_eval(record: Record, row: Row = FIRST) -> Example:
    """Return an AlpacaEval example; the answer is that of the reference model."""
    output = text_of(record["output"], "output")
    return {
        "id": row.number,
        "context": text_in(record, "instruction"),
        "question": record["instruction"],
        **({"answer": output} if output and output.strip() else {}),
        "generator": record.get("generator"),
        "subset": record.get("dataset"),
    }


def mt_bench(record: Record, row: Row = FIRST) -> Example:
    """Return an MT-Bench example: both turns of the user, and the references of the categories that have them.

    ``references`` holds one for each turn, blank where a turn has none; the answer is that of the last turn, which is asked.
    """
    name = "prompt" if "prompt" in record else "turns"
    turns, given = texts_of(record[name], name), record.get("reference") or None
    if not all(turn.strip() for turn in turns or [""]):
        raise ValueError(f"{name} has a turn without a text")
    references = [text_of(each, "a reference") or "" for each in rows_of(given)]
    answer = references[-1] if len(references) == len(turns) else None
    return {
        "id": identity_of(record, row, "prompt_id", "question_id"),
        "context": turns[0],
        "question": turns[-1],
        "turns": [{"role": "user", "content": turn} for turn in turns],
        "multi_turn": True,
        "category": record["category"],
        **({"references": references} if references else {}),
        **({"answer": answer} if answer else {}),
    }
