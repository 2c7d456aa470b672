from __future__ import annotations

import copy
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_needle import TASKS, NeedleOracle, NeedleRecall, needle

ORACLE = NeedleOracle()
NUMBER = "Which access numbers are registered for amber-otter? Name every one that the text gives for it."


def recall(row: dict[str, object], context: object) -> float:
    output = ORACLE.process({"context": context, "question": row["question"]})
    return NeedleRecall().score(row, output)["needle_recall"]


@pytest.mark.parametrize("config", TASKS)
def test_the_oracle_finds_every_needle_of_a_whole_context(config: str) -> None:
    for row in needle(6, config, lengths=[300, 2000]):
        assert ORACLE.process(row)["response"] == row["answer"] or recall(row, row["context"]) == 1
        assert recall(row, row["context"]) == 1.0


@settings(max_examples=60, deadline=None)
@given(
    key_kind=st.sampled_from(["word", "number", "uuid"]),
    value_kind=st.sampled_from(["word", "number", "uuid"]),
    queries=st.integers(1, 4),
    values=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    cut=st.floats(0, 1),
)
def test_the_oracle_finds_just_the_needles_that_a_cut_left_whole(
    key_kind: str, value_kind: str, queries: int, values: int, seed: int, cut: float
) -> None:
    (row,) = needle(
        1, length=700, key_kind=key_kind, value_kind=value_kind, queries=queries, values=values, seed=seed, keys=5
    )  # fmt: skip
    sentences = re.findall(r"[^.]*\.", row["context"])
    kept = "".join(sentences[: round(cut * len(sentences))])
    left = sum(f" is {value}." in kept for value in row["needles"])
    assert recall(row, kept) == left / len(row["needles"])
    assert recall(row, row["context"]) == 1.0


def test_the_oracle_does_not_look_at_the_answer() -> None:
    (row,) = needle(1, "multi-query", length=500)
    blind = {"context": "", "question": row["question"]}
    assert ORACLE.process({**row, "context": ""}) == ORACLE.process(blind) == {"response": ""}
    assert ORACLE.reads == ("context", "question")


def test_distractors_are_no_answers() -> None:
    for row in needle(10, "multi-key", length=500):
        assert ORACLE.process(row)["response"] == row["answer"]


@pytest.mark.parametrize(
    ("context", "response"),
    [
        ("One access number registered for amber-otter is 4711023.", "4711023"),
        ("access number registered amber-otter 4711023", "4711023"),
        ("amber-otter: 4711023; blue-fox: 8150815", "4711023"),
        ("registered for amber-otter is: 4711023", "4711023"),
        ("One access number registered\nfor amber-otter\nis 4711023", "4711023"),
        ("amber-otter is 4711023. Rain fell. amber-otter is 8150815.", "4711023, 8150815"),
        ("amber-otter is 4711023. amber-otter is 4711023.", "4711023"),
        ("amber-otter is 47110", ""),
        ("amber-otter is 47110230", ""),
        ("registered for amber-otter is", ""),
        ("registered for calamber-otter is 4711023", ""),
        ("registered for old-amber-otter is 4711023", ""),
        ("registered for amber-otters is 4711023", ""),
        ("amber-otter is the first. One access number registered for blue-fox is 8150815.", ""),
        ("4711023", ""),
        (["amber-otter is", "4711023"], "4711023"),
        (["amber-otter is 4711023", None, 5], "4711023"),
        (None, ""),
        (5, ""),
    ],
    ids=str,
)
def test_a_needle_is_its_key_and_a_whole_value_soon_after_it(
    context: object, response: str
) -> None:
    assert ORACLE.process({"context": context, "question": NUMBER}) == {"response": response}


@pytest.mark.parametrize(
    "question", ["Who wrote it?", "", None, 5, "Which access numbers are registered for"], ids=str
)
def test_a_question_of_another_data_set_is_refused(question: object) -> None:
    with pytest.raises(
        ValueError, match="needle-oracle answers the questions of the data set needle only"
    ):
        ORACLE.process({"context": "x", "question": question})


def test_a_question_may_stand_in_a_longer_prompt() -> None:
    example = {"context": "amber-otter is 4711023", "question": f"Be brief.\n\n{NUMBER}\nAnswer:"}
    assert ORACLE.process(example) == {"response": "4711023"}


def test_the_input_is_not_changed() -> None:
    (row,) = needle(1, length=200)
    before = copy.deepcopy(row)
    ORACLE.process(row)
    assert row == before


@pytest.mark.parametrize(
    "context", ["amber-otter" + " " * 3_000_000, "amber-otter " * 300_000, "amber-otter-" * 300_000, "\ud800" * 10**6]
)  # fmt: skip
def test_a_huge_context_is_read_in_one_go(context: str) -> None:
    assert ORACLE.process({"context": context, "question": NUMBER}) == {"response": ""}
