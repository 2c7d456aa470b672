"""Writing the HTML report, and listing runs in the viewer: seconds and megabytes, by examples of three systems.

Run it as ``python tests/benchmarks/bench_html.py``. It needs context-bench-html and context-bench-view.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

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


def main() -> None:
    """Print a table."""
    print("| what | seconds | megabytes |\n|---|---:|---:|")
    for examples in (1_000, 50_000):
        seconds, size = report(examples)
        print(f"| report of {examples:,} examples x 3 systems | {seconds:.2f} | {size:.1f} |")
    print(f"| 20 runs of 100,000 rows listed | {listing(20, 100_000):.3f} | |")


if __name__ == "__main__":
    main()
