"""Memory that a run adds, its result included, and the time to resume a finished run, over generated rows of 200 bytes.
Peers get as many rows as they do in under a minute, and are scaled to a million.

The first table compares 60,000 rows with 200,000, on one worker and on 16. While rows are answered a run keeps nothing for
each: up to 50,000 ids of examples are in memory, and more lie in a temporary file, whose cache grows to 2 MiB. The result
takes 16 bytes a row, for a score and a latency, 8 for each further column, and 8 where rows share a document, as these do.
`--quick` prints the first table alone.

Peers get fewer rows, as many as they do in under a minute; what a million would add is in proportion to that.
"""

from __future__ import annotations

from functools import partial
from tempfile import TemporaryDirectory

from side_by_side import (
    DEEPEVAL,
    INSPECT,
    LM_EVAL,
    LOOP,
    OURS,
    RAGAS,
    THREADS,
    Runner,
    cells,
    is_quick,
    run,
    versions,
)

MILLION = 1_000_000
GROWTH = 60_000, 200_000
ROWS = {LOOP: MILLION, INSPECT: 4_000, LM_EVAL: 100_000, RAGAS: 50_000, DEEPEVAL: 10_000}


def added(runner: Runner, rows: int, path: str = "") -> list[str]:
    """Return rows, seconds, CPU of a row, MiB added, and MiB that a million rows add in proportion."""
    found = run(runner, rows=rows, workers=16, path=path)
    cpu = 1e6 * found["cpu"] / rows
    scaled = (
        f"{found['mib'] * MILLION / rows:,.0f} MiB (scaled)"
        if rows < MILLION
        else f"{found['mib']:,.1f} MiB"
    )
    return [
        f"{rows:,}",
        f"{found['seconds']:.1f} s",
        f"{cpu:,.1f} µs",
        f"{found['mib']:,.1f} MiB",
        scaled,
    ]


def print_growth() -> None:
    """Print how memory grows with the rows of a run."""
    few, many = GROWTH
    print("| context-bench | memory added | a row beyond |")
    print("|---|---:|---:|")
    with TemporaryDirectory() as folder:
        for runner, name, what in (
            (OURS, "one", "one worker, into a run file"),
            (OURS, "one", "one worker, resumed when it is finished"),
            (THREADS, "many", "16 workers, into a run file"),
        ):
            mib = {
                rows: run(runner, rows=rows, workers=16, path=f"{folder}/{name}-{rows}.sqlite")[
                    "mib"
                ]
                for rows in GROWTH
            }
            added_bytes = (mib[many] - mib[few]) * 2**20 / (many - few)
            print(
                f"| {what} | {mib[few]:.1f} MiB for {few:,} rows, {mib[many]:.1f} MiB for {many:,} "
                f"| {added_bytes:.1f} bytes |",
                flush=True,
            )
    print()


def main() -> None:
    """Print the tables."""
    print_growth()
    if is_quick():
        return
    print("| run | rows | time | CPU a row | memory added | for a million |")
    print("|---|---:|---:|---:|---:|---:|")
    with TemporaryDirectory() as folder:
        for what in ("into a run file", "resumed when it is finished"):
            found = cells(5, partial(added, OURS, MILLION, f"{folder}/run.sqlite"))
            print(f"| {OURS.label}, {what} | {found} |", flush=True)
    for runner, rows in ROWS.items():
        found = cells(5, partial(added, runner, rows))
        print(f"| {runner.label} | {found} |", flush=True)
    print(f"\n{versions(ROWS)}")


if __name__ == "__main__":
    main()
