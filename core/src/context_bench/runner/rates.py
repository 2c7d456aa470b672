"""Rates: what an endpoint allows, in requests and in tokens a second, learned from what it says and from what it refuses.

What it says counts (:func:`advice_in`), until it refuses what it allowed. What it says nothing of is estimated in requests,
not in seconds: nobody knows whether 50 answers and a refusal mean 50 a second or 50 a minute. So after a refusal nothing is
sent but single requests, after one second, two, five and so on. The first that is answered tells a window, and what was
answered until then tells its limit.

That is a guess: a bucket that fills up again has room long before a window is over. Where the guess is refuted - refused
though its window had room, or shut for longer than its window - the mean between two moments at which the endpoint let go
holds: whatever way a server counts, what it answered from one to the next is what it allows. From then on a refusal takes a
little back, and a quiet time gives a little more.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from datetime import datetime, timezone
from time import time
from typing import Any

from attrs import define

from context_bench.runner.admission import date_of

REQUESTS, TOKENS = "requests", "tokens"
WINDOWS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds for which endpoints count; the longest is doubled where it is not enough."""

_FINER = (1.5, 3.0, 4.0, 6.0, 8.0, 12.0, 15.0, 25.0, 40.0, 50.0, 90.0)
_MANY = 100.0
_USUAL = (1.0, 10.0, 60.0)
_LATE, _JITTER, _MOMENT = 1.02, 0.02, 1e-6
_LEAST_FREEZE, _LONGEST_FREEZE = 0.3, 300.0
_NEAR, _STEP, _UNSURE_STEP, _LARGEST_STEP = 0.99, 0.02, 0.08, 0.25
_QUIET_REQUESTS = 8.0
_PATIENCE, _LONGEST_PATIENCE, _SHORTEST_PATIENCE = 8.0, 64.0, 2.0
_FEW, _FEW_OF_TOKENS = 5.0, 20.0
_FULL, _SHORT_FREEZE, _SHORT_SHARE = 0.7, 1.5, 0.3
_SPAN, _PAUSE = 5.0, 30.0
_OTHER_KIND = 1.25
_MARGIN, _FALL, _LEAST_FALL, _LEAST_FALL_OF_WINDOW = 0.98, 0.96, 0.6, 0.92
_LEFT_OVER, _MANY_ENOUGH = 3.0, 30.0
_RARE, _FALL_OF_RARE = 3.0, 0.98
_OVERSHOT, _LASTED = 1.005, 1.5


