"""What was sent to an endpoint, when: requests and tokens in small slices of time."""

from __future__ import annotations

from collections import deque

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
