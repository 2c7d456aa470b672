"""Calls of 50 ms, as a share of what so many calls in flight can do at best.

The calls sleep in the process, so nothing but the runner stands between the share and 100 %. ragas and deepeval ask no
system: there, the metric sleeps. lm-eval sleeps in place of the HTTP request of its concurrent path. The time is that of the
whole evaluation, scores included; ours writes the run file in it, inspect_ai its log.
"""

from __future__ import annotations

from functools import partial

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

CALL = 0.05
WORKERS = (64, 256)
# Calls for each worker. The slow ones get fewer: their share does not grow with the number of rows.
ROUNDS = {
    THREADS: (100, 100),
    ASYNC: (100, 100),
    SEMAPHORE: (100, 100),
    POOL: (100, 100),
    RAGAS: (40, 40),
    LM_EVAL: (40, 40),
    DEEPEVAL: (40, 40),
    INSPECT: (40, 10),
}


def share_of_ideal(runner: Runner, workers: int, rounds: int) -> list[str]:
    """Return the share of ideal, and the number of rows that it was measured with."""
    rows = workers * rounds
    found = repeat(runner, rows=rows, call=CALL, workers=workers, warm_up=workers)
    return [f"{rounds * CALL / found['seconds']:.1%} of {rows:,}"]


def one_by_one(rows: int) -> list[str]:
    """Return what a loop without concurrency reaches of what so many workers can do."""
    rate = rows / repeat(LOOP, rows=rows, call=CALL)["seconds"]
    return [f"{rate * CALL / workers:.1%} of {rows:,}" for workers in WORKERS]


def main() -> None:
    """Print the table."""
    quick = is_quick()
    print("| calls of 50 ms | " + " | ".join(f"{workers} in flight" for workers in WORKERS) + " |")
    print("|---|" + "---:|" * len(WORKERS))
    for runner, rounds in ROUNDS.items():
        shares = [
            cells(1, partial(share_of_ideal, runner, workers, 3 if quick else number))
            for workers, number in zip(WORKERS, rounds)
        ]
        print(f"| {runner.label} | {' | '.join(shares)} |", flush=True)
    print(f"| {LOOP.label} | {cells(len(WORKERS), partial(one_by_one, 20 if quick else 100))} |")
    print("\nA cell: share of ideal, of so many rows; the median of up to three runs.")
    print(versions(ROUNDS))


if __name__ == "__main__":
    main()