class Rates:
    """Says how long the next request has to wait. Not safe to use from several threads; its owner holds a lock.

    Args:
        requests, tokens: Limits a minute that the user knows; None learns them.
        learned: What :meth:`learned` told in an earlier session.
    """

    def __init__(self, requests: float | None, tokens: float | None, learned: Mapping[str, Any]) -> None:
        self.requests = Pace(requests, learned.get(REQUESTS))
        self.tokens = Pace(tokens, learned.get(TOKENS))
        self._paces = {REQUESTS: self.requests, TOKENS: self.tokens}
        self._window: float | None = learned.get("window")
        self._estimates = Estimates()
        self._binding = self.requests
        self._began: float | None = None
        self._latest = self._changed_at = 0.0
        self._released: list[float] = []  # moments at which it let go, with a window known
        self._guessed: tuple[float, tuple[float, float]] | None = None  # a window, and from when to when it was filled
        self._step, self._patience, self._crept = _STEP, _PATIENCE, 1.0
        self._is_unsure = self._is_beyond = False
        self._latency, self._refusal_seconds = 0.0, 0.05
        # The brake.
        self._frozen_at: float | None = None
        self._frozen_until = self._frozen_before = 0.0
        self._shut_at = 0.0  # the latest moment at which it is known to have allowed nothing
        self._candidates: list[float] = []
        self._probe: float | None = None
        self._probes = 0

    def learned(self) -> dict[str, Any]:
        """Return what is known of the limits, for the next session."""
        known = {**{kind: pace.learned for kind, pace in self._paces.items()}, "window": self._window}
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
            self._began = self._changed_at = self._latest = now
        if now - self._latest > _PAUSE + _SPAN * (self._window or 0.0) + self._latency:  # no mean goes over a pause
            self._changed_at = now
            self._released = [now]
        self._latest = now
        self._estimates.note(tokens)
        self.requests.spend(now, 1.0)
        self.tokens.spend(now, self._estimates.charge(tokens))
        if self._frozen_at is not None and self._probe is None:
            self._probe = now

    def answered(self, now: float, seconds: float, tokens: float, expected: float, headers: Any) -> None:
        """Learn from an answer."""
        sent = now - seconds
        self._latency = max(seconds, 0.9 * self._latency)
        self.requests.settle(sent, 1.0)
        if tokens:
            self.tokens.settle(sent, tokens)
            self.tokens.rescale(self._estimates.learn(tokens, expected))
        for kind, advice in advice_in(headers).items():
            self._paces[kind].advise(advice, sent)
        if self._frozen_at is not None and self._probe is not None and sent >= self._probe - _MOMENT:
            self._resume(now)
        self._creep(now)

    def refused(self, now: float, seconds: float, asked: float | None, headers: Any) -> None:
        """Learn from a refusal; ``asked`` is what its ``Retry-After`` said."""
        sent = now - seconds
        self._refusal_seconds = max(seconds, 0.5 * self._refusal_seconds)
        for pace in self._paces.values():
            pace.settle(sent, 0.0)
        for kind, advice in advice_in(headers).items():
            self._paces[kind].advise(advice, sent)
            if asked is None and advice.remaining is not None and advice.remaining < 1:
                asked = advice.reset
        asked = None if asked is None else min(asked, _LONGEST_FREEZE)
        if self._frozen_at is None:
            if sent < self._frozen_before:
                return  # sent before the last brake took hold: it says nothing new
            self._frozen_at, self._probe, self._probes = sent, None, 0
            has_many = self.requests.sent.since(self._cycle) >= _MANY
            self._candidates = sorted(WINDOWS + _FINER) if has_many else list(WINDOWS)
            self._freeze(now, asked)
        elif self._probe is not None and sent >= self._probe - _MOMENT:
            self._probe = None
            self._probes += 1
            self._freeze(now, asked)
        elif asked is not None:
            self._frozen_until = max(self._frozen_until, now + asked)

    @property
    def _cycle(self) -> float:
        """When the endpoint last let go."""
        return self._released[-1] if self._released else self._began or 0.0

    def _freeze(self, now: float, asked: float | None) -> None:
        """Say when a single request is sent next."""
        self._shut_at = now if asked is None else now + asked - 1.0
        if asked is not None:
            least = _LEAST_FREEZE * 2.0 ** min(self._probes, 10) if self._probes else 0.0
            self._frozen_until = now + min(max(asked, least), _LONGEST_FREEZE)
            return
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
        return began + _LATE * window + _JITTER

    def _resume(self, now: float) -> None:
        """Let the brake go, with a rate for what was learned."""
        assert self._frozen_at is not None
        again = self._probe if self._probe is not None else now
        frozen_at, window, cycle = self._frozen_at, self._window, self._cycle
        froze = again - frozen_at
        answered = self.requests.sent.since(cycle, again - _MOMENT)
        if window is None or (len(self._released) == 1 and answered < _LEFT_OVER):
            self._guess(frozen_at, again)
        elif self._has_overshot(frozen_at):
            self._is_unsure, self._step = False, _STEP
            self._patience = min(_LONGEST_PATIENCE, 2.0 * self._patience)
            self._bind()
        elif _FULL * window < frozen_at - cycle and froze <= max(_SHORT_FREEZE, _SHORT_SHARE * window):
            self._step, self._patience = _STEP, min(_LONGEST_PATIENCE, 2.0 * self._patience)
            self._fall(frozen_at, again)
        elif frozen_at - cycle > _SPAN * window:
            self._forget(frozen_at, froze)
        else:
            self._refute(again)
        if self._window is not None:
            self._released.append(again)
        self._changed_at = self._frozen_before = again
        self._is_beyond, self._crept, self._frozen_at, self._probe = False, 1.0, None, None
        for pace in self._paces.values():
            pace.restart(now)

    def _guess(self, frozen_at: float, again: float) -> None:
        """Take the time until the endpoint let go for the first time as its window, and what it answered as its limit."""
        assert self._began is not None
        seconds, least = again - self._began, self._shut_at - self._began
        possible = [window for window in (*WINDOWS, *_FINER) if least <= window <= seconds]
        window = max(possible or [seconds])
        since, until = max(self._began, frozen_at - window) - _MOMENT, again - _MOMENT
        requests = self.requests.sent.since(since, until)
        if requests < 1.0:  # it has answered nothing at all: nothing is known of what it allows
            self._began = again
            self._scale(0.5)
            return
        self._window = max(1.0, window)
        self._binding, few = (self.tokens, _FEW_OF_TOKENS) if self._estimates.do_vary else (self.requests, _FEW)
        self._is_unsure = requests < few or window not in _USUAL
        self._step = _UNSURE_STEP if self._is_unsure else _STEP
        self._bind((window, (since, until)))

    def _forget(self, frozen_at: float, froze: float) -> None:
        """Take what was answered lately as the limit: it allows less than it did for long."""
        window = next((window for window in WINDOWS if window >= froze), froze)
        self._window, self._is_unsure, self._step = window, True, _UNSURE_STEP
        self._released.clear()
        self._bind((window, (frozen_at - window, frozen_at)))

    def _bind(self, guessed: tuple[float, tuple[float, float]] | None = None) -> None:
        """Let the limit that was guessed hold for the kind that binds, and leave the other one some room."""
        self._guessed = guessed = guessed or self._guessed
        assert guessed is not None
        window, span = guessed
        for pace in self._paces.values():
            amount = pace.sent.since(*span)
            if amount > 0:
                limit = amount if pace is self._binding else _OTHER_KIND * amount
                pace.learn(limit / window, limit, span)

    def _has_overshot(self, frozen_at: float) -> bool:
        """Whether more was given than was found, and was refused before it had lasted: what was found holds."""
        if self._guessed is None or not self._released:
            return False
        window, span = self._guessed
        is_more = (self._binding.pace or 0.0) > _OVERSHOT * self._binding.sent.since(*span) / window
        return is_more and frozen_at - self._released[0] < _LASTED * window

    def _mean_until(self, again: float, window: float) -> tuple[float, float]:
        """Return from when to when to take the mean: between moments at which it let go, with many requests and windows."""
        since, until = again, again - _MOMENT
        for mark in reversed(self._released or [self._cycle]):
            if self.requests.sent.since(since - _MOMENT, until) >= _MANY_ENOUGH and again - mark > _SPAN * window:
                break
            since = mark
        self._is_unsure = self.requests.sent.since(since - _MOMENT, until) < 2 * _FEW
        return since - _MOMENT, until

    def _refute(self, again: float) -> None:
        """Give the window up, and let the mean of what was answered hold."""
        self._window, self._guessed = max(1.0, again - self._cycle), None
        span = self._mean_until(again, self._window)
        self._step = _UNSURE_STEP if self._is_unsure else _STEP
        for pace in self._paces.values():
            mean = pace.sent.since(*span) / max(span[1] - span[0], 1e-3)
            if mean > 0:
                pace.learn(_MARGIN * mean * (1.0 if pace is self._binding else _OTHER_KIND), 0.0, span)

    def _fall(self, frozen_at: float, again: float) -> None:
        """Take a little back: the window was full, and let go as soon as was thought."""
        window = self._window or 1.0
        span = self._mean_until(again, window)
        if self._guessed is not None and self._released and frozen_at - self._cycle > _RARE * window:
            # The window holds what it held: one request came too early, or another one too late.
            self._scale(min(_FALL_OF_RARE, _NEAR / self._crept))
            return
        seconds = max(span[1] - span[0], 1e-3)
        shares = [pace.sent.since(*span) / seconds / pace.pace for pace in self._paces.values() if pace.pace]
        least = _LEAST_FALL if self._guessed is None else _LEAST_FALL_OF_WINDOW
        self._scale(min(_FALL, max(least, *shares)))

    def _creep(self, now: float) -> None:
        """Give a little more after a quiet time, and soon again while that lasts."""
        pace = self.requests.pace
        if self._frozen_at is not None or pace is None:
            return
        patience = _SHORTEST_PATIENCE if self._is_beyond else self._patience
        if self._is_unsure:
            patience = 1.0
        quiet = patience * max(1.0, self._window or 1.0, 2.0 * self._latency if patience > 1.0 else 0.0)
        if now - self._changed_at < max(quiet, _QUIET_REQUESTS / pace):
            return
        self._changed_at = now
        factor = 1.0 + self._step
        self._step = min(_LARGEST_STEP, (2.0 if self._is_beyond else 1.5) * self._step)
        self._crept, self._is_beyond = self._scale(factor), True

    def _scale(self, factor: float) -> float:
        """Give more or less of both kinds; return what that came to, where one of them may have no more."""
        return min([pace.scale(factor) for pace in self._paces.values()])


