"""Rows that cost the processor, on every executor: what a row costs the driver, and whether the exports are equal.

One request of stored responses, scored by ROUGE, of `--rows N` rows (10,000 unless given), on two workers of each executor, and in four
shards that are merged. Driver is the CPU of the process that reads the data set and writes the run file; for ray with that of the
process between; for shards that of `merge` alone, because a shard has no driver. Equal means that the canonical export is byte by byte that of `local`.
`python tests/benchmarks/bench_executors.py` prints the table.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import NamedTuple

from side_by_side import is_quick

WORDS = 600
SHARDS = 4
EXECUTORS = ("local", "processes:2", "dask:2", "ray:2")
QUIET = ("-q", "--format", "none")
BETWEEN = b"context_bench_ray.gateway"


class Run(NamedTuple):
    """What a command took: seconds, and seconds of the processor in its own process."""

    seconds: float
    driver: float


def write_rows(rows: int) -> None:
    """Write rows with a reference and a stored response."""
    chance = random.Random(5)
    words = [f"word{number}" for number in range(3000)]
    with Path("rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            answer, response = (" ".join(chance.choices(words, k=WORDS)) for _ in range(2))
            row = {"id": str(number), "answer": answer, "response": response}
            print(json.dumps(row), file=file)


def command(*words: str) -> Run:
    """Run a command of context-bench in a process."""
    started = monotonic()
    done = subprocess.run(
        [sys.executable, __file__, "--command", *words], stdout=subprocess.PIPE, check=True
    )
    return Run(monotonic() - started, float(done.stdout.split()[-1]))


def execute(words: list[str]) -> None:
    """Run a command here, and print what it cost this process and the one between."""
    from resource import RUSAGE_SELF, getrusage

    from context_bench.cli import execute as run

    between = [0.0]
    if any(word.startswith("ray") for word in words):
        Thread(target=watch, args=(between,), daemon=True).start()
    code = run(words)
    used = getrusage(RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime + between[0], flush=True)
    os._exit(code)


def watch(between: list[float]) -> None:
    """Note the processor time of the child between the driver and ray, until it ends."""
    tick = os.sysconf("SC_CLK_TCK")
    while True:
        sleep(0.2)
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError, IndexError, ValueError):
                for child in (task / "children").read_text().split():
                    if BETWEEN in Path(f"/proc/{child}/cmdline").read_bytes():
                        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                        between[0] = (int(fields[11]) + int(fields[12])) / tick


def digest(path: str) -> str:
    """Return the digest of a canonical export."""
    export = [sys.executable, "-m", "context_bench", "export", "--canonical", path]
    process = subprocess.Popen(export, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as stream:
        found = hashlib.file_digest(stream, "sha256") if sys.version_info >= (3, 11) else None
        text = found.hexdigest() if found else hashlib.sha256(stream.read()).hexdigest()
    assert process.wait() == 0
    return text


def main() -> None:
    """Print the table."""
    if "--command" in sys.argv:
        execute(sys.argv[2:])
    rows = int(sys.argv[sys.argv.index("--rows") + 1]) if "--rows" in sys.argv else 10_000
    rows = 400 if is_quick() else rows
    print("| where rows are done | rows | seconds | CPU of the driver a row | export equal |")
    print("|---|---:|---:|---:|---|")
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        write_rows(rows)
        request = ("-s", "replay", "-d", "rows.jsonl", "--evaluators", "rouge", *QUIET)
        exports = []
        for executor in EXECUTORS:
            path = f"{executor.partition(':')[0]}.sqlite"
            took = command("run", *request, "--run-file", path, "--executor", executor)
            exports.append(digest(path))
            show(executor, rows, took, is_equal=exports[-1] == exports[0])
        parts = [f"part-{shard}.sqlite" for shard in range(1, SHARDS + 1)]
        seconds = 0.0
        for shard, path in enumerate(parts, 1):
            part = ("--shard", f"{shard}/{SHARDS}")
            seconds += command("run", *request, "--run-file", path, *part).seconds
        merged = command("merge", *parts, "-o", "all.sqlite", "--format", "none")
        took = Run(seconds + merged.seconds, merged.driver)
        show(
            f"{SHARDS} shards, one after the other, and `merge`",
            rows,
            took,
            is_equal=digest("all.sqlite") == exports[0],
        )
    print(f"\nLoad {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


def show(name: str, rows: int, took: Run, *, is_equal: bool) -> None:
    """Print a line of the table."""
    cost = f"{took.driver / rows * 1e6:.0f} us"
    equal = "yes" if is_equal else "**no**"
    print(f"| {name} | {rows:,} | {took.seconds:.1f} | {cost} | {equal} |", flush=True)


if __name__ == "__main__":
    main()
