"""What starting costs: `python tests/benchmarks/bench_cli.py` prints a Markdown table.

Everything is counted in CPU time of the whole process and divided by that of `python -c pass`, because that ratio is
much the same on every machine. The environment is as a team has it: core and every plugin from wheels, their
dependencies, 100 other distributions, bytecode compiled.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

Row = tuple[str, float, float, float | None]

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"import context_bench": 1.3, "from context_bench import evaluate": 6.0, "context-bench plugins list": 8.0}
FAKES = 100


def rows(runs: int = 15, folder: Path | None = None) -> list[Row]:
    """Name of the case, milliseconds of CPU time, times `python -c pass`, and the ratio that it must not exceed.

    Args:
        runs: How often each case is measured, in turn; the medians count.
        folder: Where the environment is, or is made; None makes it anew and removes it.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return rows(runs, Path(temporary))
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        make_environment(folder)
    cases = {
        "python -c pass": [python, "-c", "pass"],
        "import context_bench": [python, "-c", "import context_bench"],
        "from context_bench import evaluate": [python, "-c", "from context_bench import evaluate"],
        "context-bench --help": [python.parent / "context-bench", "--help"],
        "context-bench plugins list": [python.parent / "context-bench", "plugins", "list"],
        "context-bench explain wiring": [python.parent / "context-bench", "explain", "wiring", "--dataset", "needle"],
        "context-bench run --help": [python.parent / "context-bench", "run", "--help"],
        "import click, importlib_metadata, tomli, attrs": [
            python,
            "-c",
            "import click, importlib_metadata, tomli, attrs",
        ],
    }
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for round_number in range(runs + 1):
        for name, command in cases.items():
            spent = cpu_seconds(command, folder)
            if round_number:  # the first round fills the caches
                seconds[name].append(spent)
    base = median(seconds["python -c pass"])
    return [(name, 1000 * median(spent), median(spent) / base, LIMITS.get(name)) for name, spent in seconds.items()]


def make_environment(folder: Path) -> None:
    """Make a virtual environment with core and every plugin from wheels, and as many empty distributions."""
    environ = clean_environment()
    wheels = Path(os.environ.get("CONTEXT_BENCH_WHEELS", folder / "wheels"))
    if not list(wheels.glob("context_bench-*.whl")):
        call("uv", "build", "--quiet", "--wheel", "--all-packages", "--out-dir", wheels, cwd=ROOT, env=environ)
    call("uv", "venv", "--quiet", "--python", sys.executable, folder / "venv", env=environ)
    python = folder / "venv" / "bin" / "python"
    built = sorted(wheels.glob("*.whl"))
    call("uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *built, env=environ)
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    for number in range(FAKES):
        add_distribution(site, number)


def add_distribution(site: Path, number: int) -> None:
    """Add a distribution without code, of which every third has entry points of its own."""
    folder = site / f"bystander_{number}-1.{number}.dist-info"
    folder.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: bystander-{number}\nVersion: 1.{number}\n"
    metadata += "".join(f"Requires-Dist: bystander-{other}>=1\n" for other in range(number % 7))
    (folder / "METADATA").write_text(metadata + "\n" + "A description that nobody reads.\n" * 100)
    (folder / "RECORD").write_text(f"{folder.name}/METADATA,,\n{folder.name}/RECORD,,\n")
    if number % 3 == 0:
        (folder / "entry_points.txt").write_text(f"[console_scripts]\nbystander-{number} = bystander:main\n")


def cpu_seconds(command: list[object], folder: Path) -> float:
    """The CPU seconds, in user and kernel mode, that a command and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(*command, cwd=folder, stdout=subprocess.DEVNULL, env=clean_environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def call(*command: object, **options: object) -> None:
    """Run a command; it must succeed."""
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def clean_environment() -> dict[str, str]:
    """This environment without what would change how Python starts."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="how often each case is measured [%(default)s]")
    parser.add_argument("--folder", type=Path, help="keep the environment here and use it again")
    arguments = parser.parse_args()
    if shutil.which("uv") is None:
        sys.exit("uv is not installed; it builds the wheels and the environment: `pip install uv` first.")
    print("| case | CPU time | times `python -c pass` | at most |")
    print("|---|---:|---:|---:|")
    for name, milliseconds, ratio, limit in rows(arguments.runs, arguments.folder):
        print(f"| {name} | {milliseconds:.1f} ms | {ratio:.2f} | {limit or '-'} |")


if __name__ == "__main__":
    main()
