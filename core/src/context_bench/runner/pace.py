"""A pace: how much of one thing - requests, tokens - goes to an endpoint in a second."""

from __future__ import annotations

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