_TOLD_SHARE = 0.97
_CATCH_UP = 1.5
_SPREAD = 1.1


class Pace:
    """Spreads what is sent of one thing - requests, tokens - and counts it in a window that slides, where one is known.

    A limit that is kept in every window that slides is kept by a server that counts in windows of its own, and by one
    that fills up again, too.

    Args:
        known: What the user allows in a minute at most; None for no limit.
        learned: What was learned in an earlier session.

    Attributes:
        pace: What is sent in a second in the long run; None while no limit is known.
        sent: What was sent.
    """

    def __init__(self, known: float | None = None, learned: float | None = None) -> None:
        self._known = None if known is None else known / 60.0
        self.pace = self._known
        self._limit = 0.0  # of the window that slides; none while it is 0
        self._said: float | None = None
        self._is_refuted = False
        self._longest_reset = 0.0
        self._left = self._left_until = 0.0
        self.sent = Ledger()
        self._span: tuple[float, float, float] | None = None
        self._next = self._latest = 0.0
        if learned is not None:
            self.learn(learned)

    @property
    def learned(self) -> float | None:
        """What was learned; None where only the user knows, or nobody."""
        return None if self.pace == self._known else self.pace

    def wait(self, now: float, amount: float) -> float:
        """Return the seconds until so much may be sent; 0 or less lets it go now."""
        wait = 0.0 if self.pace is None else self._next - now
        if now < self._left_until and self._left < 1.0:
            wait = max(wait, self._left_until - now)
        if self._limit and self.pace:
            seconds = _LATE * self._limit / self.pace + _JITTER
            wait = max(wait, self.sent.wait(now, seconds, self._limit - amount))
        return wait

    def spend(self, now: float, amount: float) -> None:
        """Count what is sent. A late sleeper may make up for it, so that a busy machine keeps the pace."""
        self._latest = amount
        self.sent.add(now, amount)
        self._left -= amount
        if self.pace is not None:
            share = amount / (self.pace * (_SPREAD if self._limit else 1.0))
            self._next = max(self._next, now - _CATCH_UP * share) + share

    def settle(self, sent: float, amount: float) -> None:
        """Count what a request was found to be, in place of what :meth:`spend` was told; nothing where it was refused."""
        beyond = self.sent.settle(sent, amount)
        if self.pace is not None and not self._limit:
            self._next += beyond / self.pace
        self._follow()

    def rescale(self, factor: float) -> None:
        """Follow what is counted, when it is found to be more or less than it was taken to be."""
        self.sent.rescale(factor)
        self._follow()

    def _follow(self) -> None:
        """Let what was learned from what was sent follow it, until all of that is known."""
        if self._span is not None and self.pace is not None:
            first, last, before = self._span
            now = self.sent.since(first, last)
            if before and now and now != before:
                self._limit *= now / before
                self._set(self.pace * now / before)
            self._span = None if self.sent.is_known(first, last) else (first, last, now)

    def restart(self, now: float) -> None:
        """Begin to spread anew, without debts, after what was sent at this moment."""
        self._next = now if self.pace is None else now + self._latest / self.pace

    def learn(self, pace: float, limit: float = 0.0, span: tuple[float, float] | None = None) -> None:
        """Take a pace that was estimated: what the endpoint has said of itself was refuted.

        Args:
            pace: How much in a second.
            limit: How much of it may go at once, as far as a window is known.
            span: Between which moments was sent what this was learned from.
        """
        self._is_refuted, self._limit = True, limit
        self._span = None if span is None else (*span, self.sent.since(*span))
        self._set(pace)

    def scale(self, factor: float) -> float:
        """Give so many times as much, but not more than the endpoint says; return how many times as much that is.

        The window that slides becomes as much shorter or longer.
        """
        if self.pace is None:
            return factor
        before, pace = self.pace, self.pace * factor
        self._set(pace if self._said is None or factor < 1.0 else min(pace, _TOLD_SHARE * self._said))
        return self.pace / before

    def advise(self, advice: Advice, sent: float) -> None:
        """Do as an endpoint says.

        Where it names no window, the longest time until all is there again stands for it, until that is refuted.

        Args:
            advice: What it says.
            sent: When the request was sent that it answers.
        """
        left, reset = advice.remaining, advice.reset
        if left is not None and reset is not None:
            self._longest_reset = max(self._longest_reset, reset)
            self._left, self._left_until = left - self.sent.since(sent + 2 * _MOMENT), sent + reset
        window = advice.window or (None if self._is_refuted else self._longest_reset)
        if advice.limit and window:
            said = advice.limit / window
            if self._said is None or abs(said - self._said) > 0.001 * said:
                self._said, self._limit = said, advice.limit
                self._set(_TOLD_SHARE * said)

    def _set(self, pace: float) -> None:
        self.pace = pace if self._known is None else min(pace, self._known)


