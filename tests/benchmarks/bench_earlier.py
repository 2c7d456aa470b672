"""Today beside an earlier commit: what a row and a start cost, in interleaved pairs.

Each side has an environment of its own, with core and the same few packages. A pair measures both sides, one after the other,
each in a process of its own; every second pair begins with the other side. The median of the pairs' ratios counts: above 1
means that it costs more than it did. A row is an example of a thousand bytes that is answered and scored by next to nothing and
kept in a run file, after a small run for warming up. Starts are CPU time of whole processes with compiled bytecode.
Instructions are counted by valgrind, where it is installed: what each of 4,000 rows adds to a run of 1,000. No other load of
the machine changes them.
`python tests/benchmarks/bench_earlier.py [--commit C]` prints the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from side_by_side import RUNNERS

ROOT = Path(__file__).resolve().parents[2]
BEFORE_THE_HOUSE = "e1196cc"
PACKAGES = (
    "core",
    *(
        f"plugins/context-bench-{name}"
        for name in ("answer-quality", "compress", "local", "needle", "python")
    ),
)
PAIRS = 7
Measure = Callable[[Path], float]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", default=BEFORE_THE_HOUSE, help="what today is held against")
    parser.add_argument(
        "--quick", action="store_true", help="few rows and pairs, to try whether it works"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        before, today = (
            environment(folder / "before", asked.commit),
            environment(folder / "today", None),
        )
        factor, pairs = (20, 2) if asked.quick else (1, PAIRS)
        example = ["run", "--system", "identity", "--dataset", "needle", "-n", "5"]
        cases: dict[str, Measure] = {
            "CPU of a row (limit: 1.07)": row(
                "cpu", rows=8000 // factor, size=1000, path="run.sqlite"
            ),
            "CPU of a row, 16 threads, 1 ms a call": row(
                "cpu", rows=4000 // factor, size=1000, call=0.001, workers=16
            ),
            "time of a row, 16 in flight, 20 ms a call": row(
                "seconds", rows=4000 // factor, call=0.02, workers=16
            ),
            "`context-bench run`, five rows": start(example),
            "`context-bench plugins list`": start(["plugins", "list"]),
            "`context-bench --help`": start(["--help"]),
        }
        print(f"| today, times {asked.commit} | median of {pairs} pairs | least | most |")
        print("|---|---:|---:|---:|")
        for name, measure in cases.items():
            ratios = sorted(ratios_of(measure, before, today, pairs))
            print(
                f"| {name} | {median(ratios):.3f} | {ratios[0]:.3f} | {ratios[-1]:.3f} |",
                flush=True,
            )
        if valgrind := shutil.which("valgrind"):
            threads = {"call": 0.001, "workers": 16}
            for name, more in (
                ("instructions of a row (limit: 1.03)", {}),
                ("instructions of a row, 16 threads", threads),
            ):
                ratio = instructions(valgrind, today, factor, **more) / instructions(
                    valgrind, before, factor, **more
                )
                print(f"| {name} | {ratio:.3f} | | |", flush=True)


def environment(folder: Path, commit: str | None) -> Path:
    """Return the interpreter of an environment with our packages as a commit has them; None takes them as they are."""
    source, python = folder / "source", folder / "venv" / "bin" / "python"
    source.mkdir(parents=True)
    if commit is None:
        for name in PACKAGES:
            shutil.copytree(
                ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__")
            )
    else:
        archive = subprocess.run(
            ["git", "archive", commit, *PACKAGES], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    make = [uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")]
    constraints = str(ROOT / "tests" / "constraints.txt")
    install = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--compile-bytecode",
        "--python",
        str(python),
        "-c",
        constraints,
    ]
    for command in (make, [*install, *(str(source / name) for name in PACKAGES)]):
        subprocess.run(command, env=plain_environment(), check=True)
    return python


def ratios_of(measure: Measure, before: Path, today: Path, pairs: int) -> list[float]:
    """Return what today costs of what it did, pair by pair, after a pair that is thrown away."""
    found = []
    for number in range(pairs + 1):
        sides = (before, today) if number % 2 else (today, before)
        cost = {python: measure(python) for python in sides}
        found.append(cost[today] / cost[before])
    return found[1:]


def row(what: str, **load: object) -> Measure:
    """Return what measures a load of `runners/ours.py`: its ``cpu`` or its ``seconds``."""

    def measure(python: Path) -> float:
        with tempfile.TemporaryDirectory() as temporary:
            asked = {**load, "path": f"{temporary}/{load['path']}"} if "path" in load else load
            command = [str(python), str(RUNNERS / "ours.py"), json.dumps(asked)]
            done = subprocess.run(
                command, cwd=temporary, env=plain_environment(), stdout=subprocess.PIPE, check=True
            )
        return float(json.loads(done.stdout.splitlines()[-1])[what])

    return measure


def instructions(valgrind: str, python: Path, factor: int, **load: object) -> float:
    """Return how many instructions a row takes."""
    few, many = 1000 // factor, 5000 // factor
    found = []
    for rows in (few, many):
        with tempfile.TemporaryDirectory() as temporary:
            asked = {"rows": rows, "size": 1000, "path": f"{temporary}/run.sqlite", **load}
            command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(python)]
            command += [str(RUNNERS / "counted.py"), json.dumps(asked)]
            environment = {**plain_environment(), "PYTHONHASHSEED": "0"}
            done = subprocess.run(
                command, cwd=temporary, env=environment, capture_output=True, text=True, check=True
            )
        found.append(int(re.findall(r"Collected *: *(\d+)", done.stderr)[-1]))
    return (found[1] - found[0]) / (many - few)


def start(arguments: list[str], times: int = 5) -> Measure:
    """Return what measures the CPU time of a command; the median of some starts counts."""

    def measure(python: Path) -> float:
        with tempfile.TemporaryDirectory() as home:
            surroundings = {**plain_environment(), "HOME": home}
            command = [str(python.with_name("context-bench")), *arguments]
            costs = []
            for _ in range(times + 1):  # the first one fills what is kept between starts
                spent = children()
                subprocess.run(command, cwd=home, env=surroundings, capture_output=True, check=True)
                costs.append(children() - spent)
        return median(costs[1:])

    return measure


def children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def plain_environment() -> dict[str, str]:
    """Return this environment without what would change how Python starts, or where something is installed."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }


if __name__ == "__main__":
    main()
