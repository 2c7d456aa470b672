"""Rates: what an endpoint allows, in requests and in tokens a second, learned from what it says and from what it refuses.

What it says counts (:mod:`context_bench_limits.headers`), until it refuses what it allowed. What it says nothing of is
estimated in requests, not in seconds: nobody knows whether 50 answers and a refusal mean 50 a second or 50 a minute. So after
a refusal nothing is sent but single requests, after one second, two, five and so on. The first that is answered tells a
window, and what was answered until then tells its limit.

That is a guess: a bucket that fills up again has room long before a window is over. Where the guess is refuted - refused
though its window had room, or shut for longer than its window - the mean between two moments at which the endpoint let go
holds: whatever way a server counts, what it answered from one to the next is what it allows. From then on a refusal takes a
little back, and a quiet time gives a little more.

A window may be shorter than a second: one request in 20 ms is how many a server counts 50 a second. So the first trials come
sooner, and where they leave it open by how much the window is shorter, the pace is sought: twice as much as was kept, until
one is refused, and then what lies between. A longer window may be shorter than it was found, too, by as much as lies between
the moments at which it was asked whether it is over: once it has held, shorter ones are tried in the same way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from context_bench_limits.headers import REQUESTS, TOKENS, advice_in
from context_bench_limits.pace import JITTER, LATE, MOMENT, Estimates, Pace

WINDOWS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds for which endpoints count; the longest is doubled where it is not enough."""

_SHORTER = (0.1, 0.4)
_FINER = (1.5, 3.0, 4.0, 6.0, 8.0, 12.0, 15.0, 25.0, 40.0, 50.0, 90.0)
_MANY = 100.0
_USUAL = (1.0, 10.0, 60.0)
_LEAST_FREEZE, _SOON, _LONGEST_FREEZE = 0.3, 1.0, 300.0
_LONGEST_OF_ASKED = 16.0
_DOUBT, _MUCH_DOUBT, _PATIENCE_OF_DOUBT, _LIKELY = 1.4, 3.0, 2.0, 1.6
_CLOSE, _CLOSE_OF_WINDOW = 1.05, 1.1
_TRIED, _TRIED_BETWEEN, _LEAST_TRIED, _USED = 3.0, 2.0, 0.3, 0.7
_NEAR, _STEP, _UNSURE_STEP, _LARGEST_STEP = 0.99, 0.02, 0.08, 0.25
_QUIET_REQUESTS = 11.0
_PATIENCE, _LONGEST_PATIENCE, _SHORTEST_PATIENCE = 8.0, 64.0, 2.0
_FEW, _FEW_OF_TOKENS = 5.0, 20.0
_FULL, _SHORT_FREEZE, _SHORT_SHARE = 0.7, 1.5, 0.3
_SPAN, _PAUSE = 5.0, 30.0
_OTHER_KIND = 1.25
_MARGIN, _FALL, _LEAST_FALL, _LEAST_FALL_OF_WINDOW = 0.98, 0.96, 0.6, 0.92
_LEFT_OVER, _MANY_ENOUGH = 3.0, 30.0
_RARE, _FALL_OF_RARE = 3.0, 0.98
_OVERSHOT, _LASTED = 1.005, 1.5

_COMPARED, _SLOWER, _AS_MANY = 5, 0.6, 1.2
"""Refused at random: so many refusals came at this share of the rate at which as many came before, or less, and after at most
so many times as many answers."""
_MUCH_SLOWER = 0.05
"""Refused at random, too, where refusals still come at this share of the highest rate: a limit that has fallen so far is
found again once the requests that are let go are refused."""
_LATEST, _MANY_REFUSED = 64, 0.6

_GENTLE_SECONDS = 0.22
_GENTLE_RATE = 300.0
_CATCH_UP = 1.5
"""An endpoint of which nothing is known is sent its first requests, some 64, at so many a second: where it refuses, few of
them are refused."""


