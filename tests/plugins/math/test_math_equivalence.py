"""The rules of the evaluator, through the front door: what is equal, what is not, and what is not scored."""

from __future__ import annotations

import copy
import math
import pickle
import threading

import pytest

from context_bench_math import MathEquivalence

EQUAL = [
    # exact forms of one number
    ("0.5", r"\frac{1}{2}"),
    ("0.5", r"\frac12"),
    ("0.5", r"\dfrac{1}{2}"),
    ("0.5", r"\tfrac12"),
    ("-0.5", r"-\frac{1}{2}"),
    (r"-\frac{1}{2}", "-0.5"),
    (r"\frac{-1}{2}", "-1/2"),
    ("3/4", "¾"),
    ("2.5", "2 1/2"),
    ("5/2", r"2\frac{1}{2}"),
    ("2.5", "2½"),
    ("1000", "1,000"),
    ("1,000", "1000"),
    ("1000000", r"1{,}000{,}000"),
    ("1000000", r"1\,000\,000"),
    ("11111", r"11,\! 111"),
    ("1234", "1 234"),
    ("125000", "1,25,000"),
    ("12345", "12,345.00"),
    ("1000", "1e3"),
    ("1e3", "1000"),
    ("1500", r"1.5 \times 10^{3}"),
    ("1500", "1.5 × 10^3"),
    ("1000000", "10^6"),
    ("7", "7.0"),
    ("7", "007"),
    ("-3", "−3"),
    ("1/3", "0.333333"),
    ("0.333333", "1/3"),
    ("2.5", "2,5"),
    ("1.22", "1,22"),
    # percent
    ("10%", "0.1"),
    ("10%", "10"),
    ("0.1", "10%"),
    ("10", r"10\%"),
    ("50", "50 percent"),
    ("50", "50 per cent"),
    # currency and units
    (r"\$5", "5"),
    ("5", r"\$5"),
    ("5", "$5"),
    ("5", "$5.00 each"),
    ("5", "US$5"),
    ("5.5", "5.50€"),
    ("5", "5 dollars"),
    ("5 dollars", "5"),
    ("5 dollars", "$5"),
    ("18", "18 eggs per day"),
    ("15", r"15\mbox{ cm}^2"),
    ("5", "5m"),
    ("30", "30 s"),
    (r"2\sqrt{3}", r"2\sqrt3 \text{ cm}"),
    ("90^\\circ", "90"),
    ("90", "90°"),
    ("90", "90 degrees"),
    ("5000000", "$5 million"),
    ("5 million", "5000000"),
    # assignments, sets, tuples, intervals
    ("5", "x=5"),
    ("x=5", "5"),
    ("2x+3", "$y=2x+3$"),
    ("9", "16 - 3 - 4 = 9"),
    ("{1,2}", "1,2"),
    ("1,2", "{2,1}"),
    ("1,2", r"\{2, 1\}"),
    (r"\{1,2,3\}", "1, 2, and 3"),
    ("2,3", "x = 2 or x = 3"),
    ("2,3", "$x=2$ or $x=3$"),
    ("(1,2)", "( 1 , 2.0 )"),
    (r"1,\sqrt{4}", "1,2"),
    ("(3,\\frac{\\pi}{2})", r"\left(3, \frac{\pi}{2}\right)"),
    ("[0,1)", r"\left[0, 1\right)"),
    (r"(-\infty,2)\cup(3,\infty)", r"(-\infty, 2) \cup (3, \infty)"),
    ("[-2,7]", r"x \in [-2,7]"),
    ("(0.5, 0.25)", r"(\frac12, \frac14)"),
    # symbols
    ("x^2+2x+1", "$(x+1)^2$"),
    (r"3\sqrt{13}", r"\sqrt{117}"),
    (r"\frac{\sqrt{3}}{2}", r"\frac{\sqrt3}{2}"),
    (r"2\pi", "2π"),
    ("6-5i", "-5i+6"),
    (r"x \leq 5", r"$5 \geq x$"),
    ("120", "5!"),
    (r"1-\frac{1}{\mathrm{e}}", r"1-\frac1e"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    # words
    (r"\text{Evelyn}", "Evelyn"),
    ("Evelyn", r"\text{evelyn}"),
    (r"\text{(C)}", "C"),
    ("7:30", "7:30"),
    ("204_5", "204_{5}"),
    # decimals that repeat, and times
    (r"\frac{4}{11}", r"0.\overline{36}"),
    (r"0.\overline{36}", "4/11"),
    (r"0.1\overline{6}", "$0.1\\bar6$"),
    (r"0.\overline{142857}", r"0.\dot{1}4285\dot{7}"),
    (r"0.\overline{3}", "0.(3)"),
    (r"0.\overline{3}", "0.333333"),
    ("1/3", r"33.\overline{3}\%"),
    (r"\frac{x}{3}", r"0.\overline{3}x"),
    ("1/3, 2/3", r"\{0.\overline{3},0.\overline{6}\}"),
    (r"10:30\text{ p.m.}", "10:30 PM"),
    ("9 a.m.", "09:00 AM"),
    ("3:00 p.m.", "15:00"),
    ("15:45", "3:45 pm"),
    ("12:30 a.m.", "0:30"),
    ("12:30 a.m.", "00:30"),
    ("12 p.m.", "12:00"),
    ("9:05 p.m.", "9:05"),
]

DIFFERENT = [
    ("12", "1,2"),
    ("1,2", "12"),
    ("1,2", "1.2"),
    ("12", "1 2"),
    ("100000000", "100000001"),
    ("1/3", "0.333"),
    ("1/3", "0.3333"),
    ("1/1000000", "1/1000001"),
    ("0.0000001", "0.0000002"),
    ("0", "0.0000001"),
    ("3", "-3"),
    ("3.14", "3.15"),
    ("0.1", "10"),
    ("10", "0.1"),
    ("10%", "1000%"),
    ("10%", "1"),
    ("2125", "2.125"),
    ("5", "5 million"),
    ("5 cm", "5 m"),
    ("5 dollars", "5 cents"),
    ("5", "5x"),
    ("5", "5t"),
    ("5t", "5"),
    ("5m", "5"),
    (r"\frac{a}{b}", r"\frac{a}{b}c"),
    ("5", "x+5"),
    ("5", "5 or 6"),
    ("5", "5, 6"),
    ("5", "5^2"),
    ("5", r"\sqrt{5}"),
    ("5", r"5\pi"),
    ("(1,2)", "(2,1)"),
    ("[1,2]", "(1,2)"),
    ("(1,2)", "[1,2]"),
    ("[0,1)", "[0,1]"),
    ("(1,2)", "(1,2,3)"),
    ("{1,2}", "{1,3}"),
    ("{1,2}", "{1,2,3}"),
    ("{1,2,3}", "{1,2}"),
    (r"(3,\pi)", r"(4,\pi)"),
    ("32349", "32, 349"),
    (r"\pi", "3.14159"),
    (r"\sqrt{2}", "1.41"),
    (r"4\sqrt{2}", "4"),
    ("x^2", "x^3"),
    ("x=5", "x=6"),
    ("x<5", "x>5"),
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}"),
    (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 3 \end{pmatrix}"),
    ("204_5", "204_6"),
    ("7:30", "7:31"),
    ("odd", "even"),
    ("d", "E"),
    ("2", "AZYUK2A"),
    (r"0.\overline{3}", r"0.\overline{7}"),
    (r"0.\overline{3}", r"0.\bar{7}"),
    (r"0.\overline{3}", "0.33"),
    (r"0.\overline{36}", r"0.3\overline{6}"),
    (r"0.\overline{3}x", r"0.\overline{7}x"),
    (r"(1, 0.\overline{3})", r"(1, 0.\overline{7})"),
    ("10 a.m.", "10 p.m."),
    (r"10:30\text{ p.m.}", r"10:30\text{ a.m.}"),
    ("3 a.m.", "15:00"),
    ("12 a.m.", "12 p.m."),
    ("3:05 p.m.", "3:50 p.m."),
    ("3:05 p.m.", "15:50"),
]


@pytest.mark.parametrize(("reference", "answer"), EQUAL)
def test_these_are_equal(score, reference, answer):
    assert score(reference, answer) == 1.0
    assert score(reference, rf"Therefore the result is \boxed{{{answer}}}.") == 1.0


@pytest.mark.parametrize(("reference", "answer"), DIFFERENT)
def test_these_are_not_equal(score, reference, answer):
    assert score(reference, answer) == 0.0
    assert score(reference, rf"Therefore the result is \boxed{{{answer}}}.") == 0.0


@pytest.mark.parametrize(
    ("reference", "response"),
    [
        ("2125", "2,125"),
        ("2125", "La réponse est 2 125."),
        ("2125", "La réponse est 2\u202f125 dollars."),
        ("2125", "Die Antwort ist 2.125."),
        ("2125", "La respuesta es 2.125 dólares."),
        ("2125", "答えは2,125です。"),
        ("2125", "答案是２，１２５。"),
        ("2125", "উত্তর হল ২১২৫।"),
        ("2125", "คำตอบคือ 2,125"),
        ("2125", "Ответ: 2 125"),
        ("2125", "Jibu ni 2,125."),
        ("2125", "సమాధానం 2125."),
        ("1234567", "1.234.567"),
        ("1234.5", "1.234,5 Euro"),
        ("18", "所以她每天赚18美元。"),
        ("50000", "5万"),
        (2125, "2125"),
        ("2,125", "2125"),
        (2125.0, "2,125"),
    ],
)
def test_numbers_of_other_languages_are_read(score, reference, response):
    assert score(reference, response) == 1.0


def test_the_language_of_the_example_says_that_a_point_separates_thousands(evaluator):
    response = {"response": "Sie verdient 2.125 Dollar."}
    assert evaluator.score({"answer": "2125", "language": "de"}, response)["math_equiv"] == 1.0
    assert evaluator.score({"answer": "2125", "language": "en"}, response)["math_equiv"] == 0.0


def test_the_best_of_several_references_counts(evaluator):
    response = {"response": "The answer is 0.75."}
    assert (
        evaluator.score({"answers": ["1/4", r"\frac{3}{4}"], "answer": "1/4"}, response)[
            "math_equiv"
        ]
        == 1.0
    )
    assert (
        evaluator.score({"answers": ["x+1", r"(x-1)^2"]}, {"response": "x^2-2x+1"})["math_equiv"]
        == 1.0
    )
    assert evaluator.score({"answers": ["1/4", "x+1"]}, response)["math_equiv"] == 0.0


def test_answer_counts_where_answers_holds_nothing(evaluator):
    for answers in ([], None, [None, "  "], ()):
        assert (
            evaluator.score({"answers": answers, "answer": "5"}, {"response": "5"})["math_equiv"]
            == 1.0
        )


@pytest.mark.parametrize(
    "original",
    [
        {},
        {"answer": None},
        {"answer": ""},
        {"answer": " \n"},
        {"answer": [["5"]]},
        {"answer": b"\xff"},
        {"answer": math.nan},
    ],
    ids=str,
)
def test_without_a_reference_nothing_is_scored(evaluator, original):
    assert evaluator.score(original, {"response": "5"}) == {}


@pytest.mark.parametrize(
    "processed", [{}, {"response": None}, {"response": b"\xff"}, {"response": ["5"]}], ids=str
)
def test_without_a_response_nothing_is_scored(evaluator, processed):
    assert evaluator.score({"answer": "5"}, processed) == {}


@pytest.mark.parametrize(
    "response", ["", "  \n", "I do not know.", r"\boxed{}", "####", "The answer is"]
)
def test_a_response_without_an_answer_is_wrong(evaluator, response):
    assert evaluator.score({"answer": "5"}, {"response": response}) == {"math_equiv": 0.0}


def test_a_response_that_is_a_number_is_read(evaluator):
    assert evaluator.score({"answer": 5}, {"response": 5.0}) == {"math_equiv": 1.0}


def test_the_details_say_what_was_extracted_by_which_rule_and_who_decided(evaluator):
    scores = evaluator.score({"answer": "18"}, {"response": "So the answer is $18.00 per day."})
    assert scores.details == {"extracted": "$18.00 per day", "rule": "stated", "tier": "exact"}
    scores = evaluator.score(
        {"answer": "Evelyn"}, {"response": "She ran 5 miles. The answer is Evelyn."}
    )
    assert scores.details == {"extracted": "Evelyn", "rule": "stated", "tier": "exact"}
    scores = evaluator.score({"answer": "x(x+1)"}, {"response": r"\boxed{x^2+x}"})
    assert scores.details == {"extracted": "x^2+x", "rule": "boxed", "tier": "symbolic"}


def test_decimal_places_are_an_option():
    rough = MathEquivalence(decimal_places=2)
    assert rough.score({"answer": "1/3"}, {"response": "0.33"}) == {"math_equiv": 1.0}
    assert rough.score({"answer": "1/3"}, {"response": "0.34"}) == {"math_equiv": 0.0}
    assert rough.score({"answer": "100000000"}, {"response": "100000001"}) == {"math_equiv": 0.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"decimal_places": -1},
            "decimal_places of MathEquivalence must be a whole number from 0 to 15, not -1",
        ),
        ({"decimal_places": 2.5}, "decimal_places .* not 2.5"),
        ({"decimal_places": True}, "decimal_places .* not True"),
        ({"timeout": 0}, "timeout of MathEquivalence must be a number from 0.01 to 3600, not 0"),
        ({"timeout": math.nan}, "timeout .* not nan"),
        ({"timeout": "1"}, "timeout .* not '1'"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MathEquivalence(**options)


def test_the_fingerprint_holds_what_can_change_a_score():
    fingerprint = MathEquivalence(decimal_places=4, timeout=2).fingerprint()
    assert (fingerprint["decimal_places"], fingerprint["timeout"]) == (4, 2.0)
    assert fingerprint["math-verify"].startswith("0.9")
    assert {"latex2sympy2-extended", "sympy"} <= fingerprint.keys()


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_copies_score_alike(duplicate):
    original = MathEquivalence(decimal_places=3)
    twin = duplicate(original)
    assert twin.fingerprint() == original.fingerprint()
    assert twin.score({"answer": "x+x"}, {"response": "2x"}) == {"math_equiv": 1.0}


def test_many_threads_get_the_verdicts_that_one_gets(evaluator):
    rows = [(f"(x+{n})^2", rf"\boxed{{x^2+{2 * n}x+{n * n + n % 2}}}") for n in range(1, 17)]
    verdicts = {}

    def work(place):
        reference, response = rows[place]
        verdicts[place] = evaluator.score({"answer": reference}, {"response": response})[
            "math_equiv"
        ]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(rows))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [verdicts[place] for place in range(len(rows))] == [
        float(n % 2 == 0) for n in range(1, 17)
    ]
