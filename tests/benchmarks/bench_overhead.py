"""The cost of a row: a trivial system and evaluator over generated rows, run file and summary included, beside a bare loop."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from context_bench import evaluate

ROWS, MANY = 100_000, 1_000_000


class Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}

    def fingerprint(self) -> dict[str, Any]:
        return {}


class One:
    name = "one"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"one": 1.0}


def examples(rows: int, size: int) -> Iterator[dict[str, Any]]:
    padding = "x " * ((size - 70) // 2)
    for number in range(rows):
        yield {"id": f"row-{number}", "context": padding, "question": "why?", "answer": "because"}


def bare(rows: int, size: int) -> float:
    started = process_time()
    system, evaluator = Echo(), One()
    kept = [evaluator.score(example, system.process(example)) for example in examples(rows, size)]
    assert len(kept) == rows
    return process_time() - started


def ours(rows: int, size: int) -> float:
    started = process_time()
    result = evaluate(Echo(), examples(rows, size), [One()], progress=False)
    assert result.summary["echo"]["num_rows"] == rows
    return process_time() - started


def kept(rows: int, size: int, path: str) -> float:
    """Run into a run file, or resume the finished run in it."""
    started = process_time()
    result = evaluate(Echo(), examples(rows, size), [One()], progress=False, run_file=path)
    assert len(result.rows) == rows
    return process_time() - started


def measure(what: str, rows: int, size: int, path: str = "") -> dict[str, float]:
    """Measure in a fresh process, so that memory is its own."""
    code = f"import bench_overhead as b; b.report({what!r}, {rows}, {size}, {path!r})"
    folder = __file__.rpartition("/")[0] or "."
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def report(what: str, rows: int, size: int, path: str = "") -> None:
    ours(100, size)  # what is imported once is no cost of a row
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = perf_counter()
    seconds = kept(rows, size, path) if what == "kept" else {"ours": ours, "bare": bare}[what](rows, size)
    wall = perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"microseconds": 1e6 * seconds / rows, "mib": (after - before) / 1024, "seconds": wall}))


def main() -> None:
    print("| rows | bytes a row | CPU a row | CPU of a bare loop | memory added |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for rows, size in ((ROWS, 200), (ROWS // 2, 1_224), (ROWS // 10, 10_440)):
        own, other = measure("ours", rows, size), measure("bare", rows, size)
        print(
            f"| {rows:,} | {size:,} | {own['microseconds']:.1f} us | {other['microseconds']:.2f} us | {own['mib']:.1f} MiB |"
        )
    print("\n| a kept run | seconds | CPU a row | memory added |")
    print("| --- | ---: | ---: | ---: |")
    with TemporaryDirectory() as folder:
        for what in (f"{MANY:,} rows", "resumed when it is finished"):
            own = measure("kept", MANY, 200, f"{folder}/run.sqlite")
            print(f"| {what} | {own['seconds']:.1f} | {own['microseconds']:.1f} us | {own['mib']:.1f} MiB |")


if __name__ == "__main__":
    main()