_REMEMBERED = 60_000
_VARIED = 1.1


class Ledger:
    """What was sent and not refused, and when."""

    def __init__(self) -> None:
        self._moments: list[float] = []
        self._amounts: list[float] = []
        self._is_settled: list[bool] = []
        self._known = 0  # all before it is settled
        self._first, self._inside = 0, 0.0  # of the window that was asked for last

    def add(self, now: float, amount: float) -> None:
        """Count what is sent."""
        self._moments.append(now)
        self._amounts.append(amount)
        self._is_settled.append(False)
        self._inside += amount
        if len(self._moments) > 2 * _REMEMBERED:
            self._inside -= sum(self._amounts[self._first : _REMEMBERED])
            del self._moments[:_REMEMBERED], self._amounts[:_REMEMBERED], self._is_settled[:_REMEMBERED]
            self._first, self._known = max(0, self._first - _REMEMBERED), max(0, self._known - _REMEMBERED)

    def settle(self, sent: float, amount: float) -> float:
        """Count what was sent at a moment as so much, and return by how much that is more than before."""
        number = bisect_right(self._moments, sent + 1e-6) - 1
        while number >= 0 and self._is_settled[number]:
            number -= 1
        if number < 0:
            return 0.0
        beyond = amount - self._amounts[number]
        self._amounts[number] = amount
        self._is_settled[number] = True
        if number >= self._first:
            self._inside += beyond
        return beyond

    def rescale(self, factor: float) -> None:
        """Count what is not settled as so many times as much."""
        while self._known < len(self._moments) and self._is_settled[self._known]:
            self._known += 1
        if abs(factor - 1.0) > 1e-9:
            for number in range(self._known, len(self._moments)):
                if not self._is_settled[number]:
                    self._inside += (factor - 1.0) * self._amounts[number] * (number >= self._first)
                    self._amounts[number] *= factor

    def is_known(self, first: float, last: float) -> bool:
        """Whether all that was sent between two moments is settled."""
        return all(self._is_settled[bisect_left(self._moments, first) : bisect_right(self._moments, last)])

    def since(self, moment: float, until: float = float("inf")) -> float:
        """Return what was sent from one moment to another, both counted in."""
        return sum(self._amounts[bisect_left(self._moments, moment) : bisect_right(self._moments, until)])

    def wait(self, now: float, seconds: float, room: float) -> float:
        """Return the seconds until so many seconds hold no more than there is room for."""
        moments, amounts = self._moments, self._amounts
        while self._first < len(moments) and moments[self._first] <= now - seconds:
            self._inside -= amounts[self._first]
            self._first += 1
        while self._first and moments[self._first - 1] > now - seconds:
            self._first -= 1
            self._inside += amounts[self._first]
        beyond, number = self._inside - room, self._first
        while beyond > 1e-6 and number < len(moments):
            beyond -= amounts[number]
            number += 1
        return moments[number - 1] + seconds - now if number > self._first else 0.0


