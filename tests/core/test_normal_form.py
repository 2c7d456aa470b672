"""The normal form of texts: Python's own, however many marks stand on a letter."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_bench.answers import nfkc, signs

MARKS = "".join(
    map(
        chr,
        (0x301, 0x316, 0x344, 0xF73, 0xFF9E, 0xFF9F, 0x3099, 0x59C, 0x302B, 0x1D165, 0x327, 0x20DD),
    )
)
SIGNS = st.sampled_from(
    [
        *MARKS,
        "é",
        "a",
        "Ｋ",
        "が",
        "カ",
        "—",
        "①",
        "㎏",
        "ﬁ",
        "\ud800",
        "\u0fb2",
        "각",
        "ᄀ",
        "ᅡ",
        "\n",
    ]
)


@given(
    st.lists(st.tuples(SIGNS, st.integers(1, 60)), max_size=12).map(
        lambda runs: "".join(s * n for s, n in runs)
    )
)
@example("a" + "\u0301\u0316" * 200)
@example("は" + "\uff9e\u0301\u0316" * 50 + "é" + "\u0f73\u0301" * 20)
def test_the_normal_form_is_that_of_python(text: str) -> None:
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("start", range(0, sys.maxunicode + 1, 0x10000))
def test_every_sign_that_comes_apart_into_marks_is_put_in_order_with_them(start: int) -> None:
    for code in range(start, start + 0x10000):
        if unicodedata.combining(unicodedata.normalize("NFKD", chr(code))[0]):
            assert signs._CROWD.fullmatch(chr(code) * 32), hex(code)


def test_python_is_given_many_marks_in_order() -> None:
    """It takes time by the square of those that are not: minutes for these."""
    text = "a" + "\u0301\u0316\uff9e" * 50_000
    found = [unicodedata.combining(sign) for sign in signs._CROWD.sub(signs._in_order, text)]
    assert found == sorted(found)
    assert nfkc(text).startswith("á\u3099\u3099")
    assert re.sub("\u0301", "", nfkc(text))[-1] == "\u0316"
