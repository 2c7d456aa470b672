"""Any reference and any response is scored 0.0 or 1.0, or not at all; nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_math import MathEquivalence

FRAGMENTS = [
    *(
        "\\boxed{",
        "\\fbox",
        "\\frac",
        "\\text{",
        "\\sqrt",
        "\\left(",
        "\\right]",
        "\\begin{pmatrix}",
        "\\\\",
        "\\ ",
        "\\",
    ),
    *(
        "{",
        "}",
        "\\{",
        "(",
        ")",
        "[",
        "]",
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "^",
        "_",
        "=",
        "<",
        "<<",
        ">>",
        "<|",
        "|>",
    ),
    *(
        "answer is ",
        "the final answer: ",
        "A: ",
        "#### ",
        "</think>",
        "Antwort ",
        "答案",
        "and ",
        "or ",
        "not ",
        "\n",
        " ",
        ",",
    ),
    *(
        "1",
        "12",
        "0",
        ".5",
        "3.14",
        "1,000",
        "2.125",
        "-",
        "+",
        "/",
        "%",
        "!",
        ";",
        "e",
        "x",
        "i",
        "\\pi",
        "half",
        "million",
        "cm",
    ),
    *("٣", "½", "²", "−", "\x00", "\ud800", "\u202e", "\ufeff", "😀", "é"),
]
soup = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
texts = soup | st.text(st.characters(), max_size=60)
others = st.none() | st.integers() | st.floats() | st.binary() | st.booleans()
values = texts | others | st.lists(others | texts, max_size=3)

expressions = st.recursive(
    st.sampled_from(["x", "n", r"\pi", "2", "17", "0.25", "1,000", "-3", r"\text{ cm}", r"\infty"]),
    lambda inner: st.one_of(
        st.builds(r"\frac{{{}}}{{{}}}".format, inner, inner),
        st.builds(r"\sqrt{{{}}}".format, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("{}^{{{}}}".format, inner, inner),
        st.builds("{} + {}".format, inner, inner),
        st.builds(r"\left[ {}, {} \right)".format, inner, inner),
        st.builds(r"\begin{{pmatrix}} {} \\ {} \end{{pmatrix}}".format, inner, inner),
    ),
    max_leaves=6,
)


class NoAlgebra(MathEquivalence):
    """The evaluator with computer algebra that finds nothing equal, for the many examples of a property."""

    def __init__(self):
        super().__init__()
        self._pool = self

    def compare(self, reference, answer, places):
        from context_bench_math.pool import Outcome

        return Outcome(False)


QUICK = NoAlgebra()


@given(values, values, values)
@settings(max_examples=1500, deadline=None)
def test_any_values_are_scored_or_not(answer, answers, response):
    scores = QUICK.score({"answer": answer, "answers": answers}, {"response": response})
    assert scores in ({}, {"math_equiv": 0.0}, {"math_equiv": 1.0})


@given(soup, soup)
@settings(max_examples=25, deadline=None)
def test_any_texts_are_scored_by_computer_algebra_too(evaluator, answer, response):
    scores = evaluator.score({"answer": answer}, {"response": rf"\boxed{{{response}}}"})
    assert scores in ({}, {"math_equiv": 0.0}, {"math_equiv": 1.0})


@given(
    expressions,
    st.sampled_from([r"\boxed{%s}", "The answer is $%s$.", "$%s$", "#### %s", r"Thus \[ %s \]"]),
)
@settings(max_examples=500, deadline=None)
def test_an_expression_equals_itself_wherever_it_stands(expression, shape):
    assert QUICK.score({"answer": expression}, {"response": shape % expression}) == {
        "math_equiv": 1.0
    }


@pytest.mark.one_python
@pytest.mark.parametrize(
    "unit",
    ["9", "1 ", "(", "{", "\\frac{", "\\boxed{", "$", "1,", "x=", "answer is ", "^", "\ud800", "۳"],
)
def test_texts_of_ten_megabytes_are_scored(unit):
    long = unit * (10_000_000 // len(unit))
    assert QUICK.score({"answer": "5"}, {"response": long}) == {"math_equiv": 0.0}
    assert QUICK.score({"answer": long}, {"response": "5"}) == {"math_equiv": 0.0}


@pytest.mark.parametrize("unit", ["~", "$$", "\\,"])
def test_blanks_by_the_thousand_in_a_box_are_read_in_one_pass(unit):
    """Where a degree sign was looked for behind each of them again, these took a quarter of a minute."""
    boxed = f"\\boxed{{5{unit * (49_000 // len(unit))}x}}"
    assert QUICK.score({"answer": "5"}, {"response": boxed}) == {"math_equiv": 0.0}
