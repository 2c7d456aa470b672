from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_code import pass_at_k


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        pytest.param(10, 3, 1, 0.3, id="one draw is the share that passed"),
        pytest.param(10, 3, 5, 0.9167, id="five draws"),
        pytest.param(10, 3, 8, 1.0, id="more draws than failures"),
        pytest.param(200, 0, 100, 0.0, id="nothing passed"),
        pytest.param(5, 5, 1, 1.0, id="everything passed"),
        pytest.param(1, 1, 1, 1.0, id="a single sample"),
    ],
)
def test_the_estimate_has_the_known_values(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=5e-5)


@given(
    st.integers(1, 300).flatmap(
        lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
    )
)
def test_the_product_equals_the_quotient_of_binomials(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    assert pass_at_k(n, c, k) == pytest.approx(
        float(1 - Fraction(comb(n - c, k), comb(n, k))), abs=1e-12
    )


def test_a_million_samples_neither_overflow_nor_take_long() -> None:
    assert pass_at_k(10**6, 1, 10**5) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("n", "c", "k", "complaint"),
    [
        (10, 11, 1, "11 of 10 samples passed"),
        (10, -1, 1, "-1 of 10 samples passed"),
        (10, 3, 11, "cannot draw 11 of 10"),
        (10, 3, 0, "cannot draw 0 of 10"),
        (0, 0, 1, "cannot draw 1 of 0"),
        (10, 3, 1.5, "whole numbers, not n=10, c=3, k=1.5"),
        (10.5, 3, 1, "whole numbers, not n=10.5"),
    ],
)
def test_impossible_numbers_are_refused(n: Any, c: int, k: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        pass_at_k(n, c, k)
