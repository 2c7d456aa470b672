"""How often a judge is asked: as often as its endpoint allows, which is learned from what it refuses and says in headers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

from context_bench_http import EndpointError, JsonClient
from context_bench_limits.rates import Rates
from context_bench_openai import ChatReply

_TOO_OFTEN = (429, 529)
_USUAL_RETRIES = 3
_MAX_REFUSALS = 10
_MAX_WAIT = 300.0


class Pacing:
    """Lets requests to one endpoint go, and sends those again that were refused because there were too many.

    A refusal holds for all requests, and not only for the one that met with it: with a pause of its own for each, many would
    be refused until they are given up, and their rows left without a score. One request asks for all whether there is room
    again, so it is refused more often than a client would ask: up to ten times, unless the client is to ask again less often
    than usual.

    Args:
        client: The client that asks, which hands refusals over from now on; one that tells its retries to somebody else
            stays as it is. None where none of ours asks.
    """

    def __init__(self, client: JsonClient | None = None) -> None:
        self._rates = Rates(None, None, {})
        self._lock = threading.Lock()
        retries = _USUAL_RETRIES if client is None else client.max_retries
        self._max_attempts = 1 + retries
        if retries >= _USUAL_RETRIES:
            self._max_attempts = max(1 + retries, _MAX_REFUSALS)
        if client is not None and client.on_retry is None:
            client.on_retry = _handed_over

    def ask(self, request: Callable[[], ChatReply]) -> ChatReply:
        """Return the reply to a request, from any thread.

        Raises:
            EndpointError: There was none, or it was refused too often.
        """
        attempt = 1
        while True:
            while (wait := self._enter()) > 0:
                time.sleep(wait)
            started = time.monotonic()
            try:
                return self._answered(request(), started)
            except EndpointError as error:
                self._refused(error, started, attempt)
            attempt += 1

    async def aask(self, request: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
        """Return the reply to a request without blocking the event loop; see `ask`."""
        attempt = 1
        while True:
            while (wait := self._enter()) > 0:
                await asyncio.sleep(wait)
            started = time.monotonic()
            try:
                return self._answered(await request(), started)
            except EndpointError as error:
                self._refused(error, started, attempt)
            attempt += 1

    def _enter(self) -> float:
        """Take note of a request and return 0; or return the seconds after which to ask again."""
        with self._lock:
            now = time.monotonic()
            wait = self._rates.wait(now, 0)
            if wait <= 0:
                self._rates.sent(now, 0)
        return max(0.0, wait)

    def _answered(self, reply: ChatReply, started: float) -> ChatReply:
        tokens = reply.usage.get("input_tokens", 0) + reply.usage.get("output_tokens", 0)
        with self._lock:
            now = time.monotonic()
            self._rates.answered(now, now - started, tokens, 0, reply.headers)
        return reply

    def _refused(self, error: EndpointError, started: float, attempt: int) -> None:
        """Learn from a refusal; raise what is none, or one too many."""
        if not _is_refusal(error):
            raise error
        with self._lock:
            now = time.monotonic()
            self._rates.refused(now, now - started, error.retry_after, error.headers)
        if attempt >= self._max_attempts or (error.retry_after or 0.0) > _MAX_WAIT:
            error.attempts = attempt
            raise error


def _is_refusal(error: EndpointError) -> bool:
    is_later = error.status == 503 and error.retry_after is not None
    return error.retryable and (error.status in _TOO_OFTEN or is_later)


def _handed_over(error: EndpointError, pause: float) -> float:
    if _is_refusal(error):
        raise error
    return pause
