"""Limits on a simulated clock: servers that allow so much in a window, and a limiter that asks them as fast as it may."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from math import ceil
from random import Random
from typing import Any

from attrs import define

from context_bench.run.limits import FULL, Limiter

RATES = {"1/s": 1.0, "5/s": 5.0, "50/s": 50.0, "300/min": 300 / 60, "50/min": 50 / 60}
WINDOWS = (1.0, 10.0, 60.0)
LATENCIES = (0.1, 2.0, 10.0)
SAYS = ("nothing", "Retry-After", "ratelimit")
KINDS = ("fixed", "sliding", "bucket")
TOKENS = 100  # of a request, on average
REFUSAL = 0.01


class Server:
    """A server that allows so much: in windows one after another, in any window, or as a bucket that fills up again.

    Args:
        limit: How much: requests or tokens.
        window: Seconds of a window, or until an empty bucket is full.
        kind: One of :data:`KINDS`.
        begun: Seconds of its first window that are over when it is first asked.
    """

    def __init__(self, limit: float, window: float, kind: str, begun: float = 0.0) -> None:
        self.limit, self.window, self._kind, self._begun = limit, window, kind, begun
        self._log: deque[tuple[float, float]] = deque()
        self._used = 0.0
        self._since: float | None = None

    def ask(self, now: float, amount: float) -> tuple[bool, float, float, float]:
        """Return whether a request is answered, what is left, when all is there again, and when to ask again, in seconds."""
        self._let_go(now)
        is_answered = self._used + amount <= self.limit + 1e-9
        if is_answered:
            self._used += amount
            self._log.append((now, amount))
        if self._kind == "bucket":
            seconds = self.window / self.limit
            return (
                is_answered,
                self.limit - self._used,
                self._used * seconds,
                (self._used + amount - self.limit) * seconds,
            )
        assert self._since is not None
        reset = (
            (self._since if self._kind == "fixed" else self._log[0][0] if self._log else now)
            + self.window
            - now
        )
        return is_answered, self.limit - self._used, reset, reset

    def _let_go(self, now: float) -> None:
        if self._since is None:
            self._since = now - self._begun
        if self._kind == "bucket":
            self._used = max(0.0, self._used - (now - self._since) * self.limit / self.window)
            self._since = now
        elif self._kind == "sliding":
            while self._log and self._log[0][0] <= now - self.window:
                self._used -= self._log.popleft()[1]
        else:
            while now >= self._since + self.window:
                self._since, self._used = self._since + self.window, 0.0


@define
class Outcome:
    """What came of a run.

    Attributes:
        share: What was answered after the first window, of the ideal.
        refused: Requests refused.
        burst: Those of them that were sent before the first refusal was heard of.
        sent: Requests sent.
    """

    share: float
    refused: int
    burst: int
    sent: int

    @property
    def is_good(self) -> bool:
        """Whether it reached the goal: 85 % of the ideal, and at most 3 % refused beside one burst."""
        return self.share >= 0.85 and self.refused <= 0.03 * self.sent + max(self.burst, 8)


@define(frozen=True)
class Cell:
    """A point of the grid."""

    rate: str
    window: float
    latency: float
    says: str
    kind: str
    counted: str

    def __str__(self) -> str:
        return f"{self.counted}, {self.rate}, {self.window:g} s, {self.latency:g} s, {self.says}, {self.kind}"

    @property
    def limit(self) -> int:
        """Requests that a window holds."""
        return int(RATES[self.rate] * self.window)

    def run(self) -> Outcome:
        """Ask."""
        tokens = TOKENS if self.counted == "tokens" else 0
        server = Server(self.limit * (tokens or 1), self.window, self.kind)
        return run(server, RATES[self.rate], self.latency, self.says, tokens)


def cells() -> Iterator[Cell]:
    """Yield the grid; left out are windows that hold less than two requests, and runs that are over before the first answer."""
    for counted in ("requests", "tokens"):
        for rate, a_second in RATES.items():
            for window in WINDOWS:
                for kind in KINDS:
                    for latency in LATENCIES:
                        for says in SAYS:
                            is_over = says == "ratelimit" and latency >= 6 * window
                            if int(a_second * window) >= 2 and not is_over:
                                yield Cell(rate, window, latency, says, kind, counted)


@define(frozen=True)
class Hidden:
    """A limit of requests that the server does not announce.

    Attributes:
        limit: Requests that a window allows.
        window: Seconds of a window.
        kind: One of :data:`KINDS`.
        begun: Share of the first window that is over at the first request.
        latency: Seconds of an answer, on average.
    """

    limit: int
    window: float
    kind: str
    begun: float
    latency: float

    def __str__(self) -> str:
        return f"{self.limit} per {self.window:g} s, {self.kind}, begun {self.begun:g}, {self.latency:g} s"

    def run(self) -> Outcome:
        """Send 1,000 requests or 20 windows of them, whichever is more, after the first window."""
        server = Server(self.limit, self.window, self.kind, self.begun * self.window)
        rate, lasts = self.limit / self.window, max(20.0, 1000 / self.limit)
        return run(server, rate, self.latency, "nothing", lasts=lasts)


def hidden_cells() -> Iterator[Hidden]:
    """Yield limits of 5 to 500 requests in windows of 1 to 60 seconds."""
    for window in (1.0, 2.0, 5.0, 7.0, 10.0, 20.0, 40.0, 60.0):
        for limit in (5, 17, 37, 120, 500):
            for kind, begun in (("fixed", 0.0), ("fixed", 0.5), ("sliding", 0.0), ("bucket", 0.0)):
                for latency in (0.1, 0.3):
                    yield Hidden(limit, window, kind, begun, latency)


def learning(most: int, learned: Mapping[str, Any] | None = None, **more: Any) -> Limiter:
    """Return a limiter that learns; it asks with all its places from the beginning."""
    from context_bench_limits import LearnedLimits

    rates = LearnedLimits().rate_limiter("http://server.test", None, None, learned or {})
    return Limiter(most, rates, **more)


def run(
    server: Server,
    rate: float,
    latency: float,
    says: str,
    tokens: int = 0,
    limiter: Limiter | None = None,
    begins: float = 1000.0,
    settle: float = 1.0,
    lasts: float = 5.0,
) -> Outcome:
    """Ask a server as fast as a limiter allows, for some windows and 200 requests after the first ones.

    Args:
        server: The server.
        rate: Requests a second that it allows in the long run.
        latency: Seconds of an answer, on average.
        says: One of :data:`SAYS`.
        tokens: Tokens of a request on average, where the server counts these; 0 where it counts requests.
        limiter: Asks; None makes one that knows nothing.
        begins: When it begins by the simulated clock.
        settle: Windows at the beginning of which no answer counts.
        lasts: Windows after these, at least.
    """  # fmt: skip
    random = Random(1)
    now = [begins]
    counted = begins + settle * server.window
    end = counted + max(lasts * server.window, 200 / rate)
    limiter = limiter or learning(max(64, ceil(3 * rate * latency) + 8))
    limiter._clock = lambda: now[0]
    asking: list[tuple[float, int, bool, int, float, Mapping[str, str] | None, float | None]] = []
    answered = refused = burst = sent = 0
    first: float | None = None

    def draw() -> int:
        return int(tokens * random.uniform(0.5, 1.5))

    size = draw()
    while now[0] < end:
        while (wait := limiter.enter(int(0.7 * size))) <= 0:
            amount = size or 1
            is_answered, left, reset, again = server.ask(now[0], amount)
            sent += 1
            if not is_answered:
                refused += 1
                first = now[0] if first is None else first
                burst += now[0] <= first + REFUSAL
            elif now[0] >= counted:
                answered += amount
            headers = (
                _headers(server.limit, left, reset, bool(tokens)) if says == "ratelimit" else None
            )
            asked = None if is_answered or says == "nothing" else float(ceil(again))
            done = now[0] + (latency * random.uniform(0.9, 1.1) if is_answered else REFUSAL)
            heappush(asking, (done, sent, is_answered, size, now[0], headers, asked))
            size = draw()
        later = now[0] + (
            0.01 if wait is FULL and not asking else 3600.0 if wait is FULL else max(wait, 1e-4)
        )
        now[0] = min(later, asking[0][0]) if asking else later
        while asking and asking[0][0] <= now[0]:
            _, _, is_answered, spent, began, headers, asked = heappop(asking)
            limiter.leave()
            if is_answered:
                limiter.answered(now[0] - began, spent, headers, int(0.7 * spent))
            else:
                limiter.refused(asked, now[0] - began, headers)
    share = answered / ((end - counted) * server.limit / server.window)
    return Outcome(share, refused, burst, sent)


def shed(share: float, asked: float | None, rows: int, seed: int) -> tuple[float, int]:
    """Ask a server that refuses a share of all requests, at whatever rate they come, until so many rows are answered.

    Args:
        share: What it refuses.
        asked: What its ``Retry-After`` says; None for none.
        rows: How many answers are needed; an answer takes 0.1 s.
        seed: Draws which requests are refused.

    Returns:
        Seconds by the simulated clock, and how many requests were refused.
    """
    random = Random(seed)
    now = [1000.0]
    limiter = learning(64)
    limiter._clock = lambda: now[0]
    asking: list[tuple[float, int, bool, float]] = []
    answered = refused = sent = 0
    while answered < rows:
        while (wait := limiter.enter(0)) <= 0:
            is_answered = random.random() >= share
            sent += 1
            done = now[0] + (0.1 if is_answered else REFUSAL)
            heappush(asking, (done, sent, is_answered, now[0]))
        later = now[0] + (3600.0 if wait is FULL else max(wait, 1e-4))
        now[0] = min(later, asking[0][0]) if asking else later
        while asking and asking[0][0] <= now[0]:
            _, _, is_answered, began = heappop(asking)
            limiter.leave()
            if is_answered:
                answered += 1
                limiter.answered(now[0] - began)
            else:
                refused += 1
                limiter.refused(asked, now[0] - began)
    return now[0] - 1000.0, refused


def _headers(limit: float, left: float, reset: float, are_tokens: bool) -> dict[str, Any]:
    kind = "tokens" if are_tokens else "requests"
    return {
        f"x-ratelimit-limit-{kind}": f"{limit:g}",
        f"x-ratelimit-remaining-{kind}": str(int(left)),
        f"x-ratelimit-reset-{kind}": f"{reset:.3f}s",
    }
