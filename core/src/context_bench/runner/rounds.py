"""Rounds: whether more requests at once are answered better than fewer."""

from __future__ import annotations

_GAIN = 1.1


class Rounds:
    """Finds how many requests at once an endpoint answers better than fewer.

    A round is as many answers as may be in flight. After one, more are tried for a round; when that made no more
    answers in a second, it was of no use, and the next trial waits longer.

    Args:
        began: When the first round began.
    """

    def __init__(self, began: float) -> None:
        self._began = began
        self._answers = 0
        self._before: tuple[float, float] | None = None
        self._rest, self._pause = 0, 4
        self._step = 2.0

    def answered(self, now: float, cap: float, most: float) -> float:
        """Return how many requests may be in flight after another answer."""
        self._answers += 1
        if self._answers < cap:
            return cap
        rate = self._answers / max(now - self._began, 1e-6)
        self._answers, self._began = 0, now
        if self._before is not None:
            fewer, usual = self._before
            self._before = None
            if rate < usual * _GAIN:
                self._rest, self._pause, self._step = self._pause, min(64, 2 * self._pause), 1.5
                return fewer
        self._rest -= 1
        if self._rest >= 0 or cap >= most:
            return cap
        self._before = cap, rate
        return min(most, cap * self._step)
