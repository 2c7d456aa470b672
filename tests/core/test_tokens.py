from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_bench.protocols import Tokenizer
from context_bench.tokens import WordTokenizer, count_fields

COUNT = WordTokenizer().count


@given(st.text(st.characters(max_codepoint=127)) | st.text(st.characters()))
@example("_a__b \x1c\x1d.\x85")
@example("a" * 1000 + "!" * 1000)
@example("日本語 naïve ½ \ud800 \x00")
def test_the_count_is_that_of_the_regular_expression(text: str) -> None:
    assert COUNT(text) == len(re.findall(r"\w+|[^\w\s]", text))


def test_it_is_a_tokenizer() -> None:
    assert isinstance(WordTokenizer(), Tokenizer)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"context": "a b", "question": "c"}, 3),
        ({"context": "a b", "question": "a b"}, 2),
        ({"context": ["a b", "c"], "answer": "x y z"}, 3),
        (
            {
                "messages": [
                    {"role": "user", "content": "a b"},
                    {"role": "assistant", "content": [{"text": 1}]},
                ]
            },
            2,
        ),
        ({"context": None, "question": 5, "turns": ["a", "b"]}, 2),
        ({}, 0),
    ],
)
def test_only_the_prompt_is_counted_and_nothing_twice(
    fields: dict[str, object], expected: int
) -> None:
    assert (
        count_fields(WordTokenizer(), fields, ("context", "question", "turns", "messages"))
        == expected
    )


@given(st.lists(st.text(alphabet="aB_9 .,-\t\r\x0b\x1cé–", max_size=12), max_size=6))
def test_many_lines_are_counted_as_one_by_one(lines: list[str]) -> None:
    assert WordTokenizer().counts(lines) == list(map(COUNT, lines))
