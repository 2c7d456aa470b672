"""From records to examples, and what they are scored by."""

from __future__ import annotations

import pytest

from context_bench_huggingface import Row
from context_bench_reasoning import DropF1, FinalNumber, records


def test_the_number_behind_the_marks_is_the_answer():
    example = records.gsm8k({"question": "Q", "answer": "A #### of signs.\n#### 1,200"}, Row(3))
    assert (example["id"], example["answer"], example["reasoning"]) == (3, "1200", "A #### of signs.")
    with pytest.raises(ValueError, match="has no ####"):
        records.gsm8k({"question": "Q", "answer": "12"})


def test_the_last_box_counts_with_all_its_braces():
    record = {
        "problem": "P",
        "solution": "$\\boxed{1}$ then $\\boxed{\\frac{1}{2}}$.",
        "level": "Level 5",
        "type": "Algebra",
    }
    example = records.math(record)
    assert (example["answer"], example["level"], example["subject"]) == ("\\frac{1}{2}", "5", "Algebra")


@pytest.mark.parametrize(
    ("accepted", "response", "f1", "exact"),
    [
        ([["28"]], "28 yards", 0.67, 0.0),
        ([["28-yard"]], "28 yard", 1.0, 1.0),
        ([["three"]], "3", 1.0, 1.0),
        ([["30"]], "31", 0.0, 0.0),
        ([["Ravens", "Colts"]], "Ravens", 0.5, 0.0),
        ([["Ravens", "Colts"]], "the Colts and the Ravens", 1.0, 1.0),
        ([["the Colts"], ["Ravens"]], "ravens.", 1.0, 1.0),
        ([["5 July 1990"]], "July 5, 1990", 1.0, 0.0),
    ],
)
def test_drop_f1_holds_numbers_and_spans(accepted, response, f1, exact):
    assert DropF1().score({"answer_spans": accepted}, {"response": response}) == {"drop_f1": f1, "drop_em": exact}


def test_without_gold_or_response_nothing_is_scored():
    for evaluator in (DropF1(), FinalNumber()):
        assert evaluator.score({}, {"response": "3"}) == {}
        assert evaluator.score({"answer": "3"}, {"response": None}) == {}


@pytest.mark.parametrize(
    ("answer", "response", "right"),
    [
        ("18", "16 - 3 = 13, so #### 18", 1.0),
        ("1200", "$1,200.00 in all.", 1.0),
        ("18", "18 of 20", 0.0),
        ("-3", "It is -3.", 1.0),
        ("18", "eighteen", 0.0),
        ("0.5", "That is .5", 1.0),
    ],
)
def test_the_final_number_is_compared(answer, response, right):
    assert FinalNumber().score({"answer": answer}, {"response": response}) == {"final_number": right}
