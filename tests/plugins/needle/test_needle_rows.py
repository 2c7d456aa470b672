from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_needle import RULER_NAMES, TASKS, count_tokens, needle

KINDS = ("word", "number", "uuid")
NEEDLE = re.compile(r"One (?:access number|code word|serial id) registered for (\S+) is (\S+)\.")


def haystack_offset(context: str, value: str) -> tuple[int, int]:
    """Tokens of the haystack before the needle of a value, and of the whole haystack."""
    at = next(found.start() for found in NEEDLE.finditer(context) if found[2] == value)
    return count_tokens(NEEDLE.sub("", context[:at])), count_tokens(NEEDLE.sub("", context))


@pytest.mark.parametrize("config", [*TASKS, *RULER_NAMES])
@pytest.mark.parametrize("length", [200, 777, 4000])
def test_a_context_has_exactly_the_length_asked_for(config: str, length: int) -> None:
    for row in needle(4, config, length=length):
        assert count_tokens(row["context"]) == row["length"] == length


@pytest.mark.parametrize("haystack", ["prose", "noise", "needles"])
def test_a_million_tokens_are_exact_too(haystack: str) -> None:
    (row,) = needle(1, "multi-query", length="1m", haystack=haystack)
    assert count_tokens(row["context"]) == 1_000_000
    assert [row["context"].count(value) for value in row["needles"]] == [1, 1, 1, 1]


def test_words_of_three_parts_come_where_pairs_would_run_short() -> None:
    (row,) = needle(1, length="1m", haystack="needles", value_kind="word")
    assert re.fullmatch("[a-z]+-[a-z]+-[a-z]+", row["answer"])
    assert count_tokens(row["context"]) == 1_000_000
    assert row["context"].count(row["answer"]) == 1


@pytest.mark.parametrize(
    ("config", "keys", "values", "asked"),
    [
        ("single", 1, 1, 1),
        ("single-noise", 1, 1, 1),
        ("single-uuid", 1, 1, 1),
        ("multi-key", 4, 1, 1),
        ("multi-value", 1, 4, 1),
        ("multi-query", 4, 1, 4),
    ],
)
def test_a_configuration_hides_as_many_needles_as_rulers_task(
    config: str, keys: int, values: int, asked: int
) -> None:
    for row in needle(5, config, length=1000):
        hidden = NEEDLE.findall(row["context"])
        assert len(hidden) == keys * values
        assert len({key for key, _ in hidden}) == keys
        assert len(row["needles"]) == asked * values
        assert {value for key, value in hidden if key in row["keys"]} == set(row["needles"])
        assert all(key in row["question"] for key in row["keys"])
        assert row["answer"] == ", ".join(row["needles"])


@pytest.mark.parametrize(
    ("config", "shape"), [("multi-key-needles", "[0-9]{7}"), ("multi-key-uuid", "[0-9a-f-]{36}")]
)
def test_a_haystack_of_needles_is_all_distractors(config: str, shape: str) -> None:
    (row,) = needle(1, config, length=2000)
    hidden = NEEDLE.findall(row["context"])
    rest = count_tokens(NEEDLE.sub("", row["context"]))
    assert rest < 30
    assert (
        len({key for key, _ in hidden}) == len({value for _, value in hidden}) == len(hidden) > 60
    )
    assert all(re.fullmatch(shape, value) for _, value in hidden)


@settings(max_examples=60, deadline=None)
@given(
    keys=st.integers(1, 6),
    values=st.integers(1, 4),
    queries=st.integers(1, 6),
    key_kind=st.sampled_from(KINDS),
    value_kind=st.sampled_from(KINDS),
    haystack=st.sampled_from(["prose", "noise", "needles"]),
    seed=st.integers(-(10**12), 10**12),
)
def test_every_value_occurs_once_and_in_no_other_value(
    keys: int, values: int, queries: int, key_kind: str, value_kind: str, haystack: str, seed: int
) -> None:
    shape = {"keys": max(keys, queries), "values": values, "queries": queries}
    (row,) = needle(
        1, length=900, seed=seed, key_kind=key_kind, value_kind=value_kind, haystack=haystack, **shape
    )  # fmt: skip
    assert count_tokens(row["context"]) == 900
    assert len(row["needles"]) == queries * values
    hidden = NEEDLE.findall(row["context"])
    for value in row["needles"]:
        assert row["context"].count(value) == 1
        assert value not in row["question"]
        assert sum(value in other for _, other in hidden) == 1


@settings(max_examples=80, deadline=None)
@given(
    depth=st.floats(0, 100, allow_nan=False),
    length=st.integers(60, 3000),
    seed=st.integers(0, 10**6),
    haystack=st.sampled_from(["prose", "noise", "needles"]),
)
def test_a_needle_stands_at_the_boundary_nearest_to_its_depth(
    depth: float, length: int, seed: int, haystack: str
) -> None:
    (row,) = needle(1, length=length, depth=depth, seed=seed, haystack=haystack)
    before, total = (
        haystack_offset(row["context"], row["answer"])
        if haystack != "needles"
        else _line_offset(row)
    )
    target = total * row["depth"] / 100
    boundaries = _boundaries(row)
    after = min(bisect_left(boundaries, target), len(boundaries) - 1)
    assert before in boundaries
    assert abs(before - target) == min(
        abs(boundaries[after] - target), abs(boundaries[max(after - 1, 0)] - target)
    )


def _sentences(row: dict[str, object]) -> list[str]:
    return re.findall(r"[^.]*\.", str(row["context"]))


def _boundaries(row: dict[str, object]) -> list[int]:
    offsets = [0]
    for sentence in _sentences(row):
        if str(row["answer"]) not in sentence:
            offsets.append(offsets[-1] + count_tokens(sentence))
    return offsets


