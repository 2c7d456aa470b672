"""Run the benchmarks and write docs/reference/benchmarks.md: `python tests/benchmarks/write_table.py [NAME ...]`.

Each `bench_NAME.py` prints a Markdown table of its own; the page holds them with the machine and the versions. Those of
`DETAILS` are in tests/benchmarks/details.md. With names, only those are run, and the rest of both pages stays. `--quick` tries small loads where a benchmark has them, prints
the tables and leaves the page alone. `--check` measures and compares ratios with those of the pages, which stay as they are: one
that is worse by more than 15 % is measured again, and if it stays so, the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import distributions
from pathlib import Path
from time import monotonic

import pictures
from ratios import TOLERANCE, Change, better_of, changes, ratios_of

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "reference" / "benchmarks.md"
DETAILS_PAGE = FOLDER / "details.md"
DETAILS = (
    "endpoint",
    "executors",
    "kills",
    "limits",
    "multiple-choice",
    "needle",
    "scoring",
    "sessions",
    "stopping",
    "view",
)
"""The benchmarks of internals, which compare nothing with another program."""
PEERS = (
    "rouge-score",
    "math-verify",
    "nltk",
    "langdetect",
    "sqlite3",
    "httpx",
    "httptools",
    "aiohttp",
)
BENCHMARKS = {
    path.stem.removeprefix("bench_").replace("_", "-"): path
    for path in sorted(FOLDER.glob("bench_*.py"))
}


def title(name: str) -> str:
    """Return the heading of a benchmark's section."""
    return name.replace("-", " ").capitalize()


def subject(path: Path) -> str:
    """Return the first paragraph of a benchmark's docstring; the rest of it describes the method."""
    paragraph = path.read_text(encoding="utf-8").split('"""')[1].strip().split("\n\n")[0]
    text = " ".join(paragraph.split())
    return re.sub(r":? `python tests/benchmarks/[^`]*` prints an? .*?table\.", ".", text)


def section(path: Path, quick: bool) -> str:
    """Return the section of one benchmark: its subject, the table that it prints, and the pictures of that."""
    name = path.stem.removeprefix("bench_").replace("_", "-")
    head = f"## {title(name)}\n\n{subject(path)}\n\n"
    has_quick = "is_quick" in path.read_text(encoding="utf-8")
    command = [sys.executable, str(path), *(["--quick"] if quick and has_quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return (
            f"{head}Not run for this page: what it is compared with, or its data, was not there.\n"
        )
    parts = [f"{head}{done.stdout.strip()}", *pictures.links(title(name)), measured_line()]
    return "\n\n".join(parts) + "\n"


def measured_line() -> str:
    """Return when a section was measured, and how busy the machine was at its end."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Measured {date.today():%Y-%m-%d}{load}."


def head() -> str:
    """Return the head of a page: what was measured, where, with what."""
    versions = {found.metadata["Name"]: found.version for found in distributions()}
    peers = ", ".join(f"{name} {versions[name]}" for name in PEERS if name in versions)
    return (
        "# Benchmarks\n\n"
        "Written by `nox -s bench`. Each table puts both sides into one run on one machine; compare ratios, not times. "
        "`nox -s bench -- NAME ...` measures some sections again. A load above a quarter of the cores makes times too long. "
        "The docstring of `tests/benchmarks/bench_NAME.py` describes the method of a section. "
        "`docs/reference/benchmarks.md` has the comparisons with other programs and the goals, "
        "`tests/benchmarks/details.md` those of internals.\n\n"
        f"Python {platform.python_version()}, {machine()}, "
        f"context-bench {versions.get('context-bench', '?')}; {peers or 'no peers installed'}.\n"
    )


def machine() -> str:
    """Return the system, its processor and its memory, as far as they can be told."""
    parts = [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} cores"]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        parts[1] += f" of {models[0]}" if models else ""
        parts.append(
            f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory"
        )
    except (OSError, ValueError):
        pass
    return ", ".join(parts)


def warn_when_busy() -> None:
    """Say so when something else is running: times taken then are worth little."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > cores / 4:
        print(
            f"This machine is busy (load {load:.1f} on {cores} cores): the times will be too long.",
            file=sys.stderr,
        )


def recorded_sections() -> dict[str, str]:
    """Return the sections of both pages by their headings."""
    sections = {}
    for page in [page for page in (PAGE, DETAILS_PAGE) if page.exists()]:
        for part in page.read_text(encoding="utf-8").split("\n## ")[1:]:
            sections[part.partition("\n")[0]] = f"## {part.rstrip()}\n"
    return sections


def check(names: list[str]) -> int:
    """Compare the ratios of benchmarks with the recorded ones, and return the exit code."""
    recorded = recorded_sections()
    worse: list[str] = []
    for name in names:
        before = ratios_of(recorded.get(title(name), ""))
        if not before:
            continue
        print(f"{name} ...", flush=True)
        found = changes(before, now := ratios_of(section(BENCHMARKS[name], quick=False)))
        if any(change.worse > TOLERANCE for change in found):
            again = ratios_of(section(BENCHMARKS[name], quick=False))
            found = changes(before, better_of(now, again))
        for change in found:
            print(f"  {line_of(change)}", flush=True)
        worse += [f"{name}: {change.name}" for change in found if change.worse > TOLERANCE]
        lost = sorted(before.keys() - now.keys())
        if lost:
            print(f"  not measured: {'; '.join(lost)}", flush=True)
        if not found:
            worse.append(f"{name}: nothing was measured")
    print("\n".join(["Worse than recorded:", *worse]) if worse else "No ratio is worse by 15 %.")
    return 1 if worse else 0


def line_of(change: Change) -> str:
    """Return how a ratio differs, as a line."""
    how = "worse" if change.worse > 0 else "better"
    numbers = f"{change.recorded:.3g} -> {change.now:.3g}"
    return f"{change.name}: {numbers}, {abs(change.worse):.0%} {how}"


def main() -> None:
    """Run the benchmarks and write the page, or compare with it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all without a name"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small loads, no page: to try whether it works"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare ratios with the pages, and write none"
    )
    arguments = parser.parse_args()
    names = [name.replace("_", "-") for name in arguments.names]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}: there are {', '.join(BENCHMARKS)}")
    warn_when_busy()
    if arguments.check:
        sys.exit(check(names or list(BENCHMARKS)))
    sections = recorded_sections() if names else {}
    for name in names or BENCHMARKS:
        print(f"{name} ...", end=" ", flush=True)
        started = monotonic()
        sections[title(name)] = section(BENCHMARKS[name], arguments.quick)
        print(f"{monotonic() - started:.0f} s", flush=True)
        if arguments.quick:
            print(f"\n{sections[title(name)]}", flush=True)
    if arguments.quick:
        return
    shown = [name for name in BENCHMARKS if title(name) in sections]
    for page, is_detailed in ((PAGE, False), (DETAILS_PAGE, True)):
        kept = [sections[title(name)] for name in shown if (name in DETAILS) is is_detailed]
        page.write_text("\n".join([head(), *kept]), encoding="utf-8")
        print(page.relative_to(FOLDER.parents[1]))
    pictures.main([])


if __name__ == "__main__":
    main()
