"""Paces: how what is sent of one thing is spread, and the ledger of what was sent."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from context_bench_limits.headers import Advice

LATE, JITTER = 1.02, 0.02
"""How much longer than a server's window ours is: so many times, and so many seconds."""
MOMENT = 1e-6

_TOLD_SHARE = 0.97
_CATCH_UP, _RUSH = 1.5, 0.004
_SPREAD = 1.1
_TELLING, _ALIKE = 8.0, 1.3


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
        self._is_refuted = self._is_strict = False
        self._longest_reset = 0.0
        self._used = self._fillings = (float("inf"), 0.0)  # the least and the most that was told
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

    @property
    def has_window(self) -> bool:
        """Whether a window is known, so that what is sent is not only spread."""
        return self._limit > 0.0

    def wait(self, now: float, amount: float) -> float:
        """Return the seconds until so much may be sent; 0 or less lets it go now."""
        wait = 0.0 if self.pace is None else self._next - now
        if now < self._left_until and self._left < 1.0:
            wait = max(wait, self._left_until - now)
        if self._limit and self.pace:
            seconds = LATE * self._limit / self.pace + JITTER
            wait = max(wait, self.sent.wait(now, seconds, self._limit - amount))
        return wait

    def spend(self, now: float, amount: float) -> None:
        """Count what is sent. A late sleeper may make up for it, so that a busy machine keeps the pace."""
        self._latest = amount
        self.sent.add(now, amount)
        self._left -= amount
        if self.pace is not None:
            share = amount / (self.pace * (_SPREAD if self._limit else 1.0))
            late = 0.0 if self._is_strict and share > _RUSH * amount else _CATCH_UP * share
            self._next = max(self._next, now - late) + share

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

    def learn(
        self,
        pace: float,
        limit: float = 0.0,
        span: tuple[float, float] | None = None,
        is_strict: bool = False,
    ) -> None:
        """Take a pace that was estimated: what the endpoint has said of itself was refuted.

        Args:
            pace: How much in a second.
            limit: How much of it may go at once, as far as a window is known.
            span: Between which moments was sent what this was learned from.
            is_strict: Whether two requests may never come closer than that: who was late does not make up for it.
        """
        self._is_refuted, self._limit, self._is_strict = True, limit, is_strict
        self._span = None if span is None else (*span, self.sent.since(*span))
        self._set(pace)

    def forget(self) -> None:
        """Give up what was learned: only the limit of the user and what the endpoint says hold."""
        self._limit, self._span, self._is_strict = 0.0, None, False
        self.pace = self._known

    def scale(self, factor: float) -> float:
        """Give so many times as much, but not more than the endpoint says; return how many times as much that is.

        The window that slides becomes as much shorter or longer.
        """
        if self.pace is None:
            return factor
        before, pace = self.pace, self.pace * factor
        self._set(
            pace if self._said is None or factor < 1.0 else min(pace, _TOLD_SHARE * self._said)
        )
        return self.pace / before

    def advise(self, advice: Advice, sent: float) -> float | None:
        """Do as an endpoint says, and return the seconds until there is more, by what it says.

        Where it names no window, the longest time until all is there again stands for it, until that is refuted. A bucket is
        full again the sooner the less was used, and there is more long before.

        Args:
            advice: What it says.
            sent: When the request was sent that it answers.
        """
        left, reset = advice.remaining, advice.reset
        if left is not None and reset is not None:
            reset = self._until_more(max(0.0, (advice.limit or 0.0) - left), reset)
            self._left, self._left_until = left - self.sent.since(sent + 2 * MOMENT), sent + reset
        window = advice.window or (None if self._is_refuted else self._longest_reset)
        if advice.limit and window:
            said = advice.limit / window
            if self._said is None or abs(said - self._said) > 0.001 * said:
                self._said, self._limit = said, advice.limit
                self._set(_TOLD_SHARE * said)
        return reset

    def _until_more(self, used: float, reset: float) -> float:
        """Return the seconds until there is more: all of a window, or in a bucket as much as was sent last.

        Args:
            used: What is not there now.
            reset: Seconds until all is there again.
        """
        self._longest_reset = max(self._longest_reset, reset)
        if used < _TELLING or not reset:
            return reset
        filling = used / reset
        self._used = min(self._used[0], used), max(self._used[1], used)
        self._fillings = min(self._fillings[0], filling), max(self._fillings[1], filling)
        is_bucket = (
            self._used[1] > 2.0 * self._used[0] and self._fillings[1] < _ALIKE * self._fillings[0]
        )
        return min(1.0, max(1.0, self._latest) / used) * reset if is_bucket else reset

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
            del (
                self._moments[:_REMEMBERED],
                self._amounts[:_REMEMBERED],
                self._is_settled[:_REMEMBERED],
            )
            self._first, self._known = (
                max(0, self._first - _REMEMBERED),
                max(0, self._known - _REMEMBERED),
            )

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
        return all(
            self._is_settled[bisect_left(self._moments, first) : bisect_right(self._moments, last)]
        )

    def since(self, moment: float, until: float = float("inf")) -> float:
        """Return what was sent from one moment to another, both counted in."""
        return sum(
            self._amounts[bisect_left(self._moments, moment) : bisect_right(self._moments, until)]
        )

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