class Estimates:
    """What tokens requests turn out to have, beside what was estimated."""

    def __init__(self) -> None:
        self._estimated = self._actual = self._mean = 0.0
        self._ratio = 1.0
        self._count = 0
        self._least, self._most = float("inf"), 0.0

    def note(self, estimate: float) -> None:
        """Take what a request is estimated to have."""
        if estimate:
            self._least, self._most = min(self._least, estimate), max(self._most, estimate)

    def charge(self, estimate: float) -> float:
        """Return the tokens that a request is taken to have: its estimate, as estimates were borne out; else the mean."""
        return estimate * self._ratio if estimate else self._mean

    def learn(self, tokens: float, estimate: float) -> float:
        """Take the tokens that a request had, beside what was estimated; return what all tokens are to be multiplied by."""
        self._count += 1
        self._mean += (tokens - self._mean) / self._count
        if not estimate:
            self.note(tokens)
            return 1.0
        self._estimated += estimate
        self._actual += tokens
        before, self._ratio = self._ratio, self._actual / self._estimated
        return self._ratio / before

    @property
    def do_vary(self) -> bool:
        """Whether the tokens of requests differ, so that a limit of tokens is another one than a limit of requests."""
        return self._most > _VARIED * self._least


_KIND = "requests|(?:input-|output-)?tokens"
_NAME = re.compile(
    rf"^(?:[a-z0-9]+-)*?(?:ratelimit|rate-limit)-(?:(?P<kind>{_KIND})-)?(?P<fact>limit|remaining|reset)"
    rf"(?:-(?P<after>{_KIND}))?(?:-(?P<window>second|minute|hour|day))?$"
)
_FIELDS = ("ratelimit", "ratelimit-policy", "x-ratelimit-policy")
_WINDOWS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_WORD = re.compile(r"\b(limit|remaining|reset)\s*=\s*([\d.]+)")
_SPANS = re.compile(r"^(?:(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?)$")
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_PARAMETER = re.compile(r';\s*(\w+)\s*=\s*"?([\w.]+)"?')
_SINCE_1970 = 1e9
_NAMES = ((REQUESTS, REQUESTS), (TOKENS, "output-tokens"), (TOKENS, "input-tokens"), (TOKENS, TOKENS))
"""Kinds by the names that servers use, the best last: input and output are counted together here."""


