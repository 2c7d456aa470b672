"""The cheap tier against exact arithmetic: it never calls different numbers equal, however they are written."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_math import MathEquivalence
from context_bench_math.exact import same
from context_bench_math.numerals import read_numeral
from context_bench_math.reading import read, split

WRITINGS = {
    "plain": str,
    "commas": lambda number: f"{number:,}",
    "point": lambda number: f"{number}.0",
    "boxed": lambda number: rf"\boxed{{{number}}}",
    "dollars": lambda number: f"${number}$",
    "spaced": lambda number: f"{number:,}".replace(",", " "),
    "tex": lambda number: f"{number:,}".replace(",", "{,}"),
    "fraction": lambda number: rf"\frac{{{number}}}{{1}}",
    "assigned": lambda number: f"x = {number}",
    "power": lambda number: rf"{number} \times 10^{{0}}",
    "full width": lambda number: str(number).translate(
        {ord("0") + digit: chr(0xFF10 + digit) for digit in range(10)}
    ),
}
numbers = st.integers(-(10**12), 10**12)
writings = st.sampled_from(sorted(WRITINGS))


@given(numbers, numbers | st.none(), writings, writings)
def test_whole_numbers_are_equal_exactly_if_they_are(left, right, one, other):
    right = left if right is None else right
    assert same(read(WRITINGS[one](left), True), read(WRITINGS[other](right))) is (left == right)


@given(numbers, st.integers(1, 3), writings)
def test_neighbours_are_never_equal(number, step, writing):
    assert same(read(str(number), True), read(WRITINGS[writing](number + step))) is False


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_fractions_are_equal_exactly_if_they_are(left, right):
    slash = f"{left.numerator}/{left.denominator}"
    tex = rf"{'-' * (right < 0)}\frac{{{abs(right.numerator)}}}{{{right.denominator}}}"
    assert same(read(slash, True), read(tex)) is (left == right)


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=10**4), st.integers(0, 12))
def test_a_decimal_equals_a_fraction_if_it_is_its_rounding_to_six_places_or_more(number, places):
    decimal = f"{float(number):.{places}f}"
    expected = Fraction(decimal) == number or (
        "." in decimal and round(Fraction(decimal), 6) == round(number, 6)
    )
    verdict = same(read(f"{number.numerator}/{number.denominator}", True), read(decimal))
    assert verdict is expected or (expected and abs(number) < Fraction(1, 100))


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=300), st.randoms(use_true_random=False))
def test_the_order_of_a_set_and_repetition_do_not_matter(values, chance):
    shuffled = values + chance.sample(values, 1)
    chance.shuffle(shuffled)
    left = r"\{" + ", ".join(map(str, values)) + r"\}"
    right = ", ".join(map(str, shuffled))
    assert same(read(left, True), read(f"{{{right}}}")) is True
    assert same(read(left, True), read(f"{{{right}, 100}}")) is False


@given(
    st.lists(st.integers(-99, 99), min_size=2, max_size=6),
    st.sampled_from(["()", "[]", "(]", "[)"]),
)
def test_the_order_of_a_tuple_and_the_brackets_do_matter(values, brackets):
    inside = ", ".join(map(str, values))
    backwards = ", ".join(map(str, reversed(values)))
    text = brackets[0] + inside + brackets[1]
    assert same(read(text, True), read(text.replace(", ", ","))) in (True, None)
    assert same(read(text, True), read(brackets[0] + backwards + brackets[1])) is (
        values == values[::-1]
    )
    for other in {"()", "[]", "(]", "[)"} - {brackets}:
        assert same(read(text, True), read(other[0] + inside + other[1])) is False


def test_two_hundred_elements_in_any_order_are_decided_here():
    roots = [rf"\sqrt{{{number}}}" for number in range(2, 202)]
    shuffled = random.Random(0).sample(roots, len(roots))
    assert same(read(", ".join(roots), True), read(rf"\{{{', '.join(shuffled)}\}}")) is True
    numbers = ", ".join(map(str, range(200)))
    assert same(read(numbers, True), read(numbers.replace("199", "200"))) is False


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "5x",
        "x^3",
        r"\sqrt{2}",
        "1/0",
        "1//2",
        "7:30",
        "5 or 6",
        "5 - 3",
        "e",
        "1e999",
        "",
        "-",
        ".",
    ],
)
def test_what_is_no_number_is_not_read_as_one(text):
    assert read_numeral(text) is None


@pytest.mark.parametrize(
    ("text", "brackets", "items"),
    [
        ("1,2", "", ["1", "2"]),
        ("(1,000, 2,000)", "()", ["1,000", "2,000"]),
        ("[-36,104]", "[]", ["-36", "104"]),
        ("(1,2),(3,4)", "", ["(1,2)", "(3,4)"]),
        ("(0;0),(0;-2)", "", ["(0;0)", "(0;-2)"]),
        ("p=5,q=2;p=7,q=2", "", ["p=5,q=2", "p=7,q=2"]),
        ("1, 2, and 3", "", ["1", "2", "3"]),
        ("1 or 2", "", ["1", "2"]),
        ("(1)(2)", "", ["(1)(2)"]),
        ("border", "", ["border"]),
    ],
)
def test_lists_are_split(text, brackets, items):
    assert split(text) == (brackets, items)


@given(st.decimals(-1000, 1000, places=5) | st.decimals(-1, 1, places=12))
def test_a_decimal_number_is_handed_on_as_it_was_written(number):
    latex = read_numeral(f"{number:f}").latex()
    assert "." in latex
    assert Fraction(latex) == Fraction(number)


@given(st.fractions())
def test_a_fraction_is_handed_on_exactly(number):
    numeral = read_numeral(f"{number.numerator}/{number.denominator}")
    assert read_numeral(numeral.latex()).value == number


@pytest.mark.parametrize(
    ("reference", "response", "score"),
    [
        ("3", r"\boxed{\text{three}}", 1.0),
        ("12", r"\boxed{\text{twelve dollars}}", 1.0),
        ("21", "The answer is twenty-one.", 1.0),
        ("105", "16 - 7 = 9, so the answer is one hundred and five.", 1.0),
        ("-2", r"\boxed{\text{minus two}}", 1.0),
        ("2342", r"\boxed{\text{two thousand three hundred forty-two}}", 1.0),
        ("3", r"\boxed{\text{threefold}}", 0.0),
        ("1", r"\boxed{\text{one and a half}}", 0.0),
        ("2", r"\boxed{\text{two point five}}", 0.0),
        ("12", r"\boxed{\text{one two}}", 0.0),
        ("3", r"\boxed{\text{thirteen}}", 0.0),
    ],
)
def test_numbers_in_words_are_read_whole(reference: str, response: str, score: float) -> None:
    found = MathEquivalence().score({"answer": reference}, {"response": response})
    assert found == {"math_equiv": score}
