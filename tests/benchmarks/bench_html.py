"""Writing the HTML report, and listing runs in the viewer: seconds and megabytes, by examples of three systems.

Run it as ``python tests/benchmarks/bench_html.py [rows]``; the rows are those of the stored run whose report is written by the
command line, in a process of its own, for its peak memory. It needs context-bench-html and context-bench-view.
"""

from __future__ import annotations

import io
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_compare import made, measured

from context_bench import EvalResult, EvalRow, evaluate
from context_bench.records import KeyMeaning
from context_bench_html import HtmlReporter
from context_bench_view.folder import RunFolder

SYSTEMS = ("direct", "gateway", "compressor")
KEYS = {"f1": KeyMeaning("acme/words")}


def result(examples: int) -> EvalResult:
    """Return the result of three systems whose scores differ on some rows."""
    rows = [row(number, slot) for number in range(examples) for slot in range(3)]
    return EvalResult(
        rows, (), {}, {"systems": list(SYSTEMS), "datasets": ["calls"], "baseline": "direct"}
    )


def row(number: int, slot: int) -> EvalRow:
    """Return one row."""
    score = 1.0 if number * (slot + 1) % 10 else 0.0
    common: dict[str, Any] = {
        "dataset": "calls",
        "primary": "f1",
        "keys": KEYS,
        "position": number,
        "system_number": slot,
    }
    response = f"answer {number} {'long ' * 30}{slot}"
    return EvalRow(
        SYSTEMS[slot], f"id-{number}", {"f1": score}, response=response, latency=0.1, **common
    )


def report(examples: int) -> tuple[float, float]:
    """Return seconds and megabytes of a report."""
    found, stream = result(examples), io.StringIO()
    start = time.perf_counter()
    HtmlReporter().write(found, stream)
    return time.perf_counter() - start, len(stream.getvalue().encode()) / 1e6


def listing(runs: int, rows: int) -> float:
    """Return the seconds in which a folder is listed for the first time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        examples = ({"id": str(number), "answer": "x"} for number in range(rows))
        evaluate(
            lambda example: example["answer"],
            examples,
            progress=False,
            run_file=folder / "0.sqlite",
        )
        for number in range(1, runs):
            shutil.copy(folder / "0.sqlite", folder / f"{number}.sqlite")
        start = time.perf_counter()
        assert len(RunFolder(folder).listed()) == runs
        return time.perf_counter() - start


def stored(rows: int) -> tuple[float, float, float]:
    """Return seconds, the megabytes of the file and the peak memory in MiB of the report of a stored run of two systems."""
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "report.html"
        run = made(Path(name) / "run.sqlite", rows // 2, 2)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        seconds, memory = measured("report", str(run), "-o", str(page), "--format", "none")
        assert memory > before, "an earlier process took more memory"
        return seconds, page.stat().st_size / 1e6, memory


def main(rows: int) -> None:
    """Print a table."""
    print("| what | seconds | megabytes |\n|---|---:|---:|")
    for examples in (1_000, 50_000):
        seconds, size = report(examples)
        print(f"| report of {examples:,} examples x 3 systems | {seconds:.2f} | {size:.1f} |")
    seconds, size, memory = stored(rows)
    told = f"report of a stored run of {rows:,} rows, {memory:.0f} MiB at most"
    print(f"| {told} | {seconds:.1f} | {size:.1f} |")
    print(f"| 20 runs of 100,000 rows listed | {listing(20, 100_000):.3f} | |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
