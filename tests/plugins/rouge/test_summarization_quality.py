"""SummarizationQuality and rouge_l: documented values, and what is no summary at all."""

from __future__ import annotations

import pytest

from context_bench_rouge import SummarizationQuality, rouge_l

KEYS = ["rouge_l_precision", "rouge_l_recall", "rouge_l_f1"]
ZERO = dict.fromkeys(KEYS, 0.0)
ONE = dict.fromkeys(KEYS, 1.0)


def expected(*values):
    return pytest.approx(dict(zip(KEYS, values, strict=True)))


def score(original, response):
    return SummarizationQuality().score(original, {"response": response})


@pytest.mark.parametrize(
    ("prediction", "reference", "values"),
    [
        pytest.param(
            "the cat sat", "the cat sat on the mat", (1, 1 / 2, 2 / 3), id="the documented example"
        ),
        pytest.param(
            "the cat sat on the mat",
            "the cat on the mat",
            (5 / 6, 1, 10 / 11),
            id="a word too many",
        ),
        pytest.param("The Cat", "the cat", (1, 1, 1), id="case does not count"),
        pytest.param("cat.", "cat", (0, 0, 0), id="punctuation does"),
        pytest.param("a\tb\nc", "a b c", (1, 1, 1), id="any white space separates"),
        pytest.param("b a", "a b", (1 / 2, 1 / 2, 1 / 2), id="order counts"),
        pytest.param("hello world", "foo bar", (0, 0, 0), id="nothing in common"),
        pytest.param("", "some words", (0, 0, 0), id="an empty prediction"),
        pytest.param("some words", "", (0, 0, 0), id="an empty reference"),
        pytest.param("", " ", (0, 0, 0), id="two empty texts"),
    ],
)
def test_rouge_l(prediction, reference, values):
    assert rouge_l(prediction, reference) == expected(*values)


def test_the_committee_example_has_its_true_value_and_not_the_quoted_one():
    answer, response = (
        "The committee approved the budget.",
        "The budget was approved by the committee.",
    )
    assert score({"answer": answer}, response) == expected(3 / 7, 3 / 5, 1 / 2)


@pytest.mark.parametrize(
    ("original", "response", "scores"),
    [
        pytest.param({"answer": ""}, "anything", ONE, id="an empty reference asks for nothing"),
        pytest.param({"answer": ""}, "", ONE, id="both empty follow the reference"),
        pytest.param({"answer": " \n"}, "anything", ZERO, id="a reference of white space alone"),
        pytest.param({"answers": [" ", "\t"]}, "", ZERO, id="references of white space alone"),
        pytest.param({"answers": [""]}, "anything", ONE, id="one empty alternative"),
        pytest.param({"answer": "words"}, "", ZERO, id="an empty response"),
        pytest.param({"answer": "words"}, " \t", ZERO, id="a blank response"),
        pytest.param({}, "anything", {}, id="no reference"),
        pytest.param({"answer": None}, "anything", {}, id="a reference that is None"),
        pytest.param({"answer": float("nan")}, "anything", {}, id="the NaN of a data frame"),
        pytest.param({"answer": b"\xff"}, "words", {}, id="bytes"),
        pytest.param({"answer": ["words"]}, "words", ONE, id="a list of alternatives in answer"),
        pytest.param({"answers": []}, "anything", {}, id="no alternatives"),
        pytest.param(
            {"answers": [None, ["nested"]]}, "anything", {}, id="alternatives without a text"
        ),
        pytest.param({"answer": "words"}, None, {}, id="a response that is None"),
        pytest.param({"answer": "words"}, ["words"], {}, id="a list for a response"),
        pytest.param({"answer": 42}, "42", ONE, id="a number stands for its digits"),
        pytest.param({"answers": "one text"}, "one text", ONE, id="a single text in answers"),
        pytest.param(
            {"answers": [], "answer": "words"}, "words", ONE, id="answer fills in for empty answers"
        ),
        pytest.param(
            {"answers": ["other"], "answer": "words"}, "words", ZERO, id="answers come first"
        ),
        pytest.param(
            {"answers": ["", "words"]}, "words", ONE, id="an empty alternative is passed over"
        ),
        pytest.param(
            {"answer": "a\x00b \ud800 שלום"}, "a\x00b \ud800 שלום", ONE, id="odd characters"
        ),
    ],
)
def test_what_there_is_to_compare_decides(original, response, scores):
    assert score(original, response) == scores


def test_without_a_response_the_row_is_unscored():
    assert SummarizationQuality().score({"answer": "words"}, {}) == {}


def test_the_reference_with_the_best_f1_gives_all_three_scores():
    # The first reference has the better recall, the second the better F1.
    assert score({"answers": ["a", "a b c d"]}, "a b c x y") == expected(3 / 5, 3 / 4, 2 / 3)


@pytest.mark.one_python
def test_a_megabyte_of_text_is_scored():
    text = "word " * 200_000
    assert score({"answer": text + "end"}, "start " + text)["rouge_l_f1"] == pytest.approx(
        1, abs=1e-5
    )
    assert score({"answer": "a word"}, text)["rouge_l_recall"] == 0.5
