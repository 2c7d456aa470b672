from __future__ import annotations

import re
from itertools import islice

import pytest

from context_bench_needle import count_tokens, prose
from context_bench_needle.dice import Dice
from context_bench_needle.needles import (
    NEEDLE_TOKENS,
    SHAPE,
    Mint,
    Needle,
    asked_in,
    question_about,
)
from context_bench_needle.words import ADJECTIVES, NOUNS


def test_no_code_word_can_stand_inside_another() -> None:
    assert not [(a, b) for a in ADJECTIVES for b in ADJECTIVES if a != b and b.endswith(a)]
    assert not [(a, b) for a in NOUNS for b in NOUNS if a != b and b.startswith(a)]


@pytest.mark.parametrize("words", [ADJECTIVES, NOUNS], ids=["adjectives", "nouns"])
def test_words_are_plain_and_different(words: tuple[str, ...]) -> None:
    assert len(set(words)) == len(words) > 350
    assert all(re.fullmatch("[a-z]{2,}", word) for word in words)


@pytest.mark.parametrize("kind", ["number", "word", "uuid"])
@pytest.mark.parametrize("words", [10, 10**6])
def test_keys_and_values_have_their_shape_and_never_come_twice(kind: str, words: int) -> None:
    mint, dice = Mint(words), Dice("x")
    made = [mint.make(kind, dice) for _ in range(5000)]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(SHAPE[kind], text) for text in made)
    assert len({count_tokens(text) for text in made}) == 1


def test_uuids_are_of_version_4() -> None:
    mint, dice = Mint(0), Dice("x")
    for _ in range(200):
        assert re.fullmatch(
            "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
            mint.make("uuid", dice),
        )


@pytest.mark.parametrize("kind", ["number", "word", "uuid"])
def test_a_needle_is_as_long_as_it_is_taken_for(kind: str) -> None:
    assert count_tokens(Needle("a", "b", kind).sentence) == NEEDLE_TOKENS + 2


@pytest.mark.parametrize("kind", ["number", "word", "uuid"])
@pytest.mark.parametrize("keys", [["a-b"], ["a-b", "c-d"], ["a-b", "c-d", "e-f"]], ids=len)
def test_a_question_can_be_read_back(kind: str, keys: list[str]) -> None:
    assert asked_in(question_about(keys, kind)) == (keys, kind)


def test_prose_is_as_long_as_it_is_taken_for_and_has_no_digit_or_hyphen() -> None:
    for text, size in islice(prose.sentences(Dice("prose")), 20_000):
        assert count_tokens(text) == size <= prose.LONGEST
        assert re.fullmatch(r"[A-Z][A-Za-z, ]*\.", text)
        assert not re.search(r"\ba [aeiou]", text)


def test_every_word_of_the_grammar_is_one_token() -> None:
    assert all(word.isalpha() for words in prose.LISTS.values() for word in words)
    assert all(len(set(words)) == len(words) for words in prose.LISTS.values())


@pytest.mark.parametrize("tokens", range(60))
def test_any_gap_from_three_tokens_on_is_filled_exactly(tokens: int) -> None:
    parts = list(prose.closers(tokens, Dice("gap")))
    filled = tokens if tokens >= 3 else 0
    assert sum(size for _, size in parts) == sum(count_tokens(text) for text, _ in parts) == filled


def test_closing_sentences_have_the_size_they_are_filed_under() -> None:
    for size, texts in prose.CLOSERS.items():
        assert [count_tokens(text) for text in texts] == [size] * len(texts)
        assert not re.search("[0-9-]", " ".join(texts))
