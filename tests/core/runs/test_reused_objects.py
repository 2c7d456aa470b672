"""Datasets and systems that fill one object again and again, and objects that cannot be read: no row takes another's place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from threading import Event
from types import MappingProxyType
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ContextBenchError

ROWS = 150


def filled_anew() -> Iterator[dict[str, Any]]:
    """One example, filled for every row, as a reader of records may do."""
    example: dict[str, Any] = {"context": "c", "meta": {"numbers": [0]}}
    for number in range(ROWS):
        example["id"] = example["answer"] = str(number)
        example["meta"]["numbers"][0] = number
        yield example


def made_anew() -> Iterator[dict[str, Any]]:
    for number in range(ROWS):
        yield {
            "id": str(number),
            "answer": str(number),
            "context": "c",
            "meta": {"numbers": [number]},
        }


class Made:
    """Answers with an object of its own for each row."""

    name = "made"

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        return {"response": example["id"], "seen": {"numbers": list(example["meta"]["numbers"])}}


class Filled:
    """Answers with one object, filled for every row."""

    name = "filled"

    def __init__(self) -> None:
        self._output: dict[str, Any] = {"seen": {"numbers": [0]}}

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        self._output["response"] = example["id"]
        self._output["seen"]["numbers"][0] = example["meta"]["numbers"][0]
        return self._output


class FilledOnTheLoop(Filled):
    name = "filled-on-the-loop"

    async def aprocess(self, example: dict[str, Any]) -> Mapping[str, Any]:
        await asyncio.sleep(0)
        return self.process(example)


class Shown(Filled):
    """Answers with a view of one object."""

    name = "shown"

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        return MappingProxyType(dict(super().process(example)))


def fits(original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
    same = original["id"] == original["answer"] == processed["response"]
    return {
        "fits": float(
            same and original["meta"] == processed["seen"] == {"numbers": [int(original["id"])]}
        )
    }


class AtOnce:
    name = "at-once"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        return fits(original, processed)


class InBatches(AtOnce):
    name = "in-batches"

    def score_batch(self, pairs: Any) -> list[dict[str, float]]:
        return [fits(*pair) for pair in pairs]


class OnTheLoop(AtOnce):
    name = "on-the-loop"

    async def ascore(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> dict[str, float]:
        await asyncio.sleep(0.001)
        return fits(original, processed)


@pytest.mark.parametrize("evaluator", [AtOnce, InBatches, OnTheLoop])
@pytest.mark.parametrize("workers", [1, 5])
@pytest.mark.parametrize("examples", [filled_anew, made_anew])
@pytest.mark.parametrize("system", [Made, Filled, FilledOnTheLoop, Shown])
def test_an_object_that_is_filled_anew_for_each_row_is_the_row_that_it_was(
    system: Any, examples: Any, workers: int, evaluator: Any
) -> None:
    if system in (Filled, Shown) and workers > 1:
        workers = 1  # it is not made for several threads, and the system alone could know
    result = evaluate([system()], examples(), [evaluator()], max_workers=workers, progress=False)
    rows = list(result.rows)
    assert (
        [row.example_id for row in rows]
        == [row.response for row in rows]
        == [str(n) for n in range(ROWS)]
    )
    assert [row.scores for row in rows] == [{"fits": 1.0}] * ROWS


def test_a_random_sample_of_an_object_that_is_filled_anew_is_of_different_rows() -> None:
    result = evaluate([Made()], filled_anew(), [AtOnce()], sample=20, seed=3, progress=False)
    rows = list(result.rows)
    assert len({row.example_id for row in rows}) == 20
    assert [row.scores for row in rows] == [{"fits": 1.0}] * 20


class UnreadableError(Exception):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"there is no {name} yet")


class Unreadable(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("it cannot be read")


class Nameless:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("it cannot be read")


def raised() -> Any:
    raise UnreadableError("refused")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(raised, "refused", id="an error whose attributes cannot be read"),
        pytest.param(
            lambda: {"response": "1", "usage": Unreadable(input_tokens=3)},
            "it cannot be read",
            id="usage",
        ),
        pytest.param(lambda: {"response": Nameless()}, "it cannot be read", id="a response"),
        pytest.param(Nameless, "it cannot be read", id="an output"),
        pytest.param(
            lambda: {"response": "1", "n": 10**5000},
            "more digits than",
            id="a number of 5,000 digits",
        ),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_what_cannot_be_read_is_the_failure_of_its_row(
    answer: Any, told: str, workers: int, make_system: Any
) -> None:
    def process(example: dict[str, Any]) -> Any:
        return answer() if example["id"] == "1" else Made().process(example)

    examples = list(made_anew())[:4]
    result = evaluate(
        [make_system("s", process)], examples, [AtOnce()], max_workers=workers, progress=False
    )
    rows = list(result.rows)
    assert [bool(row.errors) for row in rows] == [False, True, False, False]
    assert told in str(rows[1].errors[0])


@pytest.mark.parametrize(
    "output", [{}, {"messages": 5}, {"messages": "text"}, {"messages": [7]}, {"messages": None}]
)
@pytest.mark.parametrize(
    "messages", [5, "text", [None], [{"role": 5, "content": {"a": 1}}], {"role": "user"}]
)
def test_messages_that_are_none_are_a_field_like_any_other(
    messages: Any, output: dict[str, Any], same: Any, make_system: Any
) -> None:
    system = make_system("s", lambda example: {"response": "x", **output})
    result = evaluate(
        [system], [{"id": "1", "messages": messages, "answer": "x"}], [same], progress=False
    )
    assert [row.scores for row in result.rows] == [{"same": 1.0}]


def holding_itself() -> dict[str, Any]:
    example: dict[str, Any] = {"id": "1", "context": "c"}
    example["me"] = example
    return example


@pytest.mark.parametrize(
    ("example", "told"),
    [
        pytest.param(
            holding_itself(),
            "Row 1 of the dataset cannot be taken: RecursionError",
            id="one in itself",
        ),
        pytest.param(
            {"id": 10**5000},
            "Row 1 of the dataset cannot be stored: .* more digits",
            id="an id of 5,000 digits",
        ),
        pytest.param(
            {"n": 10**5000},
            "Row 1 of the dataset cannot be stored: .* more digits",
            id="5,000 digits",
        ),
        pytest.param(
            {"o": iter("ab")},
            "Row 1 of the dataset cannot be stored: o is of type",
            id="an iterator",
        ),
        pytest.param(
            {"o": Nameless()},
            "Row 1 of the dataset cannot be taken: RuntimeError",
            id="an unreadable one",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": "x"}], "region": "all"},
            "Row 1 of the dataset cannot be taken: too many values",
            id="a region that is none",
        ),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_an_example_that_cannot_be_taken_is_named_and_what_came_before_it_is_kept(
    example: dict[str, Any], told: str, workers: int, tmp_path: Any
) -> None:
    run, is_asked = tmp_path / "run.sqlite", Event()

    class Told(Made):
        def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
            is_asked.set()
            return super().process(example)

    def examples() -> Iterator[dict[str, Any]]:
        yield next(made_anew())
        assert is_asked.wait(
            60
        )  # a call that has not begun when the run stops is not made any more
        yield example

    with pytest.raises(ContextBenchError, match=told):
        evaluate(
            [Told()], examples(), [AtOnce()], max_workers=workers, run_file=run, progress=False
        )
    from context_bench.runs import open_run

    with open_run(run) as kept:
        assert [row.scores for row in kept.rows()] == [{"fits": 1.0}]
