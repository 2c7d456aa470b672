"""Rates: what an endpoint allows, in requests and in tokens a second, learned from what it says and from what it refuses.

What it says counts (:mod:`context_bench.runner.rate_headers`). What it says nothing of is estimated in requests, not in
seconds: nobody knows whether 50 answers and a refusal mean 50 a second or 50 a minute. So after a refusal nothing is sent but
single requests, after one second, two, five and so on. The first that is answered tells a window, and what was answered
until then tells its limit.

That is a guess: a bucket that fills up again has room long before a window is over. Where the guess is refuted - refused
though its window had room, or shut for longer than its window - the mean between two such moments holds: whatever way a
server counts, what it answered from one moment at which it had just let go to the next is what it allows. From then on a
refusal takes a little back, and a quiet time gives a little more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.runner.pace import Estimates, Pace
from context_bench.runner.rate_headers import Advice

WINDOWS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds for which endpoints count; the longest is doubled where it is not enough."""

_FINER = (1.5, 3.0, 4.0, 6.0, 8.0, 12.0, 15.0, 25.0, 40.0, 50.0, 90.0)
_MANY = 100.0
_USUAL = (1.0, 10.0, 60.0)
_MARGIN, _FALL = 0.98, 0.96
_LATE = 1.02
_LEAST_FREEZE, _SHARE_OF_WINDOW = 0.3, 0.05
_LONGEST_FREEZE = 300.0
_NEAR, _STEP, _UNSURE_STEP, _LARGEST_STEP = 0.99, 0.02, 0.08, 0.25
_UNSURE_QUIET, _QUIET_REQUESTS = 10.0, 8.0
_PATIENCE, _LONGEST_PATIENCE, _SHORTEST_PATIENCE = 8.0, 64.0, 2.0
_FEW, _FEW_OF_TOKENS = 5.0, 20.0
_FULL = 0.7
_SPAN = 5.0
_OTHER_KIND = 1.25
_SHORT_FREEZE, _SHORT_SHARE = 1.5, 0.1
_LEAST_FALL, _LEAST_FALL_OF_WINDOW = 0.6, 0.92
_LEFT_OVER, _MANY_ENOUGH = 3.0, 30.0
_RARE, _FALL_OF_RARE = 3.0, 0.98
_OVERSHOT, _LASTED = 1.005, 1.5
_DOUBTS, _TOLD_FALL = 3, 0.98
_PAUSE = 30.0


