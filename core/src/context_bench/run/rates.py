"""Rates: when an endpoint may be asked next, as far as the user said it, or the endpoint by
refusing.

How much an endpoint allows is learned by a package (hook ``rate_limiter``). Without one a limit of
the user's is spread evenly. After a refusal nobody asks for as long as it says, or else for one
second, two, four and so on (beginning with the last such time, when it refuses again soon); then
one request goes ahead, and the others follow when it is not refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.run.admission import LONGEST_OF_ASKED

_CATCH_UP = 1.5
_PAUSE, _LONGEST_PAUSE, _LONG = 1.0, 300.0, 10.0
_AT_ONCE = 1e-6


class ToldRates:
    """The rates of an endpoint of which nothing is learned. Not safe to use from several threads;
    its owner holds a lock.

    Args:
        requests, tokens: Limits a minute that the user knows; None for no limit.
    """

    def __init__(self, requests: float | None, tokens: float | None) -> None:
        self._requests, self._tokens = _Even(requests), _Even(tokens)
        self._is_free = requests is None and tokens is None
        self._shut_until: float | None = None  # None while it is not known to refuse
        self._opened = 0.0
        self._ahead: float | None = None  # when the request was sent that goes ahead
        self._pause = _PAUSE
        self._refusal_seconds = 0.05

    def learned(self) -> Mapping[str, Any]:
        """Return nothing."""
        return {}

    def wait(self, now: float, tokens: float) -> float:
        """Return the seconds until the next request may be sent; 0 or less lets it go now."""
        if self._shut_until is not None:
            if self._ahead is None:
                return self._shut_until - now
            left = self._ahead + max(0.1, 3.0 * self._refusal_seconds) - now
            if left > 0:
                return left
            self._open(now)
        return 0.0 if self._is_free else max(self._requests.wait(now), self._tokens.wait(now))

    def sent(self, now: float, tokens: float) -> None:
        """Take note that a request is sent."""
        if not self._is_free:
            self._requests.spend(now, 1.0)
            self._tokens.spend(now, tokens)
        if self._shut_until is not None and self._ahead is None:
            self._ahead = now

    def answered(
        self, now: float, seconds: float, tokens: float, expected: float, headers: Any
    ) -> None:
        """Take note of an answer, and count the tokens that its request had beyond what was
        expected."""
        if tokens:
            self._tokens.spend(now, tokens - expected)
        if self._went_ahead(now - seconds):
            self._open(now)

    def refused(self, now: float, seconds: float, asked: float | None, headers: Any) -> bool:
        """Take note of a refusal, and return whether it is the first one since the endpoint let
        go."""
        sent, self._refusal_seconds = now - seconds, max(seconds, 0.5 * self._refusal_seconds)
        asked = None if asked is None else min(asked, _LONGEST_PAUSE)
        is_new = self._shut_until is None
        if is_new and sent < self._opened:
            return False  # it was sent before the last one that was refused
        if is_new or self._went_ahead(sent):
            if not is_new:
                self._pause = min(_LONGEST_PAUSE, 2.0 * self._pause)
            elif sent - self._opened > _LONG * self._pause:
                self._pause = _PAUSE
            self._ahead = None
            pause = self._pause
            if asked is not None:
                pause = max(asked, min(0.1 * pause, LONGEST_OF_ASKED * asked))
            self._shut_until = now + pause
        elif asked is not None:
            self._shut_until = max(self._shut_until or 0.0, now + asked)
        return is_new

    def _went_ahead(self, sent: float) -> bool:
        return self._ahead is not None and sent >= self._ahead - _AT_ONCE

    def _open(self, now: float) -> None:
        self._opened = now if self._ahead is None else self._ahead
        self._shut_until = self._ahead = None


class _Even:
    """An even pace.

    Args:
        known: What the user allows in a minute at most; None for no limit.
    """

    def __init__(self, known: float | None) -> None:
        self._seconds = 0.0 if known is None else 60.0 / known
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until something may be sent; 0 or less lets it go now."""
        return self._next - now if self._seconds else 0.0

    def spend(self, now: float, amount: float) -> None:
        """Count what is sent. A late sleeper may make up for it, so that a busy machine keeps the
        pace."""
        share = amount * self._seconds
        self._next = max(self._next, now - _CATCH_UP * max(share, 0.0)) + share