@define
class Advice:
    """What an endpoint says of one of its limits.

    Attributes:
        limit: How much it allows in a window.
        remaining: How much is left of it.
        reset: Seconds until it is all there again.
        window: Seconds of the window; None when it does not say.
    """

    limit: float | None = None
    remaining: float | None = None
    reset: float | None = None
    window: float | None = None


def advice_in(headers: Any, now: float | None = None) -> dict[str, Advice]:
    """Return what headers say of the limits of requests and of tokens; nothing where they say nothing.

    Read are the patterns that many servers share, whatever stands before them: ``PREFIX-limit-requests``,
    ``-remaining-tokens`` and ``-reset-requests``, ``PREFIX-requests-limit`` and its like, ``ratelimit-limit`` without a kind
    (requests), a window as the last word (``-limit-tokens-minute``), the window of ``ratelimit-policy`` (``100;w=60``), and
    the fields of the IETF drafts (``"default";q=100;w=60`` with ``"default";r=50;t=30``; ``limit=100, remaining=50,
    reset=30``). A reset is seconds, a span such as ``6m0s`` or ``20ms``, a moment in seconds since 1970, or a date; a moment
    is measured against the answer's ``Date``.

    >>> advice_in({"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1m0s"})
    {'requests': Advice(limit=60.0, remaining=None, reset=60.0, window=None)}
    """
    if not isinstance(headers, Mapping):
        return {}
    found: dict[tuple[str, str | None], Advice] = {}
    for name, value in headers.items():
        lowered = str(name).lower()
        if "limit" not in lowered or not isinstance(value, str):
            continue
        if lowered in _FIELDS:
            _read_fields(found.setdefault((REQUESTS, None), Advice()), value)
        elif match := _NAME.match(lowered):
            place = match["kind"] or match["after"] or REQUESTS, match["window"]
            advice = found.setdefault(place, Advice(window=_WINDOWS.get(match["window"])))
            if match["fact"] == "reset":
                advice.reset = _seconds(value.strip(), headers, now)
            else:
                setattr(advice, match["fact"], _number(re.split(r"[,;]", value)[0]))
                advice.window = _parameters(value).get("w", advice.window)  # a policy may stand behind: 100, 100;w=60
    best: dict[str, Advice] = {}
    for kind, name in _NAMES:
        told = [
            one for (named, _), one in found.items() if named == name and (one.limit, one.remaining) != (None, None)
        ]
        if told:
            best[kind] = min(told, key=_tightness)
    return best


