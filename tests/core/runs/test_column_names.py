"""Columns under other names are named in one line with the flag that mends it; a list in a cell is a list."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench.errors import DatasetError
from context_bench.session.column_names import check_columns


def checked(*rows: dict[str, Any], named: tuple[str, ...] = ()) -> list[Any]:
    return list(check_columns(rows, named, "own.csv"))


@pytest.mark.parametrize(
    ("row", "flags"),
    [
        (
            {"ID": 1, "QUESTION": "q", "CONTEXT": "c", "ANSWER": "a"},
            ["question=QUESTION", "context=CONTEXT", "answer=ANSWER"],
        ),
        ({" Question ": "q", "Answer": "a"}, ["'question= Question '", "answer=Answer"]),
        (
            {"instruction": "i", "input": "n", "output": "o"},
            ["question=instruction", "context=input", "answer=output"],
        ),
        ({"input": "q", "target": "a"}, ["question=input", "answer=target"]),
        (
            {"user_input": "q", "retrieved_contexts": ["c"], "reference": "r"},
            ["question=user_input", "context=retrieved_contexts", "answer=reference"],
        ),
        ({"context": "c", "Question": "q", "Answer": "a"}, ["question=Question", "answer=Answer"]),
        ({"Input": "q", "expectedOutput": "a"}, ["question=Input", "answer=expectedOutput"]),
    ],
)
def test_columns_under_other_names_are_named(row: dict[str, Any], flags: list[str]) -> None:
    with pytest.raises(DatasetError) as raised:
        checked(row)
    text = str(raised.value)
    assert [flag for flag in flags if f"--field {flag}" not in text] == []
    assert text.count("--field") == len(flags)


@pytest.mark.parametrize("gold", ["ground_truth", "expected_output"])
def test_two_columns_that_may_be_gold_are_not_guessed(gold: str) -> None:
    row = {"question": "q", "contexts": ["c"], "answer": "a", gold: "g"}
    with pytest.raises(DatasetError, match=f"--field answer={gold} --field response=answer"):
        checked(row)
    assert checked(row, named=("answer",)) == [row]


@pytest.mark.parametrize(
    "row",
    [
        {"question": "q", "answer": "a"},
        {"context": "c", "label": "x"},
        {"messages": []},
        {"text": "t", "label": "x"},
        {"response": "r", "answer": "a"},
        {"input": "q", "prediction": "p", "target": "a"},
    ],
)
def test_other_rows_stay_as_they_are(row: dict[str, Any]) -> None:
    assert checked(row) == [row]


def test_a_user_who_named_a_field_knows_the_columns() -> None:
    row = {"input": "q", "answers": ["a"]}
    assert checked(row, named=("answers",)) == [row]
    with pytest.raises(DatasetError, match="--field question=QUESTION"):
        checked({"QUESTION": "q", "answers": ["a"]}, named=("answers",))


def test_a_list_in_a_cell_is_a_list() -> None:
    first = {"question": "q", "answer": '["Paris", "Lutetia"]', "choices": "[1, 2]"}
    second = {"question": "q", "answer": "[not JSON", "choices": "plain"}
    assert checked(first, second) == [
        {"question": "q", "answer": ["Paris", "Lutetia"], "choices": [1, 2]},
        second,
    ]


def test_a_text_with_a_bracket_in_a_later_row_stays_text() -> None:
    rows = [{"question": "q", "answer": "Paris"}, {"question": "q", "answer": '["Paris"]'}]
    assert checked(*rows) == rows


LETTERED = [
    {"question": "Largest?", "choices": ["Mars", "Jupiter"], "answer": "B"},
    {"question": "Largest?", "options": '["Mars", "Jupiter"]', "label": "B"},
    {"question": "Largest?", "A": "Mars", "B": "Jupiter", "answer": "B"},
    {"question": "Largest?", "option_a": "Mars", "option_b": "Jupiter", "correct": "b"},
]


@pytest.mark.parametrize("row", LETTERED)
def test_a_letter_beside_options_is_named_and_then_scored_as_one(row: dict[str, Any]) -> None:
    column = list(row)[-1]
    with pytest.raises(DatasetError, match=f"--field correct_letter={column} --evaluators"):
        checked(row)
    [found] = checked({**row, "correct_letter": row[column]}, named=("correct_letter",))
    assert (found["choices"], found["correct_letter"]) == (["Mars", "Jupiter"], "B")
    assert found["question"] == "Largest?\n\nA. Mars\nB. Jupiter"
    assert "letter" in found["instruction"]
    assert checked(row, named=("answer",))[0]["question"] == "Largest?"


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Which?", "choices": ["Mars", "Jupiter"], "answer": "Mars"},
        {"question": "q", "A": "x", "C": "y", "answer": "A"},
        {"question": "q", "answer": "B"},
        {"question": "q", "choices": ["x", "y"], "answer": "E"},
    ],
)
def test_what_is_no_letter_of_an_option_is_a_text(row: dict[str, Any]) -> None:
    assert checked(row) == [row]
