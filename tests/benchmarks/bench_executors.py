"""Rows that cost the processor, on every executor: what a row costs the driver, and whether the exports are equal.

One request of stored responses, scored by ROUGE, of `--rows N` rows (10,000 unless given) of `--words N` words (600), on two workers
of each executor, in a PostgreSQL database by `local`, and in four shards that are merged. Driver is the CPU of the process that reads
the data set and writes the run file; for ray with that of the process between; for shards that of `merge` alone, because a shard has
no driver; the CPU of the database server is its own. Equal means that the canonical export is byte by byte that of `local`; the
database is exported by a reader without a copy. `python tests/benchmarks/bench_executors.py` prints the table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import NamedTuple

from postgres_server import Server

SHARDS = 4
EXECUTORS = ("local", "processes:2", "dask:2", "ray:2")
REQUEST = (
    *("run", "-s", "replay", "-d", "rows.jsonl", "--evaluators", "rouge"),
    *("-q", "--format", "none"),
)
BETWEEN = b"context_bench_ray.gateway"


class Run(NamedTuple):
    """What a command took: seconds, and seconds of the processor in its own process."""

    seconds: float
    driver: float


def write_rows(rows: int, words: int) -> None:
    """Write rows with a reference and a stored response."""
    chance = random.Random(5)
    vocabulary = [f"word{number}" for number in range(3000)]
    with Path("rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            answer, response = (" ".join(chance.choices(vocabulary, k=words)) for _ in range(2))
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
    digest = hashlib.sha256()
    with process.stdout as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, export)
    return digest.hexdigest()


class Table:
    """The table; the export of its first line is what the others are compared with.

    Args:
        rows: Rows of each run.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._export: str | None = None
        print("| where rows are done | rows | seconds | CPU of the driver a row | export equal |")
        print("|---|---:|---:|---:|---|", flush=True)

    def add(self, name: str, measured: Callable[[], tuple[Run, str]]) -> None:
        """Add a line, with the reason where something cannot be measured."""
        try:
            took, export = measured()
        except (AssertionError, ImportError, OSError, subprocess.CalledProcessError) as error:
            reason = str(error).splitlines()[0].replace("|", "/")
            print(f"| {name} | {self._rows:,} | not measured: {reason} | | |", flush=True)
            return
        self._export = self._export or export
        cost = f"{took.driver / self._rows * 1e6:.0f} us"
        equal = "yes" if export == self._export else "**no**"
        print(f"| {name} | {self._rows:,} | {took.seconds:.1f} | {cost} | {equal} |", flush=True)


def on_executor(executor: str) -> tuple[Run, str]:
    """Run on an executor."""
    path = f"{executor.partition(':')[0]}.sqlite"
    took = command(*REQUEST, "--run-file", path, "--executor", executor)
    export = digest(path)
    remove(path)
    return took, export


def in_database() -> tuple[Run, str]:
    """Run on ``local`` into a PostgreSQL database, and export it by a reader without a copy."""
    with closing(Server()) as server:
        server.execute("CREATE DATABASE bench")
        store = ("--store", server.url("bench"), "--run-file", "rows")
        took = command(*REQUEST, *store, "--executor", "local")
        home = Path(os.environ["CONTEXT_BENCH_HOME"])
        shutil.rmtree(home / "stores")
        export = digest(f"{server.url('bench')}#rows")
        shutil.rmtree(home / "stores")
    return took, export


def in_shards() -> tuple[Run, str]:
    """Run shards, one after the other, and merge them."""
    parts = [f"part-{shard}.sqlite" for shard in range(1, SHARDS + 1)]
    seconds = 0.0
    for shard, path in enumerate(parts, 1):
        shard_of = ("--shard", f"{shard}/{SHARDS}")
        seconds += command(*REQUEST, "--run-file", path, *shard_of).seconds
    merged = command("merge", *parts, "-o", "all.sqlite", "--format", "none")
    export = digest("all.sqlite")
    remove("all.sqlite", *parts)
    return Run(seconds + merged.seconds, merged.driver), export


def remove(*paths: str) -> None:
    """Remove run files, which fill the disk."""
    for path in paths:
        Path(path).unlink()


def main() -> None:
    """Print the table."""
    if "--command" in sys.argv:
        execute(sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=600, help="words of answer and response")
    parser.add_argument("--quick", action="store_true", help="400 rows")
    options = parser.parse_args()
    rows = 400 if options.quick else options.rows
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["CONTEXT_BENCH_HOME"] = str(Path(folder, "home"))
        write_rows(rows, options.words)
        table = Table(rows)
        for executor in EXECUTORS:
            table.add(executor, partial(on_executor, executor))
        table.add("local, in a PostgreSQL database", in_database)
        table.add(f"{SHARDS} shards, one after the other, and `merge`", in_shards)
        os.chdir("/")
    print(f"\nLoad {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
