"""From records to examples, and what they are scored by."""

from __future__ import annotations

import pytest

from context_bench_huggingface import Row
from context_bench_reasoning import DropF1, FinalNumber, records


def test_the_number_behind_the_marks_is_the_answer():
    example = records.gsm8k({"question": "Q", "answer": "A #### of signs.\n#### 1,200"}, Row(3))
    assert (example["id"], example["answer"], example["reasoning"]) == (
        3,
        "1200",
        "A #### of signs.",
    )
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
    assert (example["answer"], example["level"], example["subject"]) == (
        "\\frac{1}{2}",
        "5",
        "Algebra",
    )


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"So $\boxed7$. Then we are done.", "7"),
        (r"So $\boxed 12$.", "12"),
        (r"So \boxed5, as was said.", "5"),
        (r"So $\boxed\text{A}$ is it.", r"\text{A}"),
        (r"So $\boxed {x}$, and $\{1\}$.", "x"),
        (r"So $\boxed{x$.", None),
        (r"So $\boxed{ }$.", None),
    ],
)
def test_a_box_without_braces_ends_with_its_formula(solution, answer):
    """What stood behind the first space of the rest was the answer."""
    assert records.math({"problem": "P", "solution": solution}).get("answer") == answer


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
        ([["10:30"]], "1030", 1.0, 1.0),  # the authors drop the colon, and what is left is a number
        ([["3.5"]], "$3.50", 1.0, 1.0),
        ([["2 x", "3 x", "4 y", "5 y"]], "2 x z q, 3 x, 4", 0.58, 0.0),
        ([[*list("bcdefgh"), "b i"]], "b, b i, c, d, e, f, g, h", 1.0, 1.0),
        ([["Rome"]], "<think>Paris or Oslo</think>Rome", 1.0, 1.0),
    ],
)
def test_drop_f1_holds_numbers_and_spans(accepted, response, f1, exact):
    assert DropF1().score({"answer_spans": accepted}, {"response": response}) == {
        "drop_f1": f1,
        "drop_em": exact,
    }


def test_without_gold_or_response_nothing_is_scored():
    for evaluator in (DropF1(), FinalNumber()):
        assert evaluator.score({}, {"response": "3"}) == {}
        assert evaluator.score({"answer": "3"}, {"response": None}) == {}
        assert evaluator.score({"answer": "3"}, {}).details["unscored"]
        assert evaluator.score({}, {"response": "3"}).details["unscored"]


@pytest.mark.parametrize(
    ("answer", "response", "right"),
    [
        ("18", "16 - 3 = 13, so #### 18", 1.0),
        ("1200", "$1,200.00 in all.", 1.0),
        ("18", "18 of 20", 0.0),
        ("-3", "It is -3.", 1.0),
        ("18", "eighteen", 0.0),
        ("0.5", "That is .5", 1.0),
        ("-5", "It is \N{MINUS SIGN}5.", 1.0),
        ("5", "It is \N{MINUS SIGN}5.", 0.0),
        ("15", "pages 10-15", 1.0),
        ("50", "an area of 50 m^2", 1.0),
        ("50", "an area of 50 cm^{2}.", 1.0),
        ("1500", "1.5e3", 1.0),
        ("1500", r"$1.5 \times 10^3$ in all", 1.0),
        ("3", "1.5e3", 0.0),
        ("1000", r"\(1{,}000\)", 1.0),
        ("1000", r"1\,000 eggs", 1.0),
        ("1000", "1\N{NARROW NO-BREAK SPACE}000", 1.0),
        ("1234567", "1.234.567 Euro", 1.0),
        ("1234.5", "1.234,50", 1.0),
        ("2.5", "Das sind 2,5 Liter.", 1.0),
        ("25", "2,5", 0.0),
        ("12", "12,00 Euro", 1.0),
        ("18", "<think>18</think>20", 0.0),
        ("18", "So she earns \\$18.", 1.0),
        ("18", "**Answer:**\n- 18", 1.0),
        ("18", "#### 18\n\nQuestion: How many are left?\nHalf.\n#### 9", 1.0),
        ("9", "#### 18\n\nQuestion: How many are left?\nHalf.\n#### 9", 0.0),
        ("18", "#### Step 2: Multiply\n9 * 2 = 18", 1.0),
        ("18", "#### 2. Multiply\n9 * 2 = 18", 1.0),
        ("18", "#### 18\n\nQuestion: Tom has 5 apples.", 1.0),
        ("18", "#### **$18**\n#### Check\n9 is half of it.", 1.0),
        ("5", "$-5", 0.0),
        ("-5", "$-5", 1.0),
        ("2500000", "2,500,000 people", 1.0),
    ],
)
def test_the_final_number_is_compared(answer, response, right):
    assert FinalNumber().score({"answer": answer}, {"response": response}) == {
        "final_number": right
    }


