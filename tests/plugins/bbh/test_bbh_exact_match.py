"""The rule of BIG-Bench Hard: first line behind the last "the answer is", exactly the target."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_bench.answers import plain_signs
from context_bench_bbh import BBHExactMatch

RIGHT = [
    ("True", "So the answer is True."),
    ("True", "True"),
    ("True", " True.\n\nQ: the next question"),
    ("(B)", "Let's see.\n(A) is wrong. So the answer is (B).\n\nQ: What is (C)?"),
    ("(B)", "The answer is: (B)"),
    ("(B)", "So the answer is **(B)**."),
    ("(B)", "the answer is (A). No, the answer is (B)."),
    ("-12", "So the answer is -12."),
    ("] } )", "So the answer is ] } )."),
    ("barn damp dot", "barn damp dot"),
    ("3.5", "So the answer is 3.5."),
    ("Yes", "the answer is\nYes"),
    (8, "So the answer is 8."),
    (True, "True"),
]
WRONG = [
    ("True", "False"),
    ("True", "true"),
    ("(B)", "B"),
    ("(B)", "(B) Paris"),
    ("(B)", "the answer is (B). No, the answer is (A)."),
    ("(B)", "(B) comes first.\nIt is (B)"),
    ("barn damp dot", "damp barn dot"),
    ("12", "So the answer is 12 apples."),
    ("True", ""),
    ("True", " \n"),
    ("True", "So the answer is"),
]


@pytest.mark.parametrize(("target", "response"), RIGHT)
def test_these_are_right(target, response):
    assert BBHExactMatch().score({"answer": target}, {"response": response}) == {
        "bbh_exact_match": 1.0
    }


@pytest.mark.parametrize(("target", "response"), WRONG)
def test_these_are_wrong(target, response):
    assert BBHExactMatch().score({"answer": target}, {"response": response}) == {
        "bbh_exact_match": 0.0
    }


def test_any_of_several_targets_is_right():
    score = BBHExactMatch().score
    assert score({"answers": ["(A)", "(B)"], "answer": "(C)"}, {"response": "(B)"}) == {
        "bbh_exact_match": 1.0
    }
    assert score({"answers": ["(A)", "(B)"], "answer": "(C)"}, {"response": "(C)"}) == {
        "bbh_exact_match": 0.0
    }
    assert score({"answers": [], "answer": "(C)"}, {"response": "(C)"}) == {"bbh_exact_match": 1.0}


@pytest.mark.parametrize(
    "original",
    [{}, {"answer": None}, {"answer": " "}, {"answers": [None]}, {"answer": b"\xff"}],
    ids=str,
)
def test_without_a_target_nothing_is_scored(original):
    assert BBHExactMatch().score(original, {"response": "True"}) == {}


@pytest.mark.parametrize(
    "processed", [{}, {"response": None}, {"response": ["True"]}, {"response": math.nan}], ids=str
)
def test_without_a_response_nothing_is_scored(processed):
    assert BBHExactMatch().score({"answer": "True"}, processed) == {}


def test_the_details_tell_the_answer_and_whether_it_was_stated():
    score = BBHExactMatch().score
    assert score({"answer": "x"}, {"response": "the answer is y."}).details == {
        "extracted": "y",
        "is_stated": True,
    }
    assert score({"answer": "x"}, {"response": "y\nz"}).details == {
        "extracted": "y",
        "is_stated": False,
    }


def test_the_pattern_is_an_option_and_part_of_the_fingerprint():
    evaluator = BBHExactMatch(pattern=r"final answer:")
    assert evaluator.score({"answer": "7"}, {"response": "the answer is 8\nFinal answer: 7"}) == {
        "bbh_exact_match": 1.0
    }
    assert evaluator.fingerprint() == {"pattern": "final answer:"} != BBHExactMatch().fingerprint()
    assert pickle.loads(pickle.dumps(evaluator)).fingerprint() == evaluator.fingerprint()


@pytest.mark.parametrize("pattern", ["(", None, 5])
def test_a_pattern_that_is_no_regular_expression_is_refused(pattern):
    with pytest.raises(ValueError, match="pattern of BBHExactMatch must be a regular expression"):
        BBHExactMatch(pattern=pattern)


texts = st.text() | st.sampled_from(
    ["the answer is ", "\n", ".", "*", "\x00", "\ud800", "\u202e", "10" * 5_000_000]
)
values = (
    texts
    | st.none()
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.binary()
    | st.lists(texts, max_size=2)
)


@given(values, values, values)
def test_any_values_are_scored_or_not(answer, answers, response):
    scores = BBHExactMatch().score({"answer": answer, "answers": answers}, {"response": response})
    assert scores in ({}, {"bbh_exact_match": 0.0}, {"bbh_exact_match": 1.0})


@example("0\x1f\n0")
@given(st.text().filter(lambda text: text.strip(" \t\r\n*`.") and "answer" not in text.lower()))
def test_a_target_is_right_wherever_it_is_stated(target):
    line = plain_signs(target).strip().split("\n")[0]
    for response in (line, f"So the answer is {line}", f"Hm.\nThe answer is: {line}\nmore"):
        assert BBHExactMatch().score({"answer": line}, {"response": response}) in (
            {},
            {"bbh_exact_match": 1.0},
        )
