"""Comparing at size: seconds for 1,000 examples of 3 systems, and memory for a million rows.

`python tests/benchmarks/bench_compare.py [rows] [folder]` makes the runs, compares them by the command line in processes of
their own, and prints seconds and peak memory of each. The limits are those of the project: 3 seconds and 500 MiB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from context_bench import evaluate


class Counting:
    """Answers with what a hash of the example's number says."""

    version = "1"

    def __init__(self, name: str, share: int) -> None:
        self.name, self._share = name, share

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "yes" if example["number"] * 2654435761 % 100 < self._share else "no"}


class Yes:
    """Scores 1.0 for yes."""

    name = "yes"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"yes": float(processed["response"] == "yes")}


def examples(count: int) -> Iterator[dict[str, Any]]:
    return ({"id": f"q{number}", "number": number, "kind": number % 3} for number in range(count))


def made(path: Path, count: int, systems: int) -> Path:
    """Return the run file of so many examples and systems, made where it is not there."""
    if not path.exists():
        named = [
            Counting(name, share)
            for name, share in (("one", 80), ("two", 75), ("three", 81))[:systems]
        ]
        evaluate(
            named,
            examples(count),
            [Yes()],
            progress=False,
            run_file=path,
            score_field="yes",
            baseline="one",
        )
    return path


def measured(*arguments: str) -> tuple[float, float]:
    """Return the seconds and the peak memory in MiB of a command of ours."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    started = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "context_bench", *arguments], check=True, stdout=subprocess.DEVNULL
    )
    seconds = perf_counter() - started
    return seconds, max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def main(rows: int, folder: Path) -> None:
    small = made(folder / "small.sqlite", 1000, 3)
    for command in ("report", "compare"):
        seconds, memory = measured(command, str(small))
        print(
            f"{command}, 1,000 examples of 3 systems: {seconds:.2f} s, {memory:.0f} MiB (limit 3 s)",
            flush=True,
        )
    large = made(folder / "large.sqlite", rows // 2, 2)
    for more in ((), ("--by", "kind")):
        seconds, memory = measured("compare", str(large), *more)
        told = f"compare {' '.join(more)}".strip()
        print(
            f"{told}, {rows:,} rows: {seconds:.0f} s, {memory:.0f} MiB (limit 500 MiB)", flush=True
        )


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as scratch:
        main(size, Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch))
