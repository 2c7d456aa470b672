"""Any limit is learned, on a simulated clock: rates, windows, latencies, and what a server says of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from heapq import heappop, heappush
from math import ceil
from random import Random

import pytest
from attrs import define

from context_bench.runner.limits import FULL, Limiter

RATES = {"1/s": 1.0, "5/s": 5.0, "50/s": 50.0, "50/min": 50 / 60}
WINDOWS = (1.0, 10.0, 60.0)
LATENCIES = (0.1, 2.0, 10.0)
SAYS = ("nothing", "Retry-After", "ratelimit")
REFUSAL = 0.01


class Server:
    """A server that allows so many requests, or tokens, in any window of its own.

    Args:
        limit: How many.
        window: Seconds.
        is_sliding: Whether any such window counts; else each begins where the one before ended.
    """

    def __init__(self, limit: float, window: float, is_sliding: bool) -> None:
        self.limit, self.window, self._is_sliding = limit, window, is_sliding
        self._log: deque[tuple[float, float]] = deque()
        self._start: float | None = None

    def ask(self, now: float, amount: float) -> tuple[bool, float, float]:
        """Return whether a request is answered, what is left, and the seconds until there is more."""
        if self._is_sliding:
            while self._log and self._log[0][0] <= now - self.window:
                self._log.popleft()
        else:
            self._start = now if self._start is None else self._start
            while now >= self._start + self.window:
                self._start += self.window
                self._log.clear()
        used = sum(spent for _, spent in self._log)
        is_answered = used + amount <= self.limit
        if is_answered:
            self._log.append((now, amount))
            used += amount
        began = self._start if self._start is not None else self._log[0][0]
        return is_answered, self.limit - used, began + self.window - now


@define
class Outcome:
    """What came of a run: the share of the ideal after the first window, and what was refused beside the first burst."""

    share: float
    refused: int
    burst: int
    sent: int


def run(
    server: Server,
    rate: float,
    latency: float,
    says: str,
    mean: int = 1,
    limiter: Limiter | None = None,
    begins: float = 1000.0,
) -> Outcome:
    """Ask a server as fast as a limiter allows, for five windows and 200 requests after the first window."""
    random = Random(1)
    now = [begins]
    end = now[0] + max(6 * server.window, 200 / rate + server.window)
    limiter = limiter or Limiter(max(64, ceil(3 * rate * latency) + 8), gentle=True, grows=False, clock=lambda: now[0])
    limiter._clock = lambda: now[0]
    begun = now[0]
    waiting: list[tuple[float, int, bool, float, float, Mapping[str, str] | None, float | None]] = []
    answered = refused = burst = sent = 0
    amount, first = 1, None
    while now[0] < end:
        while (wait := limiter.enter(int(0.7 * amount) if mean > 1 else 0)) <= 0:
            is_answered, left, reset = server.ask(now[0], amount)
            sent += 1
            headers = asked = None
            if says == "ratelimit":
                kind = "requests" if mean == 1 else "tokens"
                headers = {
                    f"x-ratelimit-limit-{kind}": str(server.limit),
                    f"x-ratelimit-remaining-{kind}": str(int(left)),
                    f"x-ratelimit-reset-{kind}": f"{reset:.3f}s",
                }
            if not is_answered:
                asked = None if says == "nothing" else float(ceil(reset))
                refused += 1
                first = now[0] if first is None else first
                burst += now[0] <= first + REFUSAL  # sent before the first refusal was heard of
            elif now[0] >= begun + server.window:
                answered += amount
            done = now[0] + (latency * random.uniform(0.9, 1.1) if is_answered else REFUSAL)
            heappush(waiting, (done, sent, is_answered, amount, now[0], headers, asked))
            amount = int(mean * random.uniform(0.5, 1.5)) if mean > 1 else 1
        later = now[0] + (0.01 if wait == FULL and not waiting else 3600.0 if wait == FULL else max(wait, 1e-4))
        now[0] = min(later, waiting[0][0]) if waiting else later
        while waiting and waiting[0][0] <= now[0]:
            _, _, is_answered, spent, began, headers, asked = heappop(waiting)
            limiter.leave()
            tokens = int(spent) if mean > 1 else 0
            expected = int(0.7 * spent) if mean > 1 else 0
            if is_answered:
                limiter.answered(now[0] - began, tokens, headers, expected)
            else:
                limiter.refused(asked, now[0] - began, headers, expected)
    share = answered / ((end - begun - server.window) * server.limit / server.window)
    return Outcome(share, refused, burst, sent)


CELLS = [
    pytest.param(rate, window, latency, says, is_sliding, id=f"{name}, {window:g} s, {latency:g} s, {says}, {kind}")
    for name, rate in RATES.items()
    for window in WINDOWS
    if int(rate * window) >= 2
    for latency in LATENCIES
    for says in SAYS
    for kind, is_sliding in (("fixed", False), ("sliding", True))
    if latency < 6 * window or says != "ratelimit"  # else the run is over before the first answer
]


@pytest.mark.parametrize(("rate", "window", "latency", "says", "is_sliding"), CELLS)
def test_a_limit_of_requests_is_learned(
    rate: float, window: float, latency: float, says: str, is_sliding: bool
) -> None:
    found = run(Server(int(rate * window), window, is_sliding), rate, latency, says)
    assert found.share >= 0.85, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


@pytest.mark.parametrize("latency", [0.1, 2.0])
@pytest.mark.parametrize("window", [10.0, 60.0])
def test_a_limit_of_tokens_is_learned_though_requests_differ(window: float, latency: float) -> None:
    found = run(Server(500 * window, window, False), 5.0, latency, "Retry-After", mean=100)
    assert found.share >= 0.85, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


def test_what_was_learned_is_used_in_the_next_session() -> None:
    now = [0.0]
    first = Limiter(64, gentle=True, grows=False, clock=lambda: now[0])
    run(Server(50, 10.0, False), 5.0, 0.1, "nothing", limiter=first)
    again = Limiter(64, gentle=True, grows=False, learned=first.learned, clock=lambda: now[0])
    found = run(Server(50, 10.0, True), 5.0, 0.1, "nothing", limiter=again)
    assert found.refused <= 0.03 * found.sent, found
    assert found.share >= 0.85, found


def test_the_rate_recovers_when_the_server_allows_more() -> None:
    now = [0.0]
    limiter = Limiter(64, gentle=True, grows=False, clock=lambda: now[0])
    run(Server(5, 1.0, False), 5.0, 0.1, "nothing", limiter=limiter)
    before = limiter.rate
    assert before is not None
    run(Server(500, 1.0, False), 2.0, 0.1, "nothing", limiter=limiter, begins=9000.0)
    assert limiter.rate is not None
    assert limiter.rate > 1.5 * before


def test_requests_that_were_refused_together_do_not_come_back_together() -> None:
    now = [1000.0]
    limiter = Limiter(64, gentle=False, clock=lambda: now[0])
    for _ in range(20):
        assert limiter.enter() == 0
    now[0] += 0.05
    for _ in range(20):
        limiter.leave()
        limiter.refused(5.0, 0.05)
    now[0] += 5.01
    together = 0
    while limiter.enter() <= 0:
        together += 1
    assert together <= 2


@pytest.mark.parametrize("asked", [3.0, 60.0])
def test_nothing_is_sent_before_the_first_retry_after_is_over(asked: float) -> None:
    now = [1000.0]
    limiter = Limiter(64, clock=lambda: now[0])
    assert limiter.enter() == 0
    limiter.leave()
    limiter.refused(asked, 0.01)
    now[0] += asked - 0.1
    assert limiter.enter() > 0
