"""The ratio of alike texts: difflib's, to the last bit, whatever the texts are, and quickly."""

from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from context_bench_long_context import LongBench, similarity
from context_bench_long_context.similarity import ratio

ALPHABETS = [
    "ab",
    "abcd",
    "abcdefghijklmnopqrstuvwxyz ()_=.,",
    "".join(map(chr, range(0x4E00, 0x4F90))),
]
WORDS = st.sampled_from(
    ["for ", "in ", "range(", "x", ")", " = ", "self.", "0", "\n", "é", "\ud800", ""]
)


def reference(ours: str, theirs: str) -> float:
    return SequenceMatcher(None, ours, theirs).ratio()


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=80).map("".join), st.lists(WORDS, max_size=80).map("".join))
@example("", "")
@example("", "a")
@example("ab", "ba")
@example("a" * 300, "a" * 300)
@example("ab" * 40, "ba" * 130)
def test_the_ratio_of_any_two_texts_is_that_of_difflib(ours: str, theirs: str) -> None:
    assert ratio(ours, theirs) == reference(ours, theirs)
    assert ratio(theirs, ours) == reference(theirs, ours)


@pytest.mark.parametrize("seed", range(40))
def test_the_ratio_of_long_texts_is_that_of_difflib_with_letters_that_begin_no_block(
    seed: int,
) -> None:
    """From 200 letters on difflib lets no block begin with a letter that makes up more than a hundredth."""
    draw = random.Random(seed)
    letters = draw.choice(ALPHABETS)
    ours = "".join(draw.choice(letters) for _ in range(draw.choice([150, 199, 200, 450])))
    changed = "".join(
        letter if draw.random() > 0.1 else draw.choice(letters) * draw.choice([0, 1, 2])
        for letter in ours
    )
    turned = ours[len(ours) // 2 :] + ours[: len(ours) // 2]
    for theirs in (changed, turned, ours[::-1], (ours + "x") * 3):
        assert ratio(ours, theirs) == reference(ours, theirs)


def test_a_long_line_is_looked_through_once_for_each_length_of_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """difflib looks through it once for each of the answer's 199 letters, which takes 20 seconds."""
    passes: list[int] = []
    look = similarity._Matching._shared
    monkeypatch.setattr(
        similarity._Matching,
        "_shared",
        lambda self, length: passes.append(length) or look(self, length),
    )
    draw = random.Random(5)
    answer = "".join(draw.choice("ab") for _ in range(199))
    line = "".join(letter + "c" for letter in answer) * 100
    assert LongBench("lcc").score({"answers": [answer]}, {"response": line}) == {
        "longbench_score": 0.01
    }
    assert len(passes) < 30
    assert ratio(line[:2_000], answer) == reference(line[:2_000], answer)