def _line_offset(row: dict[str, object]) -> tuple[int, int]:
    sentences = _sentences(row)
    at = next(index for index, sentence in enumerate(sentences) if str(row["answer"]) in sentence)
    sizes = [count_tokens(sentence) for sentence in sentences]
    return sum(sizes[:at]), sum(sizes) - sizes[at]


@pytest.mark.parametrize("config", TASKS)
def test_depth_0_is_the_beginning_and_depth_100_the_end(config: str) -> None:
    first, last = needle(
        2, config, length=600, depth=[0, 100], keys=4 if config == "multi-query" else 1
    )
    assert NEEDLE.match(first["context"])
    assert NEEDLE.findall(first["context"])[0][1] == first["needles"][0]
    assert NEEDLE.findall(last["context"])[-1][1] == last["needles"][-1]
    assert last["context"].endswith(f"{last['needles'][-1]}.")


def test_uniform_depths_cover_the_context_evenly_from_the_first_rows_on() -> None:
    depths = [row["depth"] for row in needle(32, length=100)]
    assert sorted(int(depth // 12.5) % 8 for depth in depths[:8]) == list(range(8))
    assert sorted(int(depth // 3.125) % 32 for depth in depths) == pytest.approx(
        list(range(32)), abs=1
    )
    assert depths != [row["depth"] for row in needle(32, length=100, seed=1)]


def test_needles_of_one_row_stand_at_depths_of_their_own() -> None:
    rows = list(needle(20, "multi-query", length=3000))
    assert all(row["depth"] is None and len(set(row["depths"])) > 1 for row in rows)
    for row in rows:
        for value, depth in zip(row["needles"], row["depths"]):
            before, total = haystack_offset(row["context"], value)
            assert before / total * 100 == pytest.approx(depth, abs=1)


def test_lengths_and_depths_take_turns() -> None:
    rows = list(needle(8, lengths=[200, 400], depth=["0", "50", 100]))
    assert [(row["length"], row["depth"], row["index"]) for row in rows] == [
        (200, 0, 0),
        (400, 0, 0),
        (200, 50, 1),
        (400, 50, 1),
        (200, 100, 2),
        (400, 100, 2),
        (200, 0, 3),
        (400, 0, 3),
    ]


def test_a_row_asks_the_same_question_at_every_length_and_depth() -> None:
    rows = list(needle(6, "multi-key", lengths=[200, 2000, 9000]))
    assert len({(row["question"], row["answer"]) for row in rows[:3]}) == 1
    assert len({row["question"] for row in rows}) == 2
    (deep,) = needle(1, "multi-key", length=200, depth=100)
    assert (deep["question"], deep["answer"]) == (rows[0]["question"], rows[0]["answer"])


def test_a_row_is_the_same_whatever_stands_beside_it() -> None:
    alone = list(needle(3, length=500, seed=4))
    among = [row for row in needle(9, lengths=[100, 500, 900], seed=4) if row["length"] == 500]
    in_all = [row for row in needle(24, "all", length=500, seed=4) if row["task"] == "single"]
    assert alone == among == in_all


def test_all_has_the_eight_tasks_in_turn() -> None:
    rows = list(needle(16, "all", length=300))
    assert [row["task"] for row in rows] == [*TASKS, *TASKS]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"limit": 7}, 7),
        ({"limit": 0}, 0),
        ({}, 100),
        ({"lengths": [60, 80]}, 200),
        ({"lengths": [60, 80], "per_length": 3}, 6),
        ({"config": "all", "length": 100, "per_length": 2}, 16),
        ({"limit": 250, "length": 60}, 250),
    ],
    ids=str,
)
def test_there_are_as_many_rows_as_asked_for(arguments: dict[str, object], count: int) -> None:
    rows = list(needle(**arguments))  # type: ignore[arg-type]
    assert len(rows) == count
    assert len({row["id"] for row in rows}) == count


def test_ids_tell_rows_of_different_options_apart() -> None:
    variants = [
        {},
        {"seed": 1},
        {"length": 500},
        {"depth": 10},
        {"depth": 10.5},
        {"keys": 2},
        {"value_kind": "uuid"},
        {"key_kind": "uuid"},
        {"haystack": "noise"},
        {"config": "multi-value"},
    ]
    ids = [next(iter(needle(**variant)))["id"] for variant in variants]
    assert len(set(ids)) == len(ids)
    assert ids[3] == "needle-single-k1v1q1-word-number-prose-n4000-d10-s0-i0"


def test_a_row_says_what_it_is() -> None:
    (row,) = needle(1, "multi-value", length=400, depth=25, seed=9)
    assert {
        key: row[key]
        for key in row
        if key not in ("context", "question", "answer", "needles", "keys")
    } == {
        "id": "needle-multi-value-k1v4q1-word-number-prose-n400-d25-s9-i0",
        "task": "multi-value",
        "length": 400,
        "depth": 25.0,
        "depths": [25.0] * 4,
        "haystack": "prose",
        "seed": 9,
        "index": 0,
        "tags": ["needle", "multi-value"],
    }
    assert "answers" not in row


def test_rows_are_made_one_at_a_time() -> None:
    rows = iter(needle(10**12, lengths=[100, 10**5]))
    assert [row["length"] for row in islice(rows, 3)] == [100, 10**5, 100]


def test_prose_differs_between_rows_and_hardly_repeats_itself() -> None:
    first, second = needle(2, length=20_000)
    sentences = re.findall(r"[^.]*\.", first["context"])
    assert len(set(sentences)) > 0.97 * len(sentences)
    assert first["context"][:200] != second["context"][:200]
    assert len(first["context"].split("\n\n")) > 100
