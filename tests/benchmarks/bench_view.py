"""Pages of long runs: CPU time and peak memory of the HTML report, and of the viewer's list, first page and full page of a run.

`python tests/benchmarks/bench_view.py [rows ...]`: each number of rows is a run of two systems, looked at by two processes, one
after the other: the one writes the report, and the other answers as the viewer's server does. The goals are 1 s until the first
page of a run, and 150 MB (143 MiB) at any time. `--quick` takes 20,000 rows.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

from bench_compare import made

ROWS = (100_000, 1_000_000)


def report(folder: Path) -> None:
    """Write the report of a run."""
    from context_bench import open as open_result
    from context_bench_html import HtmlReporter

    tell("imports")
    with (folder / "report.html").open("w", encoding="utf-8") as stream:
        HtmlReporter().write(open_result(folder / "run.sqlite"), stream)
    tell("HTML report")


def view(folder: Path) -> None:
    """Answer as the viewer does."""
    from context_bench_http.local_server import LocalRequest
    from context_bench_view.server import Pages

    tell("imports")
    pages = Pages(folder, "token")
    for what, path, query in (
        ("viewer: list of runs", "/", ""),
        ("viewer: first page of the run", "/run/run.sqlite", ""),
        ("viewer: a row", "/run/run.sqlite/row/0-7-0", ""),
        ("viewer: page with verdicts and charts", "/run/run.sqlite", "lines=all&page=1"),
        ("viewer: another page of lines", "/run/run.sqlite", "lines=different&page=2"),
    ):
        assert pages.answer(LocalRequest("GET", path, query, {}, b"")).status == 200
        tell(what)


_told = 0.0


def tell(what: str) -> None:
    """Print the CPU seconds since the last call, and the peak memory in MiB."""
    global _told
    now = process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}|{now - _told:.2f}|{peak:.0f}", flush=True)
    _told = now


def main(sizes: list[int]) -> None:
    """Print a table."""
    print("| page | rows | CPU, s | peak memory, MiB |\n|---|---:|---:|---:|")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            made(Path(name) / "run.sqlite", rows // 2, 2)
            for what in ("report", "view"):
                command = [sys.executable, __file__, what, name]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                for line in done.stdout.splitlines():
                    page, seconds, peak = line.split("|")
                    if page != "imports":
                        print(f"| {page} | {rows:,} | {seconds} | {peak} |", flush=True)


if __name__ == "__main__":
    is_quick = "--quick" in sys.argv
    given = [argument for argument in sys.argv[1:] if argument != "--quick"]
    if given[:1] == ["report"]:
        report(Path(given[1]))
    elif given[:1] == ["view"]:
        view(Path(given[1]))
    elif given:
        main([int(number) for number in given])
    else:
        main([20_000] if is_quick else [*ROWS])
