"""CPU time of a row: a system and an evaluator that do next to nothing, over generated rows, everything else included.

The goal is 120 microseconds for a stored row of 200 bytes, and less than every peer. Ours writes the run file and adds the
rows up, inspect_ai writes its log, the loop keeps a list of scores. Time of the whole process after a small run for warming
up; peers with few rows carry their fixed costs in it.
"""

from __future__ import annotations

from functools import partial

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
    repeat,
    versions,
)

SIZES = (200, 1_224, 10_440)  # 0, 1 and 10 KiB more
ROWS = {
    OURS: (100_000, 50_000, 10_000),
    THREADS._replace(label="context-bench, 16 workers"): (50_000, 20_000, 5_000),
    LOOP: (100_000, 50_000, 10_000),
    INSPECT: (4_000, 4_000, 4_000),
    LM_EVAL: (20_000, 10_000, 5_000),
    RAGAS: (20_000, 20_000, 10_000),
    DEEPEVAL: (4_000, 4_000, 4_000),
}


def costs(runner: Runner, rows: tuple[int, ...]) -> list[str]:
    """Return the CPU microseconds of a row of each size, and of a KiB more."""
    spent = [
        1e6 * repeat(runner, rows=number, size=size, workers=16)["cpu"] / number
        for number, size in zip(rows, SIZES)
    ]
    digits = 2 if spent[0] < 10 else 1 if spent[0] < 1000 else 0
    first, last = (spent[1] - spent[0], (spent[2] - spent[0]) / 10)
    numbers = " / ".join(f"{number:,}" for number in rows) if len(set(rows)) > 1 else f"{rows[0]:,}"
    return [numbers, *(f"{value:,.{digits}f}" for value in (*spent, first, last))]


def main() -> None:
    """Print the table."""
    quick = is_quick()
    sizes = " | ".join(f"{size:,} bytes" for size in SIZES)
    print(f"| CPU, µs a row | rows | {sizes} | the first KiB more | each of ten KiB more |")
    print("|---|---:|" + "---:|" * (len(SIZES) + 2))
    for runner, rows in ROWS.items():
        asked = tuple(max(200, number // 50) for number in rows) if quick else rows
        found = cells(len(SIZES) + 3, partial(costs, runner, asked))
        print(f"| {runner.label} | {found} |", flush=True)
    print(f"\nMedians of up to three runs. {versions(ROWS)}")


if __name__ == "__main__":
    main()
