"""The common subsequence on bits against the table of the textbooks."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_rouge import lcs, lcs_length
from context_bench_rouge.lcs import own_lcs_length, union_lcs

WORDS = st.lists(st.sampled_from("abcde"), max_size=40)


def table(reference, other):
    rows = [[0] * (len(other) + 1)]
    for word in reference:
        row = [0]
        for column, candidate in enumerate(other):
            same = rows[-1][column] + 1
            row.append(same if word == candidate else max(rows[-1][column + 1], row[-1]))
        rows.append(row)
    return rows


def union_by_tables(reference, others):
    """For each other text one path back through its table; on a tie to the row above, as rouge-score has it."""
    union = set()
    for other in others:
        lengths, i, j = table(reference, other), len(reference), len(other)
        while i and j:
            if reference[i - 1] == other[j - 1]:
                i, j = i - 1, j - 1
                union.add(i)
            elif lengths[i][j - 1] > lengths[i - 1][j]:
                j -= 1
            else:
                i -= 1
    return [reference[i] for i in sorted(union)]


@given(WORDS, WORDS)
def test_the_length_equals_that_of_the_table(first, second):
    assert (
        lcs_length(first, second) == own_lcs_length(first, second) == table(first, second)[-1][-1]
    )


@given(WORDS, WORDS)
def test_rapidfuzz_gives_the_same_length(first, second):
    fast = pytest.importorskip(
        "rapidfuzz.distance.LCSseq", reason="the extra `fast` is not installed"
    )
    assert fast.similarity(first, second) == own_lcs_length(first, second)


@given(WORDS, st.lists(WORDS, max_size=4))
def test_the_union_equals_that_of_the_tables(reference, others):
    assert union_lcs(reference, others) == union_by_tables(reference, others)


def test_3000_random_pairs_of_the_sizes_of_summaries():
    rng = random.Random(4)
    for _ in range(3000):
        vocabulary = range(rng.choice([3, 30, 300]))
        first, second = (
            [str(rng.choice(vocabulary)) for _ in range(rng.randint(0, 60))] for _ in range(2)
        )
        assert lcs_length(first, second) == table(first, second)[-1][-1]


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [
        pytest.param("", "", 0, id="nothing"),
        pytest.param("abc", "", 0, id="nothing on one side"),
        pytest.param("abc", "abc", 3, id="the same"),
        pytest.param("abc", "cba", 1, id="the reverse"),
        pytest.param("aaaa", "aa", 2, id="one word repeated"),
        pytest.param("xaby", "xcdy", 2, id="common ends only"),
        pytest.param("aba", "ba", 2, id="ends that overlap"),
    ],
)
def test_known_lengths(first, second, length):
    assert lcs_length(list(first), list(second)) == length


def test_texts_longer_than_a_block_of_rows():
    rng = random.Random(7)
    sentence, other = ([rng.choice("abcdefghij") for _ in range(length)] for length in (40, 2500))
    assert union_lcs(sentence, [other, other[:1100]]) == union_by_tables(
        sentence, [other, other[:1100]]
    )
    assert union_lcs(other, [sentence]) == union_by_tables(other, [sentence])
    longer = other + [str(number) for number in range(10_000)] + other
    assert union_lcs(longer, [sentence[:9], ["z"]]) == union_by_tables(longer, [sentence[:9]])


def test_the_bits_of_a_long_text_are_those_of_a_short_one():
    rng = random.Random(8)
    tokens = [str(rng.randrange(50)) for _ in range(10_100)]
    positions = lcs._positions(tokens)
    assert {token: bits & (1 << 9000) - 1 for token, bits in positions.items()} == lcs._positions(
        tokens[:9000]
    )


def test_ten_thousand_words_a_side_need_little_memory():
    rng = random.Random(5)
    first, second = ([str(rng.randrange(5000)) for _ in range(10_000)] for _ in range(2))
    tracemalloc.start()
    try:
        lcs_length(first, second)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000
