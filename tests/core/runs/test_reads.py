"""A system receives the fields that it declares to read, and no other: they are what its response key is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench import evaluate

ROWS = [
    {"id": f"e{n}", "context": f"c{n}", "question": f"q{n}", "note": f"n{n}", "answer": "x"}
    for n in range(2)
]


@pytest.mark.parametrize(
    ("attributes", "received"),
    [
        ({}, {"id", "context", "question", "note", "answer"}),
        ({"reads": None}, {"id", "context", "question", "note", "answer"}),
        ({"reads": ("context",)}, {"id", "context"}),
        ({"reads": ("context", "note")}, {"id", "context", "note"}),
        ({"reads": ("contxt",)}, {"id"}),
    ],
    ids=["nothing declared", "all", "one", "two", "a typo"],
)
def test_a_system_receives_what_it_reads(
    make_system: Callable[..., Any], same: Any, attributes: dict[str, Any], received: set[str]
) -> None:
    seen: list[set[str]] = []

    def answer(example: dict[str, Any]) -> dict[str, Any]:
        seen.append(set(example))
        return {"response": "x"}

    evaluate(make_system("s", answer, **attributes), ROWS, [same], progress=False)
    assert seen == [received, received]


def test_a_misspelt_field_fails_rows_instead_of_serving_one_response_for_all(
    make_system: Callable[..., Any], same: Any, tmp_path: Any
) -> None:
    def answer(example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}

    system = make_system("s", answer, reads=("questoin",), fingerprint=lambda self: {"name": "s"})
    result = evaluate(
        system,
        ROWS,
        [same],
        progress=False,
        keep_going=True,
        run_file=tmp_path / "run.sqlite",
    )
    assert [row.errors[0].kind for row in result.rows] == ["KeyError", "KeyError"]