def test_the_final_number_is_told():
    assert FinalNumber().score({"answer": "3"}, {"response": "It is 3.50."}).details == {
        "extracted": "3.5"
    }


def test_many_spans_are_paired_as_well_as_can_be():
    """Pairing the first best pair first would leave "green" without a partner, and give 0.85."""
    answer = ["blue red green", "green", *"ijklmn"]
    response = ", ".join(["blue red", "green blue", *"ijklmn"])
    assert DropF1().score({"answer_spans": [answer]}, {"response": response}) == {
        "drop_f1": 0.93,
        "drop_em": 0.0,
    }


@pytest.mark.parametrize("separator", [", ", " and ", "\n"])
def test_a_reply_of_very_many_spans_is_scored(separator):
    reply = separator.join(["word"] * 20_000)
    assert DropF1().score({"answer": reply}, {"response": reply}) == {
        "drop_f1": 1.0,
        "drop_em": 1.0,
    }


def test_the_release_of_drop_has_a_passage_with_all_its_questions():
    empty = {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": []}
    first = {"query_id": "a", "question": "How many?", "answer": {**empty, "number": "0"}}
    second = {
        "query_id": "b",
        "question": "When?",
        "answer": {**empty, "date": {"day": "", "month": "July", "year": "1990"}},
    }
    validated = [{**empty, "spans": ["Ravens", "Colts"]}]
    record = {
        "passage": "P",
        "wiki_url": "u",
        "qa_pairs": [first, {**second, "validated_answers": validated}],
    }
    found = records.drop(record)
    assert [(each["id"], each["context"]) for each in found] == [("a", "P"), ("b", "P")]
    assert [each["answer_spans"] for each in found] == [
        [["0"]],
        [["July 1990"], ["Ravens", "Colts"]],
    ]


@pytest.mark.parametrize(
    "spans",
    [
        {"spans": ["a", "b"], "types": ["span", "date"]},
        [{"spans": "a", "types": "span"}, {"spans": "b"}],
    ],
)
def test_the_flattened_spans_of_drop_may_be_columns_or_rows(spans):
    asked = {"query_id": "a", "passage": "P", "question": "Q"}
    assert records.drop({**asked, "answers_spans": spans})["answer_spans"] == [["a"], ["b"]]


def test_an_answer_of_drop_may_be_a_number_or_a_text():
    asked = {"query_id": "a", "passage": "P", "question": "Q"}
    assert (
        records.drop({**asked, "answer": {"number": 0, "date": None, "spans": None}})["answer"]
        == "0"
    )
    assert records.drop({**asked, "answers": ["swedish", ["a", "b"]]})["answers"] == [
        "swedish",
        "a, b",
    ]


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        ({"answer": None, "answer_number": 1200}, "1200"),
        ({"answer": None, "answer_number": 18.0}, "18"),
        ({"answer": "1,200"}, "1200"),
        ({"answer": "Step-by-Step Answer: 5.", "answer_number": 5}, "5"),
    ],
)
def test_the_number_of_mgsm_is_its_answer(record, answer):
    assert records.mgsm({"question": "Q", **record}, Row(0, "en"))["answer"] == answer


def test_zero_is_an_answer_and_no_level_is_none():
    example = records.math(
        {"problem": "P", "solution": "so $\\boxed{1}$", "answer": 0, "level": None}
    )
    assert (example["answer"], example["level"]) == ("0", "")


@pytest.mark.parametrize("gap", [" ", "\n", "\u00a0", " \n\t"])
def test_a_gap_of_a_hundred_thousand_blanks_parts_spans_as_a_short_one_does(gap: str) -> None:
    """Two thousand took ten seconds."""
    spans = {"answer_spans": [["Smith", "Jones"]]}
    for form in ("Smith,{0}Jones", "Smith{0}and{0}Jones", "{0}Smith;{0}Jones{0}", "Smith{0}^"):
        short, long = (
            DropF1().score(spans, {"response": form.format(gap * times)}) for times in (1, 50_000)
        )
        assert long == short, form
