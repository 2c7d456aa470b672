"""A long run: the file holds a sample of its lines, and memory does not grow with their texts."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from context_bench import EvalResult, EvalRow, Failure
from context_bench.records import KeyMeaning
from context_bench_html import HtmlReporter
from context_bench_html.sample import MOST_LINES, sample_of
from context_bench_html.side_by_side import FAILED, side_by_side

SYSTEMS = ("one", "two")
TOTAL = 3_000
KEYS = {"f1": KeyMeaning("acme/words")}


def row(position: int, slot: int, is_failed: bool) -> EvalRow:
    score = 0.0 if slot and position % 10 == 0 else 1.0
    common: dict[str, Any] = {"primary": "f1", "keys": KEYS, "position": position}
    errors = (Failure("system", "TimeoutError", "late"),) if is_failed else ()
    return EvalRow(
        SYSTEMS[slot],
        f"id-{position}",
        {} if is_failed else {"f1": score},
        response=None if is_failed else f"answer {position}",
        errors=errors,
        system_number=slot,
        **common,
    )


def rows(total: int, failing: int) -> list[EvalRow]:
    """Return rows of two systems, of which the second one loses on every tenth line; each of ``failing`` lines fails."""
    return [
        row(number, slot, bool(slot) and number % failing == 7)
        for number in range(total)
        for slot in (0, 1)
    ]


@pytest.fixture(scope="module")
def page() -> str:
    config = {"systems": list(SYSTEMS), "datasets": ["calls"], "baseline": "one"}
    stream = io.StringIO()
    HtmlReporter().write(EvalResult(rows(TOTAL, 100), (), {}, config), stream)
    return stream.getvalue()


def test_a_long_run_is_a_sample_and_the_page_says_of_what(page: str) -> None:
    told = json.loads(re.findall(r'id="rows-data">(.*?)</script>', page, flags=re.DOTALL)[0])
    assert len(told["id"]) == len(set(told["id"])) == MOST_LINES
    assert sum(bool(state & FAILED) for state in told["state"]) == 30
    assert told["systems"][0]["response"][0] == "answer " + told["id"][0].removeprefix("id-")
    assert (
        "2,000 of 3,000 lines are listed here: all 30 with a failure, the 500 that lose most, "
        "and about one in 2 of the others." in page
    )
    assert "context-bench export RUN.sqlite" in page
    assert (
        "3,000 lines, one for each example and repetition: 330 where a system scores worse" in page
    )


class Counted(list[EvalRow]):
    """Rows that count how many of them are read: one after the other, and each by its index."""

    passed = single = 0

    def __iter__(self) -> Iterator[EvalRow]:
        for row in super().__iter__():
            self.passed += 1
            yield row

    def __getitem__(self, index: Any) -> Any:
        self.single += 1
        return super().__getitem__(index)


def test_all_rows_are_read_once_and_those_that_are_listed_again() -> None:
    counted = Counted(rows(TOTAL, 100))
    config = {"systems": list(SYSTEMS), "datasets": ["calls"], "baseline": "one"}
    result = EvalResult(counted, (), {}, config)
    counted.passed = counted.single = 0
    HtmlReporter().write(result, io.StringIO())
    assert counted.passed < len(counted) + 10
    assert counted.single == 2 * len(SYSTEMS) * MOST_LINES


def test_what_fails_and_what_loses_comes_first_and_the_rest_is_even() -> None:
    found = side_by_side(rows(TOTAL, 100), SYSTEMS, "one", excerpt=0)
    sample = sample_of(found, found.states, most=400)
    assert sample is not None
    positions = [line.identity[1] for line in sample.found.lines]
    assert positions == sorted(positions)
    failed = [position for position in positions if position % 100 == 7]
    worst = [position for position in positions if position % 10 == 0]
    assert len(failed) == 30
    assert worst[:100] == [*range(0, 1_000, 10)]
    even = sorted(set(positions) - set(failed) - set(worst[:100]))
    assert len(even) == 270
    assert (even[0], even[-1] > TOTAL - 20) == (1, True)
    again = sample_of(found, found.states, most=400)
    assert again is not None
    assert [line.id for line in again.found.lines] == [line.id for line in sample.found.lines]


def test_more_failures_than_there_is_room_for_are_sampled_too() -> None:
    found = side_by_side(rows(TOTAL, 8), SYSTEMS, "one", excerpt=0)
    sample = sample_of(found, found.states, most=400)
    assert sample is not None
    assert sample.sentence.startswith(
        "400 of 3,000 lines are listed here: 200 of 375 with a failure"
    )


def test_a_line_without_texts_takes_few_bytes() -> None:
    """Columns are packed: twelve numbers of two systems each, the place and the id of a line."""
    import tracemalloc

    held = []
    for total in (1_000, 5_000):
        made = (row(number, slot, False) for number in range(total) for slot in (0, 1))
        tracemalloc.start()
        found = side_by_side(made, SYSTEMS, "one", excerpt=0)
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(found.lines) == total
    assert (held[1] - held[0]) / 4_000 < 250


def test_a_score_that_equals_the_primary_one_is_held_once() -> None:
    made = [row(number, slot, number == 5) for number in range(20) for slot in (0, 1)]
    made[3] = evolve(made[3], scores={"f1": 0.5, "words": 0.25})
    [_, other] = side_by_side(made, SYSTEMS, "one", excerpt=0).cells
    assert other.scores["f1"] is other.values
    assert other.scores["words"][1] == 0.25
    assert other.values[1] == 0.5
