"""What a terminal shows beside a label is wrapped as textwrap would, without its import, a fifth of an empty start."""

from __future__ import annotations

from random import Random
from textwrap import fill

import pytest

from context_bench.console import wrap_text

PIECES = ("a", "word", "it-is-one-word", " ", " ", "  ", "é", "\n", "\t", "x" * 30, "x" * 90)


@pytest.mark.parametrize("columns", [40, 57, 80, 200])
def test_texts_are_wrapped_as_textwrap_does(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    random = Random(columns)
    for _ in range(2000):
        text = "".join(random.choices(PIECES, k=random.randrange(1, 60))).lstrip()
        label, indent = "L" * random.randrange(15), random.randrange(6)
        head = " " * indent + label.ljust(10)
        expected = fill(
            text,
            width=columns,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
        if text:
            assert wrap_text(label, text, indent) == expected, text


def test_an_empty_text_is_a_dash() -> None:
    assert wrap_text("why", "") == "    why       -"
