from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_needle import NeedleRecall

ROW = {"needles": ["4711023", "8150815", "amber-otter"]}


@pytest.mark.parametrize(
    ("needles", "response", "recall"),
    [
        (["4711023"], "It is 4711023.", 1.0),
        (["4711023"], "It is 4711024.", 0.0),
        (["4711023", "8150815"], "8150815", 0.5),
        (["4711023", "8150815"], "8150815 and 4711023", 1.0),
        (["1", "2", "3"], "1 2", 2 / 3),
        (["Amber-Otter"], "the AMBER-OTTER", 1.0),
        (["4711023"], "14711023", 1.0),
        (["4711023"], "4,711,023", 0.0),
        (["4711023"], "", 0.0),
        (["7", "7", "8"], "7", 2 / 3),
        ("4711023", "4711023", 1.0),
        (4711023, "4711023", 1.0),
        (("a", "b"), "a", 0.5),
        (["a", "", None, "  "], "a", 1.0),
        (["سر"], "كلمة السر هي", 1.0),
    ],
    ids=str,
)
def test_recall_is_the_fraction_of_the_needles_that_are_contained(
    needles: object, response: str, recall: float
) -> None:
    assert NeedleRecall().score({"needles": needles}, {"response": response}) == {
        "needle_recall": recall
    }


def test_recall_is_rulers_string_match_all() -> None:
    """RULER: sum of (reference in prediction, both lower case) / number of references, averaged and times 100."""
    predictions = ["The numbers are 12, 34.", "AA bb", "nothing"]
    references = [["12", "34", "56"], ["aa", "BB"], ["x"]]
    official = 100 * sum(
        sum(1.0 if each.lower() in prediction.lower() else 0.0 for each in reference) / len(reference)
        for prediction, reference in zip(predictions, references)
    ) / len(predictions)  # fmt: skip
    ours = [
        NeedleRecall().score({"needles": reference}, {"response": prediction})["needle_recall"]
        for prediction, reference in zip(predictions, references)
    ]
    assert sum(ours) / len(ours) * 100 == pytest.approx(official)
    assert official == pytest.approx((2 / 3 + 1) * 100 / 3)


@pytest.mark.parametrize(
    ("needle", "response", "found"),
    [
        ("12", "It is 12.", True),
        ("12", "It is 123.", False),
        ("12", "It is 412", False),
        ("12", "no: 123, but 12", True),
        ("c++", "in C++, of course", True),
        ("12", "12_", False),
        ("oak", "old-oak", True),
    ],
)
def test_word_boundary_refuses_a_needle_that_touches_a_word(
    needle: str, response: str, found: bool
) -> None:
    score = NeedleRecall(word_boundary=True).score({"needles": [needle]}, {"response": response})
    assert score == {"needle_recall": float(found)}


def test_a_context_is_read_where_there_is_no_response() -> None:
    score = NeedleRecall().score(ROW, {"context": "... 4711023 ..."})
    assert score == {"needle_recall": 1 / 3}
    assert score.details == {"read_from": "context", "missing": ["8150815", "amber-otter"]}  # type: ignore[attr-defined]


def test_a_context_of_several_passages_is_read_as_one() -> None:
    score = NeedleRecall().score(ROW, {"context": ["4711023", None, "Amber-Otter"]})
    assert score == {"needle_recall": 2 / 3}


def test_a_response_goes_before_the_context_even_if_it_is_empty() -> None:
    processed = {"response": "", "context": "4711023 8150815 amber-otter"}
    score = NeedleRecall().score(ROW, processed)
    assert score == {"needle_recall": 0.0}
    assert score.details["read_from"] == "response"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("original", "processed"),
    [
        ({}, {"response": "x"}),
        ({"needles": None}, {"response": "x"}),
        ({"needles": []}, {"response": "x"}),
        ({"needles": ["", " "]}, {"response": "x"}),
        ({"needles": [None, b"\xff", True]}, {"response": "x"}),
        ({"needles": {"a": 1}}, {"response": "x"}),
        ({"answer": "x", "answers": ["x"]}, {"response": "x"}),
        (ROW, {}),
        (ROW, {"response": None}),
        (ROW, {"response": None, "context": None}),
        (ROW, {"response": ["4711023"]}),
        (ROW, {"response": b"\xff", "context": "4711023"}),
        (ROW, {"context": {"text": "4711023"}}),
    ],
    ids=str,
)
def test_a_row_with_nothing_to_compare_is_not_scored(
    original: dict[str, object], processed: dict[str, object]
) -> None:
    assert NeedleRecall().score(original, processed) == {}


@pytest.mark.parametrize(
    "response", ["\ud800 4711023", "\x00" * 9, "4711023" * 1_500_000, "\u202e3201174"], ids=range(4)
)
def test_exotic_text_is_scored(response: str) -> None:
    for evaluator in (NeedleRecall(), NeedleRecall(word_boundary=True)):
        assert 0 <= evaluator.score(ROW, {"response": response})["needle_recall"] <= 1


@given(needles=st.lists(st.text(), max_size=5), response=st.text())
def test_scores_are_fractions_and_word_boundary_finds_no_more(
    needles: list[str], response: str
) -> None:
    plain = NeedleRecall().score({"needles": needles}, {"response": response})
    strict = NeedleRecall(word_boundary=True).score({"needles": needles}, {"response": response})
    assert plain.keys() == strict.keys()
    for key in plain:
        assert 0 <= strict[key] <= plain[key] <= 1


@given(needles=st.lists(st.text(alphabet="ab1", min_size=1), min_size=1, max_size=5))
def test_an_answer_with_all_needles_is_right(needles: list[str]) -> None:
    for evaluator in (NeedleRecall(), NeedleRecall(word_boundary=True)):
        assert evaluator.score({"needles": needles}, {"response": ", ".join(needles)}) == {
            "needle_recall": 1.0
        }


def test_the_fingerprint_tells_the_options() -> None:
    assert NeedleRecall().fingerprint() == {"word_boundary": False}
    assert NeedleRecall(word_boundary=True).fingerprint() == {"word_boundary": True}