class Rates:
    """Says how long the next request has to wait. Not safe to use from several threads; its owner holds a lock.

    Args:
        requests, tokens: Limits a minute that the user knows; None learns them.
        learned: What :meth:`learned` told in an earlier session.
        is_first_gentle: Whether the first requests are paced where nothing is known.
    """

    def __init__(
        self,
        requests: float | None,
        tokens: float | None,
        learned: Mapping[str, Any],
        is_first_gentle: bool = False,
    ) -> None:
        self.requests = Pace(requests, learned.get(REQUESTS))
        self.tokens = Pace(tokens, learned.get(TOKENS))
        self._paces = {REQUESTS: self.requests, TOKENS: self.tokens}
        self._window: float | None = learned.get("window")
        self._estimates = Estimates()
        self._binding = self.requests
        self._began: float | None = None
        is_unknown = requests is None and tokens is None and not learned
        self._is_first_gentle = is_first_gentle and is_unknown
        self._next_gently = 0.0
        self._latest = self._changed_at = 0.0
        self._released: list[float] = []  # moments at which it let go, with a window known
        self._guessed: tuple[float, tuple[float, float]] | None = (
            None  # a window, and from when to when it was filled
        )
        self._step, self._patience, self._crept = _STEP, _PATIENCE, 1.0
        self._is_unsure = self._is_beyond = False
        self._is_seeking = False  # a pace between one that was kept and one that was refused
        self._is_doubtful = False  # the window: nobody asked shortly before whether it was over
        self._doubt = 1.0  # how many times shorter it may be
        self._falls = (
            0  # since more was given, from a pace that was sought; none while there is no such pace
        )
        self._kept: float | None = None
        self._too_fast: float | None = None
        self._latency, self._refusal_seconds = 0.0, 0.05
        # What is sent slower and refused as often.
        self._cycles: deque[tuple[float, float]] = deque(maxlen=2 * _COMPARED)
        self._best_rate = 0.0  # the highest rate of answers over some cycles
        self._outcomes: deque[bool] | None = None  # whether each of the latest was refused
        self._is_rate_certain = False
        # The brake.
        self._frozen_at: float | None = None
        self._frozen_until = self._frozen_before = 0.0
        self._promised: float | None = None  # when it lets go, as its first refusal said
        self._shut_at = 0.0  # the latest moment at which it is known to have allowed nothing
        self._candidates: list[float] = []
        self._probe: float | None = None
        self._probes = 0

    def learned(self) -> dict[str, Any]:
        """Return what is known of the limits, for the next session."""
        known = {
            **{kind: pace.learned for kind, pace in self._paces.items()},
            "window": self._window,
        }
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
        wait = max(
            self.requests.wait(now, 1.0), self.tokens.wait(now, self._estimates.charge(tokens))
        )
        if (
            self._is_first_gentle
            and self._began is not None
            and now - self._began < _GENTLE_SECONDS
        ):
            wait = max(wait, self._next_gently - now)
        return wait

    def sent(self, now: float, tokens: float) -> None:
        """Take note that a request is sent."""
        if self._began is None:
            self._began = self._changed_at = self._latest = now
        if (
            now - self._latest > _PAUSE + _SPAN * (self._window or 0.0) + self._latency
        ):  # no mean goes over a pause
            self._changed_at = now
            self._released = [now]
        self._latest = now
        late = now - _CATCH_UP / _GENTLE_RATE
        self._next_gently = max(self._next_gently, late) + 1.0 / _GENTLE_RATE
        self._estimates.note(tokens)
        self.requests.spend(now, 1.0)
        self.tokens.spend(now, self._estimates.charge(tokens))
        if self._frozen_at is not None and self._probe is None:
            self._probe = now

    def answered(
        self, now: float, seconds: float, tokens: float, expected: float, headers: Any
    ) -> None:
        """Learn from an answer."""
        sent = now - seconds
        self._latency = max(seconds, 0.9 * self._latency)
        if self._outcomes is not None:
            self._outcomes.append(False)
        self.requests.settle(sent, 1.0)
        if tokens:
            self.tokens.settle(sent, tokens)
            self.tokens.rescale(self._estimates.learn(tokens, expected))
        for kind, advice in advice_in(headers).items():
            self._paces[kind].advise(advice, sent)
        if self._frozen_at is not None and self._probe is not None and sent >= self._probe - MOMENT:
            self._resume(now)
        self._creep(now)

    def refused(self, now: float, seconds: float, asked: float | None, headers: Any) -> bool:
        """Learn from a refusal; ``asked`` is what its ``Retry-After`` said. As many as before may be asked at once."""
        sent = now - seconds
        self._refusal_seconds = max(seconds, 0.5 * self._refusal_seconds)
        for pace in self._paces.values():
            pace.settle(sent, 0.0)
        for kind, advice in advice_in(headers).items():
            again = self._paces[kind].advise(advice, sent)
            if asked is None and advice.remaining is not None and advice.remaining < 1:
                asked = again
        asked = None if asked is None else min(asked, _LONGEST_FREEZE)
        if self._is_at_random():
            return False
        if self._frozen_at is None:
            if sent < self._frozen_before:
                return False  # sent before the last brake took hold: it says nothing new
            self._frozen_at, self._probe, self._probes = sent, None, 0
            self._promised = None if asked is None else now + asked
            has_many = self.requests.sent.since(self._cycle) >= _MANY
            self._candidates = sorted(WINDOWS + _FINER) if has_many else list(WINDOWS)
            if (
                self._is_seeking and self._kept is None
            ):  # even the first pace was too fast: it is another window
                self._is_seeking, self._window = False, None
                self._released.clear()
            elif self._is_seeking_window:
                self._candidates = [
                    window for window in self._candidates if window >= (self._window or 0.0)
                ]
            elif self._may_be_short:
                self._candidates = sorted({*_SHORTER, *self._candidates})
            self._freeze(now, asked)
        elif self._probe is not None and sent >= self._probe - MOMENT:
            self._probe = None
            self._probes += 1
            self._freeze(now, asked)
        elif asked is not None:
            self._frozen_until = max(self._frozen_until, now + asked)
        return False

    @property
    def _may_be_short(self) -> bool:
        """Whether its window may be shorter than a second."""
        if self._window is None:  # one that was refused late has none so short
            return (self._frozen_at or 0.0) - (self._began or 0.0) < WINDOWS[0]
        return self._is_seeking or self._window < WINDOWS[0]

    @property
    def _is_seeking_window(self) -> bool:
        """Whether a shorter window is tried, and no pace without one."""
        return self._is_seeking and self._binding.has_window

    @property
    def _cycle(self) -> float:
        """When the endpoint last let go."""
        return self._released[-1] if self._released else self._began or 0.0

    def _freeze(self, now: float, asked: float | None) -> None:
        """Say when a single request is sent next."""
        self._shut_at = now if asked is None else now + asked - 1.0
        if asked is not None:
            least = _LEAST_FREEZE * 2.0 ** min(self._probes, 10) if self._probes else 0.0
            least = min(least, max(_SOON, _LONGEST_OF_ASKED * asked))
            self._frozen_until = now + min(max(asked, least), _LONGEST_FREEZE)
            return
        least = min(_LEAST_FREEZE, 0.5 * _SHORTER[0]) if self._may_be_short else _LEAST_FREEZE
        while self._candidates and self._moment(self._candidates[0]) < now + least:
            self._candidates.pop(0)
        if not self._candidates:
            self._candidates = [max(WINDOWS[-1], 2.0 * (now - self._cycle))]
        moment = self._moment(self._candidates[0])
        soon = min(
            _SOON, _SHORT_SHARE * (self._window or _SOON / _SHORT_SHARE)
        )  # a second costs a short window much
        if self._is_seeking_window and self._window and self._kept and self.requests.pace:
            soon = (
                LATE * self._window * (1.0 - self._kept / self.requests.pace) + JITTER
            )  # what is left of the one that was kept
        self._frozen_until = max(now + least, moment if self._probes else min(moment, now + soon))

    def _moment(self, window: float) -> float:
        """Return when a window of so many seconds is over for sure."""
        assert self._frozen_at is not None
        began = self._cycle if self._cycle + window > self._frozen_at else self._frozen_at
        return began + LATE * window + JITTER

    def _resume(self, now: float) -> None:
        """Let the brake go, with a rate for what was learned."""
        assert self._frozen_at is not None
        again = self._probe if self._probe is not None else now
        frozen_at, window, cycle = self._frozen_at, self._window, self._cycle
        froze, self._is_doubtful = again - frozen_at, False
        answered = self.requests.sent.since(cycle, again - MOMENT)
        if self._refuses_at_random(answered, frozen_at - cycle):
            self._let_go()
            return
        is_sure = bool(self._falls) or (self._is_seeking and self._kept is not None)
        if window is None or (len(self._released) == 1 and answered < _LEFT_OVER and not is_sure):
            self._guess(frozen_at, again)
        elif self._is_seeking:
            self._seek_below()
        elif self._falls:
            self._patience = min(_LONGEST_PATIENCE, 2.0 * self._patience)
            self._step = _STEP
            self._scale(max(_LEAST_FALL, _FALL**self._falls))
            self._falls += 1
        elif self._has_overshot(frozen_at):
            self._is_unsure, self._step = False, _STEP
            self._patience = min(_LONGEST_PATIENCE, 2.0 * self._patience)
            self._bind()
        elif _FULL * window < frozen_at - cycle and froze <= max(
            _SHORT_FREEZE, _SHORT_SHARE * window
        ):
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

    def _refuses_at_random(self, answered: float, seconds: float) -> bool:
        """Whether the endpoint refuses some of the requests, however few are sent: a limit is kept by whoever is slower.

        Args:
            answered: Requests since it last let go.
            seconds: In how many seconds they were sent.
        """
        self._cycles.append((answered, max(seconds, MOMENT)))
        if self._is_rate_certain or len(self._cycles) < 2 * _COMPARED:
            return False
        cycles = list(self._cycles)
        earlier = _sums(cycles[:_COMPARED])
        later = _sums(cycles[_COMPARED:])
        rate = later[0] / later[1]
        self._best_rate = max(self._best_rate, earlier[0] / earlier[1])
        is_slower = rate < _SLOWER * earlier[0] / earlier[1] and later[0] < _AS_MANY * earlier[0]
        return is_slower or rate < _MUCH_SLOWER * self._best_rate

    def _let_go(self) -> None:
        """Forget what was taken for a limit: from now on only the request waits that was refused."""
        self._outcomes = deque(maxlen=_LATEST)
        self._frozen_at = self._probe = self._window = self._guessed = None
        self._is_seeking = self._is_doubtful = self._is_unsure = False
        self._released.clear()
        for pace in self._paces.values():
            pace.forget()

    def _is_at_random(self) -> bool:
        """Count a refusal of an endpoint that refuses at random; where it refuses many, it has a limit after all."""
        if self._outcomes is None:
            return False
        self._outcomes.append(True)
        if len(self._outcomes) < _LATEST or sum(self._outcomes) < _MANY_REFUSED * _LATEST:
            return True
        self._outcomes, self._is_rate_certain, self._began = None, True, self._latest
        return False

    def _guess(self, frozen_at: float, again: float) -> None:
        """Take the time until the endpoint let go for the first time as its window, and what it answered as its limit."""
        assert self._began is not None
        if self._promised is not None:  # what it is shut for beyond its own word is no window
            again = min(again, self._promised + _SOON)
        seconds, least = again - self._began, self._shut_at - self._began
        possible = [
            window for window in (*_SHORTER, *WINDOWS, *_FINER) if least <= window <= seconds
        ]
        window = max(possible or [seconds])
        since, until = max(self._began, frozen_at - window) - MOMENT, again - MOMENT
        requests = self.requests.sent.since(since, until)
        if requests < 1.0:  # it has answered nothing at all: nothing is known of what it allows
            self._began = again
            self._scale(0.5)
            return
        self._window = max(_SHORTER[0], window)
        self._binding, few = (
            (self.tokens, _FEW_OF_TOKENS) if self._estimates.do_vary else (self.requests, _FEW)
        )
        self._is_unsure = requests < few or window not in _USUAL
        self._step = _UNSURE_STEP if self._is_unsure else _STEP
        self._bind((window, (since, until)))
        shortest = max(self._shut_at, frozen_at, self._began + MOMENT) - self._began
        self._doubt = window / shortest
        self._is_doubtful = self._doubt > _DOUBT
        self._is_seeking = window < WINDOWS[0] or (
            seconds > _MUCH_DOUBT * shortest and requests < _LEFT_OVER
        )
        self._falls = 0
        if self._is_seeking:
            self._kept = self._too_fast = self._guessed = None
            self._is_doubtful = False
            self._spread(window / max(window, seconds))

    def _spread(self, factor: float = 1.0) -> None:
        """Give up the window, and spread what is sent evenly."""
        for pace in self._paces.values():
            if pace.pace is not None:
                pace.learn(factor * pace.pace, is_strict=True)

    def _seek(self, pace: float) -> None:
        """Try the next pace: twice as much as was kept, or what lies between that and what was refused."""
        assert self._kept is not None
        if self._too_fast is None:
            wanted = 2.0 * self._kept
        elif (
            self._too_fast > (_CLOSE_OF_WINDOW if self._is_seeking_window else _CLOSE) * self._kept
        ):
            wanted = (self._kept * self._too_fast) ** 0.5
        else:
            wanted, self._is_seeking = self._kept, False
        is_held = (
            self._scale(wanted / pace) < 1.0 + _STEP < wanted / pace
        )  # the user, or a header, allows no more
        if is_held or not self._is_seeking:
            self._is_seeking = self._is_unsure = False
            self._step, self._falls = _STEP, 1

    def _seek_below(self) -> None:
        """Take note that the pace was too fast that was tried."""
        self._too_fast = pace = self.requests.pace
        assert pace is not None
        is_usual = self._guessed is not None and self._window in _USUAL
        if is_usual and pace < _LIKELY * (
            self._kept or 0.0
        ):  # little beyond the window was too fast: it was right
            self._is_seeking = False
            self._bind()
            return
        self._seek(pace)

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
        since, until = again, again - MOMENT
        for mark in reversed(self._released or [self._cycle]):
            if (
                self.requests.sent.since(since - MOMENT, until) >= _MANY_ENOUGH
                and again - mark > _SPAN * window
            ):
                break
            since = mark
        self._is_unsure = self.requests.sent.since(since - MOMENT, until) < 2 * _FEW
        return since - MOMENT, until

    def _refute(self, again: float) -> None:
        """Give the window up, and let the mean of what was answered hold."""
        self._window, self._guessed = max(1.0, again - self._cycle), None
        span = self._mean_until(again, self._window)
        self._step = _UNSURE_STEP if self._is_unsure else _STEP
        for pace in self._paces.values():
            mean = pace.sent.since(*span) / max(span[1] - span[0], 1e-3)
            if mean > 0:
                pace.learn(
                    _MARGIN * mean * (1.0 if pace is self._binding else _OTHER_KIND), 0.0, span
                )

    def _fall(self, frozen_at: float, again: float) -> None:
        """Take a little back: the window was full, and let go as soon as was thought."""
        window = self._window or 1.0
        span = self._mean_until(again, window)
        if (
            self._guessed is not None
            and self._released
            and frozen_at - self._cycle > _RARE * window
        ):
            # The window holds what it held: one request came too early, or another one too late.
            self._scale(min(_FALL_OF_RARE, _NEAR / self._crept))
            return
        seconds = max(span[1] - span[0], 1e-3)
        shares = [
            pace.sent.since(*span) / seconds / pace.pace
            for pace in self._paces.values()
            if pace.pace
        ]
        least = _LEAST_FALL if self._guessed is None else _LEAST_FALL_OF_WINDOW
        self._scale(min(_FALL, max(least, *shares)))

    def _creep(self, now: float) -> None:
        """Give a little more after a quiet time, and soon again while that lasts."""
        pace = self.requests.pace
        if self._frozen_at is not None or pace is None:
            return
        if self._is_seeking:
            seconds = now - self._changed_at
            window = (1.0 if self._too_fast is None else _TRIED_BETWEEN) * (self._window or 0.0)
            if seconds < max(_TRIED / pace + 2.0 * self._refusal_seconds, _LEAST_TRIED, window):
                return
            if self._was_used(now):
                self._kept, self._guessed = pace, None
                self._seek(pace)
            self._changed_at = now
            return
        patience = _SHORTEST_PATIENCE if self._is_beyond else self._patience
        if self._is_unsure:
            patience = 1.0
        if self._is_doubtful and self._doubt < _MUCH_DOUBT:
            patience = _PATIENCE_OF_DOUBT
        answers = 2.0 * self._latency if patience > 1.0 and not self._is_doubtful else 0.0
        quiet = patience * max(1.0, self._window or 1.0, answers)
        if now - self._changed_at < max(quiet, _QUIET_REQUESTS / pace):
            return
        if self._is_doubtful:
            if self._was_used(now):
                self._try_shorter(pace)
            self._changed_at = now
            return
        self._changed_at = now
        factor = 1.0 + self._step
        self._step = min(_LARGEST_STEP, (2.0 if self._is_beyond else 1.5) * self._step)
        self._crept, self._is_beyond = self._scale(factor), True
        self._falls = min(self._falls, 1)

    def _try_shorter(self, pace: float) -> None:
        """Try windows that are shorter than the one that was found and has held: as short as it may be, as far as is known."""
        self._is_doubtful, self._is_seeking = False, True
        self._kept, self._too_fast = pace, self._doubt * pace
        if self._doubt >= _MUCH_DOUBT:
            self._too_fast = None
            self._spread()
        self._seek(pace)

    def _was_used(self, now: float) -> bool:
        """Whether as much was sent as was given since that was changed."""
        pace, seconds = self._binding.pace, now - self._changed_at
        return pace is None or self._binding.sent.since(self._changed_at) >= _USED * seconds * pace

    def _scale(self, factor: float) -> float:
        """Give more or less of both kinds; return what that came to, where one of them may have no more."""
        return min(pace.scale(factor) for pace in self._paces.values())


def _sums(cycles: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the answers and the seconds of cycles together."""
    return sum(answers for answers, _ in cycles), sum(seconds for _, seconds in cycles)
