"""From records to examples, and what they are scored by."""

from __future__ import annotations

import math

import pytest

from context_bench_instruction import AlpacaWinRate, records


def test_nulls_of_the_hub_are_no_arguments():
    record = {
        "key": 1,
        "prompt": "P",
        "instruction_id_list": ["a:b"],
        "kwargs": [{"n": 3, "relation": None}],
    }
    assert records.ifeval(record)["kwargs"] == [{"n": 3}]


def test_both_turns_of_mt_bench_are_asked():
    record = {
        "prompt_id": 81,
        "category": "math",
        "prompt": ["1+1?", "Doubled?"],
        "reference": ["2", "4"],
    }
    example = records.mt_bench(record)
    assert [turn["content"] for turn in example["turns"]] == ["1+1?", "Doubled?"]
    assert (example["multi_turn"], example["question"], example["references"]) == (
        True,
        "Doubled?",
        ["2", "4"],
    )
    release = {"question_id": 81, "category": "math", "turns": ["1+1?", "Doubled?"]}
    assert "answer" not in records.mt_bench(release)


@pytest.mark.parametrize(("preference", "rate"), [(1, 0.0), (2, 1.0), (0, 0.5), (1.25, 0.25)])
def test_a_recorded_preference_is_a_win_rate(preference, rate):
    assert AlpacaWinRate().score({}, {"response": "r", "preference": preference}) == {
        "alpaca_win_rate": rate
    }


@pytest.mark.parametrize("preference", [None, math.nan, 3, -1, True, "2"])
def test_without_a_preference_and_a_judge_nothing_is_scored(preference):
    assert AlpacaWinRate().score({"answer": "a"}, {"response": "r", "preference": preference}) == {}


def test_an_instruction_without_arguments_may_have_null_in_their_place():
    record = {
        "key": 1,
        "prompt": "p",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [None],
    }
    assert records.ifeval(record)["kwargs"] == [{}]


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (["first", ""], None),
        (["", "second"], "second"),
        (["first"], None),
        ([], None),
        (None, None),
    ],
)
def test_the_reference_of_the_first_turn_is_no_answer_to_the_last(reference, answer):
    """Seven of the benchmark's questions have a reference for their first turn only."""
    record = {
        "question_id": 103,
        "category": "reasoning",
        "turns": ["Where?", "And why?"],
        "reference": reference,
    }
    example = records.mt_bench(record)
    assert (example.get("answer"), example.get("references")) == (answer, reference or None)
