"""Calls in flight as a share of what so many can do at best: 2,000 rows, ramp-up included. ragas and deepeval
call no system: their metric sleeps. lm-eval sleeps instead of its HTTP request.

Ideal is ceil(rows / in flight) times the latency of a call. The goals are 90 % at 64 in flight of 200 ms calls, 85 % at 256 of
1 s calls, and more than every peer. The calls sleep in the process, so nothing but the runner stands between the share and
100 %. ragas and deepeval ask no system: there, the metric sleeps. lm-eval sleeps in place of the HTTP request of its concurrent
path. The time is that of the whole evaluation, scores included; ours writes the run file in it, inspect_ai its log. CPU is that
of the process for a row, with the cost of that many calls in flight.
"""

from __future__ import annotations

from functools import partial
from math import ceil

from side_by_side import (
    ASYNC,
    DEEPEVAL,
    INSPECT,
    LM_EVAL,
    LOOP,
    POOL,
    RAGAS,
    SEMAPHORE,
    THREADS,
    Runner,
    cells,
    is_quick,
    repeat,
    versions,
)

ROWS = 2000
LOADS = ((64, 0.2), (256, 1.0))
RUNNERS = (THREADS, ASYNC, SEMAPHORE, POOL, RAGAS, LM_EVAL, DEEPEVAL, INSPECT)


def share_of_ideal(runner: Runner, workers: int, call: float, rows: int) -> list[str]:
    """Return the share of ideal, and the CPU of a row."""
    found = repeat(runner, rows=rows, call=call, workers=workers, warm_up=workers)
    ideal = ceil(rows / workers) * call
    return [f"{ideal / found['seconds']:.1%}", f"{1e6 * found['cpu'] / rows:,.0f} µs"]


def one_by_one(rows: int) -> list[str]:
    """Return what a loop without concurrency reaches of what so many workers can do."""
    found = []
    for workers, call in LOADS:
        seconds = repeat(LOOP, rows=rows, call=call)["seconds"]
        found += [f"{call * rows / seconds / workers:.1%}", ""]
    return found


def main() -> None:
    """Print the table."""
    rows = 300 if is_quick() else ROWS
    heads = [f"{workers} of {call:g} s | CPU a row" for workers, call in LOADS]
    print(f"| share of ideal, {rows:,} rows | " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (2 * len(LOADS)))
    for runner in RUNNERS:
        shares = [
            cells(2, partial(share_of_ideal, runner, workers, call, rows))
            for workers, call in LOADS
        ]
        print(f"| {runner.label} | {' | '.join(shares)} |", flush=True)
    print(f"| {LOOP.label} | {cells(2 * len(LOADS), partial(one_by_one, 10))} |")
    print("\nThe median of up to three runs.")
    print(f"{versions(RUNNERS)}")


if __name__ == "__main__":
    main()
