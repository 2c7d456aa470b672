"""A pace: how much of one thing - requests, tokens - goes to an endpoint in a second, and what was sent when."""

from __future__ import annotations

from collections import deque

from context_bench.runner.rate_headers import Advice

_MARGIN = 0.97
_CATCH_UP = 1.5
_ALIKE = 0.7
_ROUND = (1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 3600.0)


class Pace:
    """Spreads what is sent evenly.

    Args:
        known: What the user allows in a second at most; None for no limit.
        learned: What was learned in an earlier session.

    Attributes:
        pace: What is sent in a second at most; None while no limit is known.
        longest_reset: Seconds that the endpoint said at most until all is there again; 0 while it has said nothing.
    """

    def __init__(self, known: float | None = None, learned: float | None = None) -> None:
        self._known = known
        self._said: float | None = None
        self._is_sure = self._is_refuted = False
        self.pace: float | None = None
        self._next = 0.0
        self._latest = 0.0
        self._left: float | None = None
        self._left_until = 0.0
        self.longest_reset = 0.0
        self._before: tuple[float, float] | None = None
        if learned is not None:
            self.learn(learned)
        elif known is not None:
            self.pace = known

    @property
    def learned(self) -> float | None:
        """What was learned; None where only the user knows, or nobody."""
        return None if self.pace == self._known else self.pace

    def wait(self, now: float) -> float:
        """Return the seconds until more may be sent; 0 or less lets it go now."""
        if self._left is not None and now < self._left_until and self._left < 1.0:
            return self._left_until - now
        return 0.0 if self.pace is None else self._next - now

    def spend(self, now: float, amount: float) -> None:
        """Count what is sent. A late sleeper may make up for it, so that a busy machine keeps the pace."""
        self._latest = amount
        if self._left is not None:
            self._left -= amount
        if self.pace is not None:
            self._next = max(self._next, now - _CATCH_UP * amount / self.pace) + amount / self.pace

    def debit(self, amount: float) -> None:
        """Count what was sent beyond what :meth:`spend` was told."""
        if self.pace is not None:
            self._next += amount / self.pace

    def rescale(self, factor: float) -> None:
        """Follow what is counted, when it is found to be more or less than it was taken to be."""
        if self.pace is not None and self._said is None and self.pace != self._known:
            self._set(self.pace * factor)

    def restart(self, now: float) -> None:
        """Begin to spread anew, without debts, after what was sent at this moment."""
        self._next = now if self.pace is None else now + self._latest / self.pace

    def learn(self, pace: float) -> None:
        """Take a pace that was estimated; what the endpoint says of itself counts more, unless it had to be guessed from."""
        if self._said is None or not self._is_sure:
            self._said, self._is_refuted = None, True
            self._set(pace)

    def slow_down(self, factor: float) -> None:
        """Take a share of the pace."""
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
        if left is not None and reset is not None and self._before is not None:
            self._left = left - spent
            self._left_until = min(sent + reset, now + reset)

    def _rate_said(self, limit: float, left: float | None, reset: float | None, window: float | None) -> float | None:
        """Return the rate that a limit means: by its window, or by how its reset moves.

        Where more is spent and the reset comes later, it is a bucket that fills up again; else a window that ends.
        """
        before, self._before = self._before, None if left is None or reset is None else (left, reset)
        if window:
            return limit / window
        if left is None or not reset:
            return None
        if before is not None and left < before[0] and reset > before[1]:
            filling, earlier = (limit - left) / reset, (limit - before[0]) / max(before[1], 1e-9)
            if _ALIKE * filling <= earlier <= filling / _ALIKE:
                self.longest_reset = 0.0
                return filling
        if reset > self.longest_reset:
            self.longest_reset = next((whole for whole in _ROUND if reset <= whole <= 1.05 * reset + 0.02), reset)
        return limit / self.longest_reset

    def _set(self, pace: float) -> None:
        self.pace = pace if self._known is None else min(pace, self._known)


_SLICE = 0.05
_REMEMBERED = 12_000  # ten minutes


class Sendings:
    """Counts what was sent and not refused.

    Attributes:
        total: Requests sent at all.
    """

    def __init__(self) -> None:
        self.total = 0
        self._slices: deque[list[float]] = deque(
            maxlen=_REMEMBERED
        )  # [number of the slice, requests, estimated tokens]
        self._count = 0
        self._mean = self._squares = 0.0
        self._estimated = self._actual = 0.0
        self._ratio = 1.0

    def add(self, now: float, estimate: float) -> None:
        """Count a request, with the tokens that it is estimated to have."""
        self.total += 1
        number = int(now / _SLICE)
        if not self._slices or self._slices[-1][0] < number:
            self._slices.append([number, 0.0, 0.0])
        self._slices[-1][1] += 1.0
        self._slices[-1][2] += estimate

    def take_back(self, sent: float, estimate: float) -> None:
        """Count a request no more: it was refused."""
        found = self._slice(sent)
        if found is not None:
            found[1] -= 1.0
            found[2] -= estimate

    def since(self, moment: float, until: float = float("inf")) -> tuple[float, float]:
        """Return the requests and the tokens that were sent from a moment on."""
        first, last = int(moment / _SLICE), until / _SLICE
        requests = tokens = 0.0
        for number, more, some in reversed(self._slices):
            if number < first:
                break
            if number <= last:
                requests += more
                tokens += some
        return max(0.0, requests), max(0.0, tokens * self._ratio if tokens else requests * self._mean)

    def is_record(self, window: float, now: float) -> bool:
        """Whether in no window before as many requests were answered as in the one that ends now."""
        width = int(window / _SLICE)
        end = int(now / _SLICE)
        latest = earlier = running = 0.0
        behind = iter(self._slices)
        tail = next(behind, None)
        for number, requests, _ in self._slices:
            running += requests
            while tail is not None and tail[0] <= number - width:
                running -= tail[1]
                tail = next(behind, None)
            if number <= end - width:
                earlier = max(earlier, running)
        latest = self.since(now - window)[0]
        return latest >= earlier

    def charge(self, estimate: float) -> float:
        """Return the tokens that a request is taken to have: its estimate, as estimates were borne out; else the mean."""
        return estimate * self._ratio if estimate else self._mean

    def learn(self, tokens: float, estimate: float) -> float:
        """Take the tokens that a request had, beside what was estimated; return what all tokens are to be multiplied by."""
        self._count += 1
        beyond = tokens - self._mean
        self._mean += beyond / self._count
        self._squares += beyond * (tokens - self._mean)
        if not estimate:
            return 1.0
        self._estimated += estimate
        self._actual += tokens
        before, self._ratio = self._ratio, self._actual / self._estimated
        return self._ratio / before

    @property
    def variation(self) -> float:
        """How much the tokens of requests vary: their standard deviation over their mean."""
        if self._count < 2 or not self._mean:
            return 0.0
        return float((self._squares / self._count) ** 0.5 / self._mean)

    def _slice(self, moment: float) -> list[float] | None:
        number = int(moment / _SLICE)
        for found in reversed(self._slices):
            if found[0] <= number:
                return found if found[0] == number or number - found[0] <= 1 else None
        return None
