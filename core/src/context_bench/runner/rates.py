"""Rates: what an endpoint allows, in requests and in tokens a second, learned from what it says and from what it refuses.

What it says counts (:mod:`context_bench.runner.rate_headers`). What it says nothing of is estimated in requests, not in
seconds: nobody knows whether 50 answers and a refusal mean 50 a second or 50 a minute. So after a refusal one request is sent
after one second, two, five and so on, as far as the requests before allow such a window at all; the first one that is
answered tells the window, and what was answered in the window tells the limit. From then on requests are spread evenly.
A refusal later on takes a little back, and a quiet time gives a little more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.runner.pace import Pace, Sendings
from context_bench.runner.rate_headers import Advice

WINDOWS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds for which endpoints count; the longest is doubled where it is not enough."""

_USUAL = (1.0, 10.0, 60.0)
_MARGIN, _FALL = 0.97, 0.96
_LATE = 1.02
_LEAST_FREEZE, _SHARE_OF_WINDOW = 0.3, 0.05
_LONGEST_FREEZE = 300.0
_NEAR, _STEP, _UNSURE_STEP, _LARGEST_STEP = 0.99, 0.02, 0.08, 0.25
_UNSURE_QUIET = 10.0
_PATIENCE, _LONGEST_PATIENCE = 8.0, 64.0
_SNAP = 0.75
_FEW, _LEAST = 5.0, 0.1
_LEAST_FALL, _OFTEN, _LONG = 0.6, 8.0, 3.0
_STEADY, _LONG_FREEZE = 0.7, 0.3
_TRIALS = ((1000.0, 0.1), (300.0, 0.3))
_OTHER_KIND = 1.25
_VARIED = 0.05


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
        self._sendings = Sendings()
        self._cycle = self._cycle_before = 0.0
        self._frozen_at: float | None = None
        self._frozen_until = 0.0
        self._frozen_before = 0.0
        self._candidates: list[float] = []
        self._is_probing = False
        self._probe: float | None = None
        self._repeated = 0
        self._refusal_seconds = 0.05
        self._latency = 0.0
        self._changed_at = 0.0
        self._step, self._patience = _STEP, _PATIENCE
        self._ceiling: float | None = None
        self._is_unsure = False
        self._first_resumed: float | None = None
        self._refused_at = -float("inf")
        self._cycles: list[tuple[float, float]] = []

    def learned(self) -> dict[str, Any]:
        """Return what is known of the limits, for the next session."""
        known = {"requests": self.requests.learned, "tokens": self.tokens.learned, "window": self._window}
        return {name: value for name, value in known.items() if value is not None}

    def wait(self, now: float, tokens: float) -> float:
        """Return the seconds until the next request may be sent; 0 or less lets it go now."""
        if self._frozen_at is not None:
            if now < self._frozen_until:
                return self._frozen_until - now
            if self._is_probing:
                if self._probe is None:
                    return 0.0
                patience = self._probe + max(0.1, 3.0 * self._refusal_seconds) - now
                if patience > 0:
                    return patience
            self._resume(now)
        return max(self.requests.wait(now), self.tokens.wait(now))

    def sent(self, now: float, tokens: float) -> None:
        """Take note that a request is sent."""
        if not self._sendings.total:
            self._cycle = self._changed_at = now
        self._sendings.add(now, tokens)
        self.requests.spend(now, 1.0)
        self.tokens.spend(now, self._sendings.charge(tokens))
        if self._frozen_at is not None and self._is_probing and self._probe is None:
            self._probe = now

    def answered(
        self, now: float, seconds: float, tokens: float, expected: float, said: Advice | None, of_tokens: Advice | None
    ) -> None:
        """Learn from an answer; ``said`` is what it said of requests, ``of_tokens`` of tokens."""
        sent = now - seconds
        self._latency = max(seconds, 0.9 * self._latency)
        if tokens:
            self.tokens.debit(tokens - self._sendings.charge(expected))
            self.tokens.rescale(self._sendings.learn(tokens, expected))
        if said is not None or of_tokens is not None:
            requests_after, tokens_after = self._sendings.since(sent)
            if said is not None:
                self.requests.advise(said, sent, now, max(0.0, requests_after - 1.0))
            if of_tokens is not None:
                self.tokens.advise(of_tokens, sent, now, max(0.0, tokens_after - tokens))
        if self._frozen_at is not None and self._probe is not None and sent >= self._probe - 1e-6:
            self._resume(now)
        self._creep(now)

    def refused(
        self,
        now: float,
        seconds: float,
        asked: float | None,
        expected: float,
        said: Advice | None,
        of_tokens: Advice | None,
    ) -> None:
        """Learn from a refusal; ``asked`` is what its ``Retry-After`` said."""
        sent = now - seconds
        self.refusals += 1
        self._refusal_seconds = max(seconds, 0.5 * self._refusal_seconds)
        self._sendings.take_back(sent, expected)
        for pace, advice in ((self.requests, said), (self.tokens, of_tokens)):
            if advice is not None:
                pace.advise(advice, sent, now, 0.0)
                if asked is None and advice.remaining is not None and advice.remaining < 1:
                    asked = advice.reset
        if self._frozen_at is None:
            if sent < self._frozen_before:
                return  # sent before the last brake took hold: it says nothing new
            self._freeze(now, asked)
        elif self._probe is not None and sent >= self._probe - 1e-6:
            self._probe = None
            self._repeated += 1
            self._freeze_again(now, asked)
        elif asked is not None:
            self._frozen_until = max(self._frozen_until, now + min(asked, _LONGEST_FREEZE))

    # The brake.

    def _freeze(self, now: float, asked: float | None) -> None:
        self._frozen_at = now
        self._is_probing, self._probe = False, None
        if self._is_repeated(now):
            self._repeated += 1
        else:
            self._repeated = 0
        if asked is not None and not self._repeated:
            self._frozen_until = now + min(asked, _LONGEST_FREEZE)
            return
        self._candidates = self._possible_windows(now)
        self._is_probing = True
        self._freeze_again(now, asked)

    def _freeze_again(self, now: float, asked: float | None) -> None:
        assert self._frozen_at is not None
        least = _LEAST_FREEZE * 2.0 ** min(self._repeated, 10) if asked is not None else _LEAST_FREEZE
        if asked is not None:
            self._frozen_until = now + min(max(asked, least), _LONGEST_FREEZE)
        elif self._is_steady(self._frozen_at) and self._window is not None:
            seconds = _SHARE_OF_WINDOW * self._window * 2.0**self._repeated
            self._frozen_until = now + max(least, min(seconds, self._window))
        else:
            while self._candidates and self._moment(self._candidates[0]) < now + least:
                self._candidates.pop(0)
            if not self._candidates:
                self._candidates = [max(WINDOWS[-1], 2.0 * (now - self._cycle))]
            moment = self._moment(self._candidates[0])
            gap = max(1.0, self._share_to_wait() * (now - self._frozen_at))
            self._frozen_until = max(now + least, min(moment, now + gap))

    def _share_to_wait(self) -> float:
        """Return how long to wait for the next trial, as a share of what was waited: many answers pay for many trials."""
        answers = self._sendings.since(self._cycle)[0]
        return next((share for least, share in _TRIALS if answers >= least), 100.0)

    def _moment(self, window: float) -> float:
        """Return when a window of so many seconds is over for sure."""
        return self._beginning(window) + _LATE * window + 0.02

    def _beginning(self, window: float) -> float:
        """Return when the window of so many seconds began at the latest in which a request was refused."""
        assert self._frozen_at is not None
        return self._cycle if self._cycle + window > self._frozen_at else self._frozen_at

    def _possible_windows(self, now: float) -> list[float]:
        """Return the windows that what was answered before allows: none in which more was answered earlier."""
        if self.requests.pace is not None and self._window is not None:
            least = max(self._window, now - self._cycle)
            return [window for window in WINDOWS if window > least]
        return [window for window in WINDOWS if self._sendings.is_record(window, now)]

    def _is_steady(self, now: float) -> bool:
        """Whether the rate was kept for longer than the window: then it is only a little too high."""
        return (
            self.requests.pace is not None and self._window is not None and now - self._cycle > _STEADY * self._window
        )

    def _is_repeated(self, now: float) -> bool:
        """Whether the endpoint refuses at once what it was asked after the last brake."""
        return self._frozen_before > 0 and self._sendings.since(self._cycle)[0] < 1.0 and now - self._cycle < 1.0

    def _resume(self, now: float) -> None:
        """Let the brake go, with a rate for what was learned."""
        assert self._frozen_at is not None
        frozen_at = self._frozen_at
        again = self._probe if self._probe is not None else max(self._frozen_until, frozen_at)
        if self._is_steady(frozen_at) and again - frozen_at <= max(1.0, _LONG_FREEZE * (self._window or 0.0)):
            self._step, self._patience = _STEP, min(_LONGEST_PATIENCE, 2.0 * self._patience)
            fall = self._fall(frozen_at)
            self._ceiling, self._is_unsure = (self.requests.pace or 0.0) * fall, False
            for pace in (self.requests, self.tokens):
                pace.slow_down(fall)
        else:
            self._estimate(frozen_at, again)
        self._frozen_before = now if self._probe is None else self._probe
        self._cycle_before, self._cycle = self._cycle, self._frozen_before
        self._changed_at = self._cycle
        if self._first_resumed is None:
            self._first_resumed = self._cycle
        self._frozen_at, self._probe, self._is_probing = None, None, False
        self.requests.restart(now)
        self.tokens.restart(now)

    def _fall(self, now: float) -> float:
        """Return the share of the pace that is kept: little is taken once, and what was too much all along at once."""
        pace, since = self.requests.pace, self._first_resumed
        is_often, self._refused_at = now - self._refused_at < _OFTEN * (self._window or 1.0), now
        if not is_often or pace is None or since is None or now <= since:
            return _FALL
        seconds = now - since
        borne = zip((self.requests, self.tokens), self._sendings.since(since), strict=True)
        shares = [amount / seconds / pace.pace for pace, amount in borne if pace.pace]
        is_enough = seconds > _LONG * (self._window or 1.0) and self._sendings.since(since)[0] >= 2 * _FEW
        return max(_LEAST_FALL, min(_FALL, max(shares))) if is_enough else _FALL

    def _estimate(self, frozen_at: float, again: float) -> None:
        window = max(again - self._cycle, 1e-3)
        if self._is_probing and self._candidates and not self._is_steady(frozen_at):
            window = min(self._candidates[0], again - self._beginning(self._candidates[0]))
        elif self._is_probing:  # the window began some time before the first request after the last brake
            window = next((usual for usual in reversed(_USUAL) if _SNAP * window <= usual <= window), window)
        else:  # whole seconds were asked for
            window = next((whole for whole in reversed(WINDOWS) if window - 1.0 <= whole <= window), window)
        since = max(self._cycle, frozen_at - window)
        requests, tokens = self._sendings.since(since - 1e-6, frozen_at)
        if requests < _FEW and self._window is not None and window >= _LONG * self._window:
            # What let the brake go was small enough for what was left of the window; nothing began anew there.
            window = again - self._cycle_before
            requests, tokens = self._sendings.since(self._cycle_before - 1e-6, frozen_at)
        self._is_unsure = requests < _FEW or (self._is_probing and window not in _USUAL)
        self._step = _UNSURE_STEP if self._is_unsure else _STEP
        if requests < 1.0:  # it has answered nothing at all
            self._is_unsure, self._window = True, max(1.0, self._window or 1.0)
            self.requests.learn(max(_LEAST, 0.5 * (self.requests.pace or 2.0 * _LEAST)))
            self.tokens.slow_down(0.5)
            return
        hint = self.requests.longest_reset or self.tokens.longest_reset
        if hint and window < hint:  # a window that slides holds what was sent before the last brake, too
            more, some = self._sendings.since(again - hint, frozen_at)
            if more / hint > 2.0 * requests / window:
                window, requests, tokens = hint, more, some
        self._window = max(1.0, window)
        self._ceiling = requests / window
        self._cycles.append((requests, tokens))
        binds_tokens = self._binds_tokens()
        self.requests.learn(requests / window * _MARGIN * (_OTHER_KIND if binds_tokens else 1.0))
        if tokens > 0:
            self.tokens.learn(tokens / window * _MARGIN * (1.0 if binds_tokens else _OTHER_KIND))

    def _binds_tokens(self) -> bool:
        """Whether tokens are what is limited: their sum is what comes back window after window, or nothing tells yet."""
        if self._sendings.variation <= _VARIED:
            return False
        if len(self._cycles) < 2:
            return True
        (requests, tokens), (others, more) = self._cycles[-2:]
        return abs(tokens - more) / max(tokens, more) <= abs(requests - others) / max(requests, others)

    def _creep(self, now: float) -> None:
        """Give a little more after a quiet time: soon up to what was found, later and slowly beyond it."""
        pace, ceiling = self.requests.pace, self._ceiling
        if self._frozen_at is not None or pace is None:
            return
        is_below = ceiling is not None and pace < _NEAR * ceiling
        patience = 1.0 if is_below or self._is_unsure else self._patience
        quiet = patience * max(1.0, self._window or 1.0, 2.0 * self._latency if patience > 1.0 else 0.0)
        if self._is_unsure:
            quiet = min(quiet, _UNSURE_QUIET)
        if now - self._changed_at < quiet:
            return
        self._changed_at = now
        factor = 1.0 + self._step
        if is_below and ceiling is not None and not self._is_unsure:
            factor = min(factor, _NEAR * ceiling / pace + 1e-6)
        elif not is_below:
            self._step = min(_LARGEST_STEP, 1.5 * self._step)
        self.requests.speed_up(factor)
        self.tokens.speed_up(factor)
