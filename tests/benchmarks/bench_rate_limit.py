"""An endpoint that hides its limit of 50 requests a second: 20 ms an answer, 429 without a `Retry-After` above the limit.

100 % is 50 answers a second from the first call to the last score; who knew the limit would reach 103 % of that, as the
first 50 may come at once. Nobody is told of it. The loop is a pool of threads that asks again after doubling pauses with
jitter; inspect_ai has the adaptive connections that it has by default, with 64 samples at once; lm-eval may try a request
1,000 times instead of its 3, or it would end with an error.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial

from loopback import Chat, Loopback
from side_by_side import INSPECT, LM_EVAL, OURS, POOL, Runner, cells, is_quick, run, versions

LIMIT = 50
ANSWER_SECONDS = 0.02
CASES = (  # with calls in flight, and how many in all
    (OURS, 8, 1500),
    (OURS, 64, 1500),
    (POOL, 64, 1500),
    (INSPECT, 64, 750),
    (LM_EVAL, 64, 750),
)


class Endpoint(Loopback):
    """A chat endpoint on the loopback that refuses whatever is over the limit within any one second."""

    def __init__(self) -> None:
        self.accepted: deque[float] = deque()
        self.answered = self.refused = 0
        super().__init__(_Handler)

    def admit(self) -> bool:
        """Count a request and say whether it is answered."""
        now = time.monotonic()
        with self.lock:
            while self.accepted and self.accepted[0] <= now - 1.0:
                self.accepted.popleft()
            if len(self.accepted) < LIMIT:
                self.accepted.append(now)
                self.answered += 1
                return True
            self.refused += 1
            return False


class _Handler(Chat):
    server: Endpoint

    def answer(self) -> None:
        is_admitted = self.server.admit()
        if is_admitted:
            time.sleep(ANSWER_SECONDS)
        self.reply(is_admitted)


def shares(runner: Runner, workers: int, rows: int) -> list[str]:
    """Return answers a second, their share of the limit, and the share of requests that were refused."""
    with Endpoint() as endpoint:
        # one row to warm up: its answer is gone from the window before the rest begin, or is one of 50
        found = run(runner, rows=rows, workers=workers, url=endpoint.url, warm_up=1)
        endpoint.shutdown()
    rate = rows / found["seconds"]
    return [
        f"{rate:.1f}",
        f"{rate / LIMIT:.1%}",
        f"{endpoint.refused / (endpoint.answered + endpoint.refused):.1%}",
    ]


def main() -> None:
    """Print the table."""
    print("| asked by | calls | in flight | answers a second | share of ideal | refused |")
    print("|---|---:|---:|---:|---:|---:|")
    for runner, workers, rows in CASES:
        asked = 200 if is_quick() else rows
        found = cells(3, partial(shares, runner, workers, asked))
        print(f"| {runner.label} | {asked:,} | {workers} | {found} |", flush=True)
    print(f"\n{versions(runner for runner, _, _ in CASES)}")


if __name__ == "__main__":
    main()