class Rates:
    """Says how long the next request has to wait. Not safe to use from several threads; its owner holds a lock.

    Args:
        requests, tokens: Limits a second that the user knows; None learns them.
        learned: What :meth:`learned` told in an earlier session.
    """

    def __init__(self, requests: float | None, tokens: float | None, learned: Mapping[str, Any]) -> None:
        self.requests = Pace(requests, learned.get("requests"))
        self.tokens = Pace(tokens, learned.get("tokens"))
        self.refusals = 0
        self._window: float | None = learned.get("window")
        self._estimates = Estimates()
        self._cycle = self._latest = 0.0  # when the endpoint last let go, and was last asked
        self._began: float | None = None
        self._released: list[float] = []  # such moments
        self._refusals: list[float] = []  # first refusals, each before one of them
        self._doubts = 0
        self._binds_tokens = False
        self._guessed: Any = None  # requests, tokens, window, span
        self._frozen_at: float | None = None
        self._frozen_until = 0.0
        self._frozen_before = 0.0
        self._shut_at = 0.0  # the latest moment at which it is known to have allowed nothing
        self._candidates: list[float] = []
        self._probe: float | None = None
        self._probes = 0
        self._refusal_seconds = 0.05
        self._latency = 0.0
        self._changed_at = 0.0
        self._step, self._patience = _STEP, _PATIENCE
        self._ceiling: float | None = None
        self._is_unsure = self._is_beyond = False
        self._crept = 1.0

    def learned(self) -> dict[str, Any]:
        """Return what is known of the limits, for the next session."""
        known = {"requests": self.requests.learned, "tokens": self.tokens.learned, "window": self._window}
        return {name: value for name, value in known.items() if value is not None}

    def wait(self, now: float, tokens: float) -> float:
        """Return the seconds until the next request may be sent; 0 or less lets it go now."""
        if self._frozen_at is not None:
            if self._probe is None:
                return self._frozen_until - now
            patience = self._probe + max(0.1, 3.0 * self._refusal_seconds) - now
            if patience > 0:
                return patience
            self._resume(now)
        return max(self.requests.wait(now, 1.0), self.tokens.wait(now, self._estimates.charge(tokens)))

    def sent(self, now: float, tokens: float) -> None:
        """Take note that a request is sent."""
        if self._began is None:
            self._began = self._cycle = self._changed_at = self._latest = now
        if now - self._latest > _PAUSE + _SPAN * (self._window or 0.0) + self._latency:  # no mean goes over a pause
            self._cycle = self._changed_at = now
            self._released, self._refusals = [now], [now]
        self._latest = now
        self._estimates.note(tokens)
        self.requests.spend(now, 1.0)
        self.tokens.spend(now, self._estimates.charge(tokens))
        if self._frozen_at is not None and self._probe is None:
            self._probe = now

    def answered(
        self, now: float, seconds: float, tokens: float, expected: float, said: Advice | None, of_tokens: Advice | None
    ) -> None:
        """Learn from an answer; ``said`` is what it said of requests, ``of_tokens`` of tokens."""
        sent = now - seconds
        self._latency = max(seconds, 0.9 * self._latency)
        self.requests.settle(sent, 1.0)
        if tokens:
            self.tokens.settle(sent, tokens)
            self.tokens.rescale(self._estimates.learn(tokens, expected))
        if said is not None or of_tokens is not None:
            if said is not None:
                self.requests.advise(said, sent, now, max(0.0, self.requests.sent.since(sent) - 1.0))
            if of_tokens is not None:
                self.tokens.advise(of_tokens, sent, now, max(0.0, self.tokens.sent.since(sent) - tokens))
        if self._frozen_at is not None and self._probe is not None and sent >= self._probe - 1e-6:
            self._resume(now)
        self._creep(now)

    def refused(
        self,
        now: float,
        seconds: float,
        asked: float | None,
        said: Advice | None,
        of_tokens: Advice | None,
    ) -> None:
        """Learn from a refusal; ``asked`` is what its ``Retry-After`` said."""
        sent = now - seconds
        self.refusals += 1
        self._refusal_seconds = max(seconds, 0.5 * self._refusal_seconds)
        self.requests.settle(sent, 0.0)
        self.tokens.settle(sent, 0.0)
        for pace, advice in ((self.requests, said), (self.tokens, of_tokens)):
            if advice is not None:
                pace.advise(advice, sent, now, 0.0)
                if asked is None and advice.remaining is not None and advice.remaining < 1:
                    asked = advice.reset
        if self._frozen_at is None:
            if sent < self._frozen_before:
                return  # sent before the last brake took hold: it says nothing new
            self._frozen_at, self._probe, self._probes = sent, None, 0
            has_many = self.requests.sent.since(self._cycle) >= _MANY
            self._candidates = sorted(WINDOWS + _FINER) if has_many else list(WINDOWS)
            self._freeze(now, asked)
        elif self._probe is not None and sent >= self._probe - 1e-6:
            self._probe = None
            self._probes += 1
            self._freeze(now, asked)
        elif asked is not None:
            self._frozen_until = max(self._frozen_until, now + min(asked, _LONGEST_FREEZE))

    # The brake.

    def _freeze(self, now: float, asked: float | None) -> None:
        """Say when a single request is sent next."""
        assert self._frozen_at is not None
        self._shut_at = now if asked is None else now + min(asked, _LONGEST_FREEZE) - 1.0
        if asked is not None:
            least = _LEAST_FREEZE * 2.0 ** min(self._probes, 10) if self._probes else 0.0
            self._frozen_until = now + min(max(asked, least), _LONGEST_FREEZE)
        elif self._is_full(self._frozen_at) and self._window is not None and now - self._frozen_at < self._window:
            seconds = _SHARE_OF_WINDOW * self._window * 2.0**self._probes
            self._frozen_until = now + max(_LEAST_FREEZE, min(seconds, self._window))
        else:
            while self._candidates and self._moment(self._candidates[0]) < now + _LEAST_FREEZE:
                self._candidates.pop(0)
            if not self._candidates:
                self._candidates = [max(WINDOWS[-1], 2.0 * (now - self._cycle))]
            moment = self._moment(self._candidates[0])
            self._frozen_until = max(now + _LEAST_FREEZE, moment if self._probes else min(moment, now + 1.0))

    def _moment(self, window: float) -> float:
        """Return when a window of so many seconds is over for sure."""
        assert self._frozen_at is not None
        began = self._cycle if self._cycle + window > self._frozen_at else self._frozen_at
        return began + _LATE * window + 0.02

    def _is_full(self, now: float) -> bool:
        """Whether the window is used as far as it is known to be: then the rate is only a little too high."""
        if self.requests.pace is None or self._window is None:
            return False
        return now - self._cycle > _FULL * self._window

    def _resume(self, now: float) -> None:
        """Let the brake go, with a rate for what was learned."""
        assert self._frozen_at is not None
        again = self._probe if self._probe is not None else now
        frozen_at, window = self._frozen_at, self._window
        froze = again - frozen_at
        answered = self.requests.sent.since(self._cycle, again - 1e-6)
        if (self.requests.is_told or self.tokens.is_told) and self._doubts < _DOUBTS:
            self._doubts += 1
            self._slow_down(_TOLD_FALL)
        elif window is None or (len(self._refusals) == 1 and answered < _LEFT_OVER):
            self._guess(frozen_at, again)
        elif self._is_other_kind(frozen_at):
            self._bind()
        elif self._has_overshot(frozen_at):
            self._is_unsure, self._step = False, _STEP
            self._patience = min(_LONGEST_PATIENCE, 2.0 * self._patience)
            self._bind()
        elif self._is_full(frozen_at) and froze <= max(_SHORT_FREEZE, 0.3 * window):
            self._step, self._patience = _STEP, min(_LONGEST_PATIENCE, 2.0 * self._patience)
            self._adjust(again, is_refuted=False)
        elif frozen_at - self._cycle > _SPAN * window:
            self._forget(frozen_at, froze)
        else:
            self._adjust(again, is_refuted=True)
        if self._window is not None and (not self._refusals or answered >= _LEFT_OVER):
            self._released.append(again)
            self._refusals.append(frozen_at)
            self._cycle = again
        self._changed_at = self._frozen_before = again
        self._crept, self._is_beyond = 1.0, False
        self._frozen_at, self._probe = None, None
        self.requests.restart(now)
        self.tokens.restart(now)

    def _guess(self, frozen_at: float, again: float) -> None:
        assert self._began is not None
        """Take the time until the endpoint let go for the first time as its window, and what it answered as its limit."""
        seconds, least = again - self._began, self._shut_at - self._began
        possible = [window for window in (*WINDOWS, *_FINER) if least <= window <= seconds]
        usual = [window for window in possible if window in _USUAL]
        window = max(usual or possible or [seconds])
        span = max(self._began, frozen_at - window) - 1e-6, again - 1e-6
        requests, tokens = self.requests.sent.since(*span), self.tokens.sent.since(*span)
        self._is_unsure = requests < _FEW or window not in _USUAL
        self._step = _UNSURE_STEP if self._is_unsure else _STEP
        if requests < 1.0:  # it has answered nothing at all: nothing is known of what it allows
            self._began = again
            self.requests.slow_down(0.5)
            self.tokens.slow_down(0.5)
            return
        self._window = max(1.0, window)
        self._ceiling = requests / window
        self._binds_tokens = self._estimates.do_vary
        self._is_unsure = self._is_unsure or (self._binds_tokens and requests < _FEW_OF_TOKENS)
        self._guessed = requests, tokens, window, span
        self._bind()

    def _forget(self, frozen_at: float, froze: float) -> None:
        """Take what was answered lately as the limit: it allows less than it did for long."""
        window = next((window for window in WINDOWS if window >= froze), froze)
        self._window, self._is_unsure, self._step = window, True, _UNSURE_STEP
        span = frozen_at - window, frozen_at
        self._guessed = self.requests.sent.since(*span), self.tokens.sent.since(*span), window, span
        self._ceiling = self._guessed[0] / window
        self._released.clear()
        self._refusals.clear()
        self._bind()

    def _bind(self) -> None:
        """Let the limit hold for the kind that binds, and leave the other one some room."""
        requests, tokens, window, span = self._guessed
        for pace, amount, is_bound in (
            (self.requests, requests, not self._binds_tokens),
            (self.tokens, tokens, self._binds_tokens),
        ):
            if amount > 0:
                limit = amount if is_bound else _OTHER_KIND * amount
                pace.learn(limit / window, limit, span)

    def _is_other_kind(self, frozen_at: float) -> bool:
        """Whether it was the other kind that was refused: more requests than fitted in the window, or more tokens."""
        if self._guessed is None or not self._estimates.do_vary:
            return False
        _, _, window, span = self._guessed
        shares = []
        for ledger, more in ((self.requests.sent, 1.0), (self.tokens.sent, self._estimates.charge(0))):
            shares.append((ledger.since(frozen_at - window, frozen_at) + more) / max(ledger.since(*span), 1e-9))
        binds_tokens = shares[1] > shares[0]
        if binds_tokens == self._binds_tokens or max(shares) <= 1.0:
            return False
        self._binds_tokens = binds_tokens
        self._guessed = self.requests.sent.since(*span), self.tokens.sent.since(*span), window, span
        return True

    def _has_overshot(self, frozen_at: float) -> bool:
        """Whether more was given than was found, and was refused before it had lasted: what was found holds."""
        if self._guessed is None or not self._released:
            return False
        _, _, window, span = self._guessed
        pace = self.tokens if self._binds_tokens else self.requests
        found = pace.sent.since(*span) / window
        is_more = (pace.pace or 0.0) > _OVERSHOT * found
        return bool(is_more and frozen_at - self._released[0] < _LASTED * window)

    def _adjust(self, again: float, is_refuted: bool) -> None:
        """Take the mean between two refusals, or between two moments at which the endpoint let go.

        A bucket is as empty at every refusal, a window is as full at every release; the longer wait tells which it is.
        """
        assert self._frozen_at is not None
        froze, cycle = again - self._frozen_at, again - self._cycle
        is_bucket = is_refuted and froze <= max(_SHORT_FREEZE, _SHORT_SHARE * cycle)
        window = max(1.0, cycle) if is_refuted else (self._window or 1.0)
        marks, until = (self._refusals, self._frozen_at) if is_bucket else (self._released, again)
        marks = marks or [self._began or 0.0]
        since, requests, tokens = marks[-1], 0.0, 0.0
        for mark in reversed(marks):
            if requests >= _MANY_ENOUGH and until - mark > _SPAN * window:
                break
            since = mark
            requests = self.requests.sent.since(since - 1e-6, until - 1e-6)
            tokens = self.tokens.sent.since(since - 1e-6, until - 1e-6)
        seconds = max(until - since, 1e-3)
        self._is_unsure = requests < 2 * _FEW
        if is_refuted:
            self._window = window
            self._step = _UNSURE_STEP if self._is_unsure else _STEP
        rate, of_tokens = max(requests, 0.5) / seconds, tokens / seconds
        self._ceiling = rate
        if is_refuted:
            self._guessed = None
            span = since - 1e-6, until - 1e-6
            self.requests.learn(_MARGIN * rate * (_OTHER_KIND if self._binds_tokens else 1.0), 0.0, span)
            if tokens > 0:
                self.tokens.learn(_MARGIN * of_tokens * (1.0 if self._binds_tokens else _OTHER_KIND), 0.0, span)
            return
        if self._guessed is not None and self._refusals and self._frozen_at - self._refusals[-1] > _RARE * window:
            # The window holds what it held: one request came too early, or another one too late.
            self._ceiling = _FALL_OF_RARE * (self.requests.pace or 0.0) / self._crept
            self._slow_down(min(_FALL_OF_RARE, _NEAR / self._crept))
            return
        shares = [mean / pace.pace for pace, mean in ((self.requests, rate), (self.tokens, of_tokens)) if pace.pace]
        if self._crept > 1.0:  # while it was given more and more, the mean was less than what was allowed
            shares.append(_NEAR / self._crept)
        least = _LEAST_FALL if self._guessed is None else _LEAST_FALL_OF_WINDOW
        self._slow_down(min(_FALL, max(least, *shares)))

    def _slow_down(self, factor: float) -> None:
        self.requests.slow_down(factor)
        self.tokens.slow_down(factor)

    def _creep(self, now: float) -> None:
        """Give a little more after a quiet time: soon up to what was found, later beyond it, and soon again while that lasts."""
        pace, ceiling = self.requests.pace, self._ceiling
        if self._frozen_at is not None or pace is None:
            return
        is_below = ceiling is not None and pace < _NEAR * ceiling
        beyond = _SHORTEST_PATIENCE if self._is_beyond else self._patience
        patience = 1.0 if is_below or self._is_unsure else beyond
        quiet = patience * max(1.0, self._window or 1.0, 2.0 * self._latency if patience > 1.0 else 0.0)
        if self._is_unsure:
            quiet = min(quiet, _UNSURE_QUIET)
        if now - self._changed_at < max(quiet, _QUIET_REQUESTS / pace):
            return
        self._changed_at, self._doubts = now, 0
        factor = 1.0 + self._step
        if is_below and ceiling is not None and not self._is_unsure:
            factor = min(factor, _NEAR * ceiling / pace + 1e-6)
        elif not is_below:
            self._step = min(_LARGEST_STEP, (2.0 if self._is_beyond else 1.5) * self._step)
            self._is_beyond = True
        self._crept = factor
        self.requests.speed_up(factor)
        self.tokens.speed_up(factor)
