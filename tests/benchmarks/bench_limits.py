"""Limits that nobody is told of: real servers on the loopback, asked through `evaluate(OpenAIProxy(...))`, and a whole grid.

Share is what was answered after the first window, of the ideal; the seconds of a point are those of its run. The points of
the second half were not tuned on. The points that take a minute run at once, then the longer ones, each server and each run in
a process of its own: nine at once delay each other by some 20 ms on two cores, which costs the quickest a fifth. Below stands
the grid on a simulated clock: {1/s, 5/s, 50/s, 300/min, 50/min} in windows of {1, 10, 60 s}, answers of {0.1, 2, 10 s},
{nothing, Retry-After, ratelimit} said, counted in {fixed windows, sliding windows, a bucket}, of requests and of tokens.
`python tests/benchmarks/bench_limits.py` prints the tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from math import ceil
from random import Random
from typing import NamedTuple

from limit_simulation import Server, cells, hidden_cells
from loopback import Chat, Loopback
from side_by_side import is_quick


class Point(NamedTuple):
    """A server and a run.

    Attributes:
        label: What it is called in the table.
        limit: How much a window holds.
        window: Its seconds.
        kind: How the server counts.
        seconds: Least and most seconds of an answer.
        rows: Rows of the run.
        says: What the server says of its limit.
        tokens: Tokens of an answer on average, where it counts these.
        begun: Seconds of the first window that are over before the first request.
    """

    label: str
    limit: float
    window: float
    kind: str
    seconds: tuple[float, float]
    rows: int
    says: str = "nothing"
    tokens: int = 0
    begun: float = 0.0


POINTS = (
    Point("50 a second", 50, 1, "sliding", (0.02, 0.02), 1000),
    Point("100 per 10 s, calls of 2-4 s", 100, 10, "fixed", (2, 4), 600),
    Point("5 a second, calls of 1 s", 5, 1, "sliding", (1, 1), 250),
    Point("50 a minute, calls of 2 s", 50, 60, "fixed", (2, 2), 300),
    Point("10,000 tokens per 10 s, no Retry-After", 10_000, 10, "fixed", (0.2, 0.6), 600, tokens=100),
    Point("not tuned on: 20 per 3 s, a bucket", 20, 3, "bucket", (0.3, 0.9), 300),
    Point("not tuned on: 30 per 20 s, Retry-After", 30, 20, "sliding", (1, 3), 240, "Retry-After"),
    Point("not tuned on: 45 per 30 s, ratelimit headers, from mid-way", 45, 30, "fixed", (0.5, 1.5), 300, "ratelimit", 0, 12.0),
    Point("17 a second, from mid-way", 17, 1, "fixed", (0.2, 0.4), 1000, begun=0.5),
    Point("37 per 7 s, from mid-way", 37, 7, "fixed", (0.2, 0.4), 1000, begun=3.5),
    Point("120 per 40 s, from mid-way", 120, 40, "fixed", (0.2, 0.4), 1000, begun=20.0),
    Point("not tuned on: 8,000 tokens per 15 s, a bucket, Retry-After", 8000, 15, "bucket", (0.5, 1.5), 560, "Retry-After", 100),
)  # fmt: skip


class Endpoint(Loopback):
    """A chat endpoint that counts."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.counting = Server(point.limit, point.window, point.kind, point.begun)
        self.random = Random(3)
        self.admitted: list[tuple[float, float]] = []
        self.refused = self.burst = 0
        self.first_refused = 0.0
        super().__init__(_Handler)

    def found(self, seconds: float) -> dict[str, float]:
        """Return what came of a run."""
        begun, end = self.admitted[0][0], self.admitted[-1][0]
        ideal = (end - begun - self.point.window) * self.point.limit / self.point.window
        answered = sum(
            amount for moment, amount in self.admitted[:-1] if moment >= begun + self.point.window
        )
        sent = len(self.admitted) + self.refused
        return {
            "share": answered / ideal,
            "refused": self.refused,
            "burst": self.burst,
            "sent": sent,
            "seconds": seconds,
        }


