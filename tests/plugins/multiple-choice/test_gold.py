"""The right letter of a row, in the forms in which data sets give it."""

from __future__ import annotations

import pytest

from context_bench_multiple_choice import MultipleChoiceAccuracy

CITIES = ["Lyon", "Berlin", "Paris", "Madrid"]

GOLDS = [
    pytest.param({"correct_letter": "C"}, "C", id="a letter"),
    pytest.param({"correct_letter": "c"}, "C", id="a small letter"),
    pytest.param({"correct_letter": "(C)"}, "C", id="in parentheses"),
    pytest.param({"correct_letter": "C."}, "C", id="with a full stop"),
    pytest.param({"correct_letter": "C)"}, "C", id="with a parenthesis"),
    pytest.param({"correct_letter": " C\n"}, "C", id="with white space"),
    pytest.param({"correct_letter": "**C**"}, "C", id="in bold"),
    pytest.param({"correct_letter": "Option C"}, "C", id="with its noun"),
    pytest.param({"correct_letter": "Ｃ"}, "C", id="full width"),
    pytest.param({"correct_letter": ["C"]}, "C", id="a list of one"),
    pytest.param(
        {"correct_letter": 2, "answer": "Paris"}, "C", id="an index from 0 that the answer confirms"
    ),
    pytest.param(
        {"correct_letter": 3, "answer": "Paris"}, "C", id="an index from 1 that the answer confirms"
    ),
    pytest.param({"correct_letter": "3", "answer": "Paris"}, "C", id="an index as text"),
    pytest.param({"correct_letter": 0}, "A", id="0 can only count from 0"),
    pytest.param({"correct_letter": 4}, "D", id="the number of options can only count from 1"),
    pytest.param(
        {"correct_letter": 2.0, "answer": "Paris"}, "C", id="an index that became a float"
    ),
    pytest.param({"answer": "Paris"}, "C", id="no letter but the text of an option"),
    pytest.param({"answer": "paris."}, "C", id="the text in another case"),
    pytest.param({"answer": "C"}, "C", id="no letter but a letter as the answer"),
    pytest.param({"answers": ["C"], "answer": "Lyon"}, "C", id="answers before answer"),
    pytest.param({"correct_letter": "C", "answer": "Lyon"}, "C", id="the letter before the answer"),
    pytest.param({"correct_letter": "", "answer": "Paris"}, "C", id="an empty letter is none"),
]

NO_GOLD = [
    pytest.param({}, id="nothing"),
    pytest.param({"correct_letter": None, "answer": None}, id="nulls"),
    pytest.param({"answer": ""}, id="an empty answer"),
    pytest.param({"answer": "London"}, id="an answer that is no option"),
    pytest.param({"correct_letter": "E"}, id="a letter beyond the options"),
    pytest.param({"correct_letter": "AB"}, id="two letters in one word"),
    pytest.param({"correct_letter": "?"}, id="a sign"),
    pytest.param({"correct_letter": 2}, id="an index that counts from 0 or from 1"),
    pytest.param({"correct_letter": 5}, id="an index beyond the options"),
    pytest.param({"correct_letter": -1}, id="an index that counts from the end"),
    pytest.param({"correct_letter": True}, id="a truth value"),
    pytest.param({"correct_letter": {"letter": "C"}}, id="an object"),
]


@pytest.mark.parametrize(("gold", "letter"), GOLDS)
def test_the_right_letter_is_read(gold, letter):
    scores = MultipleChoiceAccuracy().score(
        {"choices": CITIES, **gold}, {"response": f"Answer: {letter}"}
    )
    assert scores == {"mc_accuracy": 1.0}
    assert scores.details["gold"] == letter


@pytest.mark.parametrize("gold", NO_GOLD)
def test_a_row_without_a_certain_gold_is_unscored_with_the_reason(gold):
    scores = MultipleChoiceAccuracy().score({"choices": CITIES, **gold}, {"response": "Answer: C"})
    assert scores == {}
    assert scores.details["unscored"]


@pytest.mark.parametrize(("base", "letter"), [(0, "C"), (1, "B")])
def test_an_index_counts_from_the_base_that_is_set(base, letter):
    scores = MultipleChoiceAccuracy(index_base=base).score(
        {"choices": CITIES, "correct_letter": 2}, {"response": f"Answer: {letter}"}
    )
    assert scores == {"mc_accuracy": 1.0}


def test_a_number_as_the_answer_is_a_text_only_where_it_cannot_be_an_index():
    evaluator = MultipleChoiceAccuracy()
    assert evaluator.score({"choices": ["7", "42", "9"], "answer": 42}, {"response": "B"}) == {
        "mc_accuracy": 1.0
    }
    assert evaluator.score({"choices": ["2", "42", "9"], "answer": 2}, {"response": "A"}) == {}


def test_the_layouts_of_choices_are_read():
    evaluator = MultipleChoiceAccuracy()
    labelled = {"text": CITIES, "label": ["1", "2", "3", "4"]}
    for choices in (CITIES, tuple(CITIES), labelled, dict(zip("ABCD", CITIES))):
        assert evaluator.score({"choices": choices, "answer": "Paris"}, {"response": "Paris"}) == {
            "mc_accuracy": 1.0
        }


def test_without_choices_the_letters_up_to_j_count():
    evaluator = MultipleChoiceAccuracy()
    assert evaluator.score({"correct_letter": "J"}, {"response": "The answer is J."}) == {
        "mc_accuracy": 1.0
    }
    assert (
        evaluator.score({"correct_letter": "J"}, {"response": "The answer is K."}).details["letter"]
        is None
    )
    assert evaluator.score({"correct_letter": "L"}, {"response": "The answer is L."}) == {
        "mc_accuracy": 1.0
    }


def test_several_right_answers_each_count():
    row = {"choices": CITIES, "answers": ["A", "Paris"]}
    scores = [
        MultipleChoiceAccuracy().score(row, {"response": letter})["mc_accuracy"]
        for letter in "ABCD"
    ]
    assert scores == [1.0, 0.0, 1.0, 0.0]
