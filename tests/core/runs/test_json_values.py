"""Examples and outputs consist of JSON values: evaluators see what the run file contains."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from context_bench import evaluate
from context_bench.runs import open_run

UNUSUAL = {
    "decimal": Decimal("42.0"),
    "day": datetime.date(2026, 1, 2),
    "options": ("a", "b"),
    "tags": {"y", "x"},
    "raw": "é".encode(),
    "missing": float("nan"),
}
PLAIN = {
    "decimal": 42,
    "day": "2026-01-02",
    "options": ["a", "b"],
    "tags": ["x", "y"],
    "raw": "é",
    "missing": None,
}


class Seeing:
    name = "seeing"

    def __init__(self) -> None:
        self.pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        self.pairs.append((original, processed))
        return {"seen": 1.0}


def test_an_evaluator_sees_the_values_that_the_run_file_contains(tmp_path: Path) -> None:
    inputs = []

    def system(example: dict[str, Any]) -> dict[str, Any]:
        inputs.append(example)
        return {"response": "r", **UNUSUAL}

    evaluator = Seeing()
    path = tmp_path / "run.sqlite"
    examples = [{"id": "e", "question": "q", **UNUSUAL}]
    evaluate(system, examples, [evaluator], progress=False, run_file=path)
    [(original, processed)] = evaluator.pairs
    with open_run(path) as run:
        [row] = run.rows()
        [example] = run.examples()
    assert {name: inputs[0][name] for name in PLAIN} == PLAIN
    assert {name: original[name] for name in PLAIN} == PLAIN
    assert {name: processed[name] for name in PLAIN} == PLAIN
    assert example.content == {"id": "e", "question": "q", **PLAIN}
    assert {name: row.output[name] for name in PLAIN} == PLAIN


def test_an_output_without_a_json_value_is_a_failed_row_that_names_field_and_type() -> None:
    def system(example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == "bad":
            return {"response": "r", "deep": [{"handle": Seeing()}]}
        return {"response": "r"}

    examples = [{"id": "bad", "question": "q"}, {"id": "good", "question": "q"}]
    rows = evaluate(system, examples, [Seeing()], progress=False).rows
    assert [row.failed for row in rows] == [True, False]
    [failure] = rows[0].errors
    assert failure.kind == "UnstorableError"
    assert "deep[0].handle" in failure.message
    assert "Seeing" in failure.message
