"""What the user forbids is kept, and an endpoint that refuses is left alone, where nobody learns what it allows."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.run.admission import is_refusal, requested_wait
from context_bench.run.limits import EvenRates, Limiter


class RefusedError(Exception):
    def __init__(self, **attributes: Any) -> None:
        super().__init__("too many requests")
        self.__dict__.update(attributes)


class Response:
    def __init__(self, status_code: int, **headers: str) -> None:
        self.status_code, self.headers = status_code, headers


@pytest.mark.parametrize(
    ("error", "refusal", "seconds"),
    [
        pytest.param(RefusedError(status=429, retry_after=7.0), True, 7.0, id="attributes"),
        pytest.param(
            RefusedError(response=Response(429, **{"Retry-After": "3"})),
            True,
            3.0,
            id="response, seconds",
        ),
        pytest.param(
            RefusedError(code=429, headers={"Retry-After": "Thu, 01 Jan 2026 00:00:09 GMT"}),
            True,
            9.0,
            id="urllib, date",
        ),
        pytest.param(RefusedError(status_code=529), True, None, id="overloaded, no word"),
        pytest.param(RefusedError(status=500), False, None, id="server error"),
        pytest.param(RefusedError(status=503), False, None, id="unavailable"),
        pytest.param(
            RefusedError(status=503, retry_after=2.0), True, 2.0, id="unavailable, come again"
        ),
        pytest.param(
            RefusedError(status=500, retry_after=2.0), False, 2.0, id="server error, come again"
        ),
        pytest.param(
            RefusedError(response=Response(429, **{"Retry-After": "soon"})),
            True,
            None,
            id="unreadable",
        ),
    ],
)
def test_a_refusal_and_its_wait_are_read_from_any_library(
    error: Any, refusal: bool, seconds: float | None
) -> None:
    assert is_refusal(error) is refusal
    assert requested_wait(error, datetime(2026, 1, 1, tzinfo=timezone.utc)) == seconds


def test_a_known_rate_is_kept() -> None:
    now = [0.0]
    limiter = Limiter(1000, EvenRates(600, None), clock=lambda: now[0])
    sent = 0
    while now[0] < 10.0:
        wait = limiter.enter()
        sent += wait == 0
        now[0] += wait
    assert 100 <= sent <= 103


def test_tokens_are_counted_against_their_limit() -> None:
    now = [0.0]
    limiter = Limiter(8, EvenRates(None, 6000), clock=lambda: now[0])
    sent = 0
    while now[0] < 30.0:
        wait = limiter.enter()
        if wait == 0:
            sent += 1
            limiter.leave()
            limiter.answered(0.01, tokens=200)
        now[0] += max(wait, 0.01)
    assert 14 <= sent <= 17  # 3,000 tokens in 30 s


class Together:
    """A system that answers nobody before all places are used."""

    name = "together"

    def __init__(self, places: int) -> None:
        self.places, self.in_flight = places, 0
        self.is_full = asyncio.Event()

    def fingerprint(self) -> dict[str, str]:
        return {"endpoint": "http://together.test"}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        self.in_flight += 1
        if self.in_flight == self.places:
            self.is_full.set()
        await asyncio.wait_for(self.is_full.wait(), timeout=60)
        return {"response": "1"}


@pytest.mark.parametrize("workers", [64, None])
def test_all_places_of_an_endpoint_are_used_at_once(
    workers: int | None, same: Any, make_examples: Callable[[int], Any]
) -> None:
    system = Together(64)
    result = evaluate(system, make_examples(100), [same], progress=False, max_workers=workers)
    assert not any(row.errors for row in result.rows)


class Limited:
    """A system that refuses more than so many calls in any second."""

    name = "limited"

    def __init__(self, rate: int) -> None:
        self.rate, self.refused, self.answered = rate, 0, 0
        self._accepted: deque[float] = deque()
        self._lock = threading.Lock()

    def fingerprint(self) -> dict[str, str]:
        return {"endpoint": "http://limited.test"}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        now = time.monotonic()
        with self._lock:
            while self._accepted and self._accepted[0] <= now - 1.0:
                self._accepted.popleft()
            if len(self._accepted) >= self.rate:
                self.refused += 1
                raise RefusedError(status=429)
            self._accepted.append(now)
            self.answered += 1
        time.sleep(0.01)
        return {"response": "1", "usage": {"input_tokens": 1}}


def test_a_hidden_limit_is_found_without_losing_a_row(
    same: Any, make_examples: Callable[[int], Any]
) -> None:
    system = Limited(50)
    result = evaluate(system, make_examples(250), [same], progress=False, max_workers=32)
    assert not any(row.errors for row in result.rows)
    assert len(result.rows) == 250
    assert system.refused < 25


@pytest.mark.parametrize("workers", [1, None])
def test_a_refusal_is_asked_again_though_nothing_was_known_of_an_endpoint(
    workers: int | None, same: Any, make_examples: Callable[[int], Any]
) -> None:
    asked: list[str] = []

    def answer(example: dict[str, Any]) -> str:
        asked.append(example["id"])
        if len(asked) in (3, 4):
            raise RefusedError(status_code=429, retry_after=0.01)
        return "1"

    result = evaluate(answer, make_examples(6), [same], progress=False, max_workers=workers)
    assert [row.response for row in result.rows] == ["1"] * 6
    assert len(asked) == 8