def _tightness(advice: Advice) -> tuple[float, ...]:
    """Of several windows the one with the least left binds, then the shortest."""
    return tuple(float("inf") if part is None else part for part in (advice.remaining, advice.window))


def _read_fields(advice: Advice, value: str) -> None:
    """Read structured fields; of several policies the one with the longest window holds for a run."""
    for fact, amount in _WORD.findall(value):
        setattr(advice, fact, _number(amount))
    for item in value.split(","):
        said, old = _parameters(item), _number(item.partition(";")[0])
        window = said.get("w")
        if window is not None and window >= (advice.window or 0.0):
            advice.window, advice.limit = window, said.get("q", advice.limit if old is None else old)
        advice.remaining, advice.reset = said.get("r", advice.remaining), said.get("t", advice.reset)


def _parameters(text: str) -> dict[str, float | None]:
    return {name: _number(value) for name, value in _PARAMETER.findall(text)}


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None


def _seconds(text: str, headers: Mapping[str, Any], now: float | None) -> float | None:
    """Return the seconds until a reset."""
    moment = _number(text)
    if moment is None:
        spans = _SPANS.match(text)
        if spans is not None and text:
            return sum(float(part) * unit for part, unit in zip(spans.groups(), _UNITS, strict=True) if part)
        try:
            date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            return None
        moment = (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    elif moment <= _SINCE_1970:
        return moment
    if now is None:
        said = date_of(headers.get("date") or headers.get("Date"))
        now = time() if said is None else said.timestamp()
    return max(0.0, moment - now)
