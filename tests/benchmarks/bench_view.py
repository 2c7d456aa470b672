"""The list of the viewer: seconds to list 20 runs of 100,000 rows; the limit is 1 second.

`python tests/benchmarks/bench_view.py [rows] [runs]` makes one run, copies it, and lists the folder cold and again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from bench_compare import made

from context_bench_view.folder import RunFolder


def main(rows: int, runs: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        first = made(folder / "run-00.sqlite", rows // 2, 2)
        for number in range(1, runs):
            shutil.copy(first, folder / f"run-{number:02}.sqlite")
        for name in ("cold", "again"):
            started = perf_counter()
            listed = RunFolder(folder).listed()
            print(
                f"{len(listed)} runs of {rows:,} rows, {name}: {perf_counter() - started:.3f} s (limit 1 s)",
                flush=True,
            )


if __name__ == "__main__":
    main(*(int(number) for number in (sys.argv[1:] or (100_000, 20))))