class _Handler(Chat):
    server: Endpoint

    def answer(self) -> None:
        server, point, now = self.server, self.server.point, time.monotonic()
        with server.lock:
            tokens = int(point.tokens * server.random.uniform(0.5, 1.5))
            is_admitted, left, reset, again = server.counting.ask(now, tokens or 1)
            if is_admitted:
                server.admitted.append((now, tokens or 1))
            else:
                server.refused += 1
                server.first_refused = server.first_refused or now
                server.burst += now - server.first_refused < 0.05
            seconds = server.random.uniform(*point.seconds)
        if is_admitted:
            time.sleep(seconds)
        headers = {}
        if point.says == "Retry-After" and not is_admitted:
            headers["Retry-After"] = str(ceil(again))
        if point.says == "ratelimit":
            for name, value in (
                ("limit", point.limit),
                ("remaining", int(left)),
                ("reset", f"{reset:.3f}s"),
            ):
                headers[f"x-ratelimit-{name}-requests"] = str(value)
        self.reply(is_admitted, tokens, headers)


def ask(point: Point) -> dict[str, float]:
    """Run one point."""
    from context_bench import evaluate
    from context_bench.systems import OpenAIProxy

    with Endpoint(point) as endpoint:
        system = OpenAIProxy(f"{endpoint.url}/v1", model="m")
        examples = [
            {"id": str(n), "context": "c", "question": "why?", "answer": "because"}
            for n in range(point.rows)
        ]
        begun = time.monotonic()
        result = evaluate(system, examples, progress=False, max_workers=64)
        seconds = time.monotonic() - begun
        assert not any(row.errors for row in result.rows)
        endpoint.shutdown()
        return endpoint.found(seconds)


def grid() -> None:
    """Print how many cells of the grid reach the goal, and the least share, by what is counted and what is said."""
    print("\n| simulated clock | cells | reach 85 % and 3 % | least share | mean share |")
    print("|---|---:|---:|---:|---:|")
    groups: dict[str, list[tuple[bool, float]]] = {}
    for cell in cells():
        outcome = cell.run()
        many = "20 requests a window or more" if cell.limit >= 20 else "fewer requests a window"
        groups.setdefault(f"{cell.counted}, {cell.says} said, {many}", []).append(
            (outcome.is_good, outcome.share)
        )
    for label, found in groups.items():
        shares = [share for _, share in found]
        print(
            f"| {label} | {len(found)} | {sum(good for good, _ in found)} | {min(shares):.1%} | {sum(shares) / len(shares):.1%} |"
        )


def hidden() -> None:
    """Print the least share and the largest share of refusals of limits that nobody announces, by window."""
    print("\n| hidden limit of 5 to 500 requests | cells | least share | most refused |")
    print("|---|---:|---:|---:|")
    groups: dict[float, list[tuple[float, float]]] = {}
    for cell in hidden_cells():
        outcome = cell.run()
        groups.setdefault(cell.window, []).append((outcome.share, outcome.refused / outcome.sent))
    for window, measured in groups.items():
        shares, refused = zip(*measured, strict=True)
        print(f"| per {window:g} s | {len(measured)} | {min(shares):.1%} | {max(refused):.1%} |")


def run_together(points: list[int]) -> list[str]:
    """Return what the points tell, each measured in a process of its own, all at once."""
    command = [sys.executable, __file__, "--point"]
    running = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True)
        for number in points
    ]
    return [process.communicate()[0] for process in running]


def main() -> None:
    """Print the tables."""
    if "--point" in sys.argv:
        print(json.dumps(ask(POINTS[int(sys.argv[-1])])))
        return
    seconds = {
        number: point.rows * (point.tokens or 1) * point.window / point.limit
        for number, point in enumerate(POINTS)
    }
    quick = [number for number, its in seconds.items() if its <= (30 if is_quick() else 60)]
    groups = (
        [quick] if is_quick() else [quick, [number for number in seconds if number not in quick]]
    )
    told = {
        number: out
        for group in groups
        for number, out in zip(group, run_together(group), strict=True)
    }
    print("| the server allows | rows | share of ideal | refused | in the first burst | seconds |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, out in sorted(told.items()):
        found, point = json.loads(out), POINTS[number]
        refused = f"{found['refused']:.0f} ({found['refused'] / found['sent']:.1%})"
        print(
            f"| {point.label} | {point.rows} | {found['share']:.1%} | {refused} | {found['burst']:.0f} | {found['seconds']:.0f} |"
        )
    if not is_quick():
        grid()
        hidden()


if __name__ == "__main__":
    main()
