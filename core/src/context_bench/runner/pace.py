"""A pace: how much of one thing - requests, tokens - goes to an endpoint, so that no window of its own holds too much."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from context_bench.runner.rate_headers import Advice

_MARGIN = 0.97
_CATCH_UP = 1.5
_SPREAD = 1.1
_ALIKE, _OTHER, _SURE, _ENOUGH = 0.1, 1.5, 2, 4
_LATE, _JITTER = 1.02, 0.02
_ROUND = (1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 3600.0)


class Pace:
    """Spreads what is sent, and counts it in a window that slides, where a window is known.

    A limit that is kept in every window that slides is kept by a server that counts in windows of its own, and by one
    that fills up again, too.

    Args:
        known: What the user allows in a second at most; None for no limit.
        learned: What was learned in an earlier session.

    Attributes:
        pace: What is sent in a second in the long run; None while no limit is known.
        longest_reset: Seconds that the endpoint said at most until all is there again; 0 while it has said nothing.
    """

    def __init__(self, known: float | None = None, learned: float | None = None) -> None:
        self._known = known
        self._said: float | None = None
        self._is_sure = self._is_refuted = False
        self.pace: float | None = None
        self._limit = 0.0  # of the window that slides; none while it is 0
        self.sent = Ledger()
        self._span: tuple[float, float, float] | None = None
        self._next = self._latest = 0.0
        self._left: float | None = None
        self._left_until = 0.0
        self.longest_reset = 0.0
        self._before: tuple[float, float] | None = None
        self._fillings = 0
        if learned is not None:
            self.learn(learned)
        elif known is not None:
            self.pace = known

    @property
    def learned(self) -> float | None:
        """What was learned; None where only the user knows, or nobody."""
        return None if self.pace == self._known else self.pace

    @property
    def is_told(self) -> bool:
        """Whether the endpoint has said what it allows."""
        return self._said is not None

    def wait(self, now: float, amount: float) -> float:
        """Return the seconds until so much may be sent; 0 or less lets it go now."""
        wait = 0.0 if self.pace is None else self._next - now
        if self._left is not None and now < self._left_until and self._left < max(1.0, amount):
            wait = max(wait, self._left_until - now)
        if self._limit and self.pace:
            seconds = _LATE * self._limit / self.pace + _JITTER
            wait = max(wait, self.sent.wait(now, seconds, self._limit - amount))
        return wait

    def spend(self, now: float, amount: float) -> None:
        """Count what is sent. A late sleeper may make up for it, so that a busy machine keeps the pace."""
        self._latest = amount
        self.sent.add(now, amount)
        if self._left is not None:
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
        """Take a pace that was estimated; what the endpoint says of itself counts more, unless it had to be guessed from.

        Args:
            pace: How much in a second.
            limit: How much of it may go at once, as far as a window is known.
            span: Between which moments was sent what this was learned from.
        """
        if self._said is None or not self._is_sure:
            self._said, self._is_refuted = None, True
            self._limit = limit
            self._span = None if span is None else (*span, self.sent.since(*span))
            self._set(pace)

    def slow_down(self, factor: float) -> None:
        """Take a share of the pace: the window that slides grows as much longer."""
        if self.pace is not None:
            self._set(self.pace * factor)

    def speed_up(self, factor: float) -> None:
        """Give more, but not more than the endpoint says."""
        if self.pace is not None:
            self._set(self.pace * factor if self._said is None else min(self.pace * factor, _MARGIN * self._said))

    def advise(self, advice: Advice, sent: float, now: float, spent: float) -> None:
        """Do as an endpoint says.

        Args:
            advice: What it says.
            sent: When the request was sent that it answers.
            now: The moment.
            spent: What was sent after that request.
        """
        limit, left, reset = advice.limit, advice.remaining, advice.reset
        if limit is not None and limit > 0:
            said = self._rate_said(limit, left, reset, advice.window)
            self._is_sure = bool(advice.window)
            is_news = said is not None and (self._said is None or abs(said - self._said) > 0.001 * said)
            if said is not None and is_news and (self._is_sure or not self._is_refuted):
                self._said = said
                self._set(_MARGIN * said)
                self._limit = limit if advice.window or self._fillings < _SURE else 0.0
        if left is not None and reset is not None and self._before is not None:
            self._left = left - spent
            self._left_until = min(sent + reset, now + reset)

    def _rate_said(self, limit: float, left: float | None, reset: float | None, window: float | None) -> float | None:
        """Return the rate that a limit means: by its window, or by how its reset moves.

        Where twice as much is spent and all is there again in twice the time, it is a bucket that fills up; else a window.
        """
        if window:
            return limit / window
        if left is None or not reset:
            return None
        used = limit - left
        if used >= _ENOUGH:
            before, filling = self._before, used / reset
            if before is None:
                self._before = used, filling
            elif not before[0] / _OTHER < used < before[0] * _OTHER:
                ratio, tolerance = filling / before[1], _ALIKE + 1.0 / min(used, before[0])
                self._fillings = self._fillings + 1 if 1.0 - tolerance / 2.0 < ratio < 1.0 + tolerance else 0
                self._before = used, filling
            if self._fillings >= _SURE:
                return filling
        if reset > self.longest_reset:
            self.longest_reset = next((whole for whole in _ROUND if reset <= whole <= 1.05 * reset + 0.02), reset)
        return limit / self.longest_reset

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
