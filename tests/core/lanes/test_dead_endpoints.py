"""A system that never answers ends a run by the circuit breaker, after few requests.

The breaker opens at the tenth failed row. Then as many rows as there are places may be under way, and each is asked four times
at most, or once where asking again is of no use.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.records import Failure
from context_bench.run import admission
from context_bench.run.stopping import CircuitBreaker
from context_bench.store.keys import RowId
from context_bench.store.rows import StoredRow

DEFAULT_WORKERS = 64
ATTEMPTS = 4
FIRST_ROWS = 10


class HttpError(Exception):
    def __init__(self, message: str, status: int | None, is_worth_repeating: bool) -> None:
        super().__init__(message)
        self.status, self.retryable = status, is_worth_repeating


def words() -> str:
    return "".join(random.choice("abcdef") for _ in range(8))


WAYS: dict[str, Callable[[], BaseException]] = {
    "500": lambda: HttpError("500", 500, True),
    "500, another text each time": lambda: HttpError(f"500: {words()}", 500, True),
    "503": lambda: HttpError("503", 503, True),
    "401": lambda: HttpError("401", 401, False),
    "refused": lambda: HttpError("connection refused", None, True),
    "bad JSON": lambda: HttpError("no JSON", 200, False),
    "an exception": lambda: ValueError("no"),
    "exits": lambda: SystemExit(1),
}


def most_requests(way: str, workers: int | None, first_rows: int = FIRST_ROWS) -> int:
    """Return the requests that a dead system gets at most."""
    attempts = ATTEMPTS if getattr(WAYS[way](), "retryable", False) else 1
    return attempts * ((workers or DEFAULT_WORKERS) + first_rows - 1)


class Dead:
    """A system that fails, and says whether the same call may succeed later."""

    def __init__(self, name: str, way: str, endpoint: str | None, counter: list[str]) -> None:
        self.name, self._way, self._endpoint, self._counter = name, way, endpoint, counter

    def fingerprint(self) -> dict[str, str]:
        return (
            {"name": self.name}
            if self._endpoint is None
            else {"name": self.name, "endpoint": self._endpoint}
        )

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self._counter.append(f"{self.name} {example.get('id')}")
        raise WAYS[self._way]()


class AsyncDead(Dead):
    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        return self.process(example)


class TalkingDead(Dead):
    def process_turn(self, turns: Any) -> dict[str, Any]:
        return self.process({"id": str(turns)})


def unknown_length(count: int, is_conversation: bool = False) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {
            "id": f"e{number}",
            "question": str(number),
            "answer": "1",
            **({"multi_turn": True, "turns": [f"a{number}", "b"]} if is_conversation else {}),
        }


@pytest.mark.parametrize("kind", [Dead, AsyncDead, TalkingDead], ids=["blocking", "async", "turns"])
@pytest.mark.parametrize(
    ("workers", "endpoint"),
    [
        (1, "http://dead.test"),
        (8, "http://dead.test"),
        (64, "http://dead.test"),
        (None, None),
        (64, None),
    ],
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("short_pauses")
def test_a_dead_system_ends_the_run_after_few_requests(
    way: str, kind: type[Dead], endpoint: str | None, workers: int | None, same: Any
) -> None:
    if kind is TalkingDead:
        pytest.importorskip("context_bench_conversations", reason="it asks conversations")
    if way == "500, another text each time":  # a function may fail for many reasons
        endpoint = endpoint or "http://dead.test"
    asked: list[str] = []
    examples = unknown_length(500, kind is TalkingDead)
    with pytest.raises(RunStoppedError) as stopped:
        evaluate(
            kind("dead", way, endpoint, asked),
            examples,
            [same],
            progress=False,
            max_workers=workers,
        )
    assert stopped.value.exit_code == 12
    assert str(WAYS[way]()).partition(":")[0] in str(stopped.value)
    assert FIRST_ROWS <= len(asked) <= most_requests(way, workers)


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("order", ["interleaved", "system"])
@pytest.mark.parametrize("workers", [1, 64])
@pytest.mark.parametrize("way", ["500", "401"])
@pytest.mark.usefixtures("short_pauses")
def test_systems_of_one_endpoint_count_together(
    way: str, workers: int, order: str, count: int, same: Any
) -> None:
    asked: list[str] = []
    systems = [Dead(f"s{number}", way, "http://dead.test", asked) for number in range(count)]
    with pytest.raises(RunStoppedError, match=f"the {count} systems that ask http:") as stopped:
        evaluate(
            systems, unknown_length(500), [same], progress=False, max_workers=workers, order=order
        )
    assert stopped.value.exit_code == 12
    assert len(asked) <= most_requests(way, workers, max(FIRST_ROWS, 3 * count))


@pytest.mark.usefixtures("short_pauses")
def test_a_dead_endpoint_beside_one_that_answers_is_known_as_soon(
    make_system: Callable[..., Any], same: Any
) -> None:
    asked: list[str] = []
    systems = [
        make_system(lambda example: {"response": "1"}),
        Dead("dead", "500", "http://dead.test", asked),
    ]
    with pytest.raises(RunStoppedError, match="of one system"):
        evaluate(systems, unknown_length(500), [same], progress=False, max_workers=64)
    assert len(asked) <= most_requests("500", 64)


@pytest.mark.usefixtures("short_pauses")
def test_a_run_that_was_never_answered_stops_as_soon_when_it_is_resumed(
    tmp_path: Any, same: Any
) -> None:
    path = tmp_path / "run.sqlite"
    for _ in range(4):
        asked: list[str] = []
        system = Dead("dead", "500", "http://dead.test", asked)
        with pytest.raises(RunStoppedError):
            evaluate(
                system, unknown_length(500), [same], progress=False, max_workers=8, run_file=path
            )
        assert len(asked) <= most_requests("500", 8)


class Late(AsyncDead):
    """Fails until it has been asked again twice."""

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        answer = {"response": "1", "usage": {"input_tokens": 1}}
        return (
            answer if len(self._counter) > len(set(self._counter)) + 1 else super().process(example)
        )


class BlockingLate(Late):
    aprocess = None  # type: ignore[assignment]


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "pause", lambda attempt, asked, jitter: 0.001)


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize("kind", [BlockingLate, Late], ids=["blocking", "async"])
@pytest.mark.parametrize("workers", [1, 8, 64])
def test_a_server_that_starts_late_loses_no_row(
    kind: type[Dead], workers: int, same: Any, tmp_path: Any
) -> None:
    asked: list[str] = []
    system = kind("late", "503", "http://late.test", asked)
    result = evaluate(system, unknown_length(100), [same], progress=False, max_workers=workers)
    assert not any(row.errors for row in result.rows)
    assert max(Counter(asked).values()) <= ATTEMPTS


@pytest.mark.usefixtures("short_pauses")
def test_keep_going_repeats_every_call(same: Any) -> None:
    asked: list[str] = []
    system = Dead("dead", "500", "http://dead.test", asked)
    rows = evaluate(
        system, unknown_length(12), [same], progress=False, max_workers=4, keep_going=True
    ).rows
    assert len(rows) == 12
    assert len(asked) == 48


def failing(slot: int, position: int, message: str) -> StoredRow:
    failure = Failure(stage="system", kind="ServerFailedError", message=message)
    return StoredRow(id=RowId(0, position, slot, 0), key=b"", output=None, failures=[(-1, failure)])


def test_an_example_that_no_system_can_answer_stops_nothing() -> None:
    breaker = CircuitBreaker(None, {}, dict.fromkeys(range(6), "http://some.test"))
    for position in range(2):
        for slot in range(6):
            breaker.rows([failing(slot, position, "too long")])


def test_identifiers_of_requests_make_no_other_cause() -> None:
    from context_bench.run.stopping import DeadSystemError

    breaker = CircuitBreaker(None)
    rows = [
        failing(0, place, f"500: no (request req_{place}AbCdEf, 8f{place}a-bc12-de)")
        for place in range(10)
    ]
    for row in rows[:9]:
        breaker.rows([row])
    with pytest.raises(DeadSystemError, match="10 rows"):
        breaker.rows([rows[9]])


@pytest.mark.usefixtures("short_pauses")
def test_each_repeat_is_counted(same: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[admission.Admission] = []
    init = admission.Admission.__init__

    def keep(self: admission.Admission, *arguments: Any, **more: Any) -> None:
        init(self, *arguments, **more)
        made.append(self)

    monkeypatch.setattr(admission.Admission, "__init__", keep)
    asked: list[str] = []
    system = Dead("dead", "500", "http://dead.test", asked)
    evaluate(system, unknown_length(12), [same], progress=False, max_workers=8, keep_going=True)
    assert sum(made[0].retried.values()) == len(asked) - len(set(asked)) == 36
