"""What starting costs: `python tests/benchmarks/bench_cli.py` prints a Markdown table.

Everything is counted in CPU time of the whole process and divided by that of `python -c pass`, because that ratio is
much the same on every machine. The environment is as a team has it: core and every plugin from wheels, their
dependencies, 100 other distributions, bytecode compiled. Nothing is cached between starts.
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
LIST = "context-bench plugins list"
LIMITS = {
    "import context_bench": 1.5,
    "context-bench plugins list": 20.0,
    "context-bench --help": 20.0,
}
FAKES = 100
CROWDS = (0, 50, 100, 200)
"""How many plugin distributions more are installed in the cases that grow."""


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
        LIST: [python.parent / "context-bench", "plugins", "list"],
        "context-bench explain wiring": [
            python.parent / "context-bench",
            "explain",
            "wiring",
            "--dataset",
            "needle",
        ],
        "context-bench run --help": [python.parent / "context-bench", "run", "--help"],
        "import click, importlib_metadata, tomli, attrs": [
            python,
            "-c",
            "import click, importlib_metadata, tomli, attrs",
        ],
    }
    cases |= {f"plugins list, {crowd} more": cases[LIST] for crowd in CROWDS}
    cases["plugins list --json"] = [*cases[LIST], "--json"]
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for round_number in range(runs + 1):
        for name, command in cases.items():
            spent = cpu_seconds(command, folder, crowd_of(name, folder))
            if round_number:  # the first round fills the caches
                seconds[name].append(spent)
    base = median(seconds["python -c pass"])
    return [
        (name, 1000 * median(spent), median(spent) / base, limit_of(name))
        for name, spent in seconds.items()
    ]


def limit_of(case: str) -> float | None:
    """Return how many times `python -c pass` a case may take; None where nothing is asked."""
    return LIMITS.get(case)


def crowd_of(case: str, folder: Path) -> Path | None:
    """Return the folder with the plugin distributions of a case, made when it is not there; None for those without."""
    number = case.partition(", ")[2].partition(" more")[0]
    if not number.isdigit():
        return None
    site = folder / f"crowd-{number}"
    if not site.exists():
        site.mkdir()
        for plugin in range(int(number)):
            add_plugin(site, plugin)
    return site


def add_plugin(site: Path, number: int) -> None:
    """Add a distribution with an evaluator and a dataset, as an installer would leave it."""
    name = f"crowd_{number}"
    package, info = site / name, site / f"{name}-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "context_bench_plugin.toml").write_text(MANIFEST.format(number=number))
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: crowd-{number}\nVersion: 1.0\n")
    points = f"[context_bench.evaluators]\ne{number} = {name}:E\n[context_bench.datasets]\nd{number} = {name}:load\n"
    (info / "entry_points.txt").write_text(points)
    shipped = [
        f"{name}/__init__.py",
        f"{name}/context_bench_plugin.toml",
        f"{info.name}/METADATA",
        f"{info.name}/RECORD",
    ]
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in shipped))


MANIFEST = """
schema = 1
api = "1.0"

[evaluators.e{number}]
summary = "Scores {number}"
class = "E"
primary = "s{number}"
version = "1"
needs = {{ original = ["answer|answers"], processed = ["response"] }}
wire = [{{ datasets = ["d{number}"] }}]
scores.s{number} = {{}}
options.limit = {{ type = "int", default = 3, help = "how many" }}

[datasets.d{number}]
summary = "Examples of {number}"
class = "load"
tags = ["t{number}"]
"""


def make_environment(folder: Path) -> None:
    """Make a virtual environment with core and every plugin from wheels, and as many empty distributions."""
    environ = clean_environment()
    wheels = Path(os.environ.get("CONTEXT_BENCH_WHEELS", folder / "wheels"))
    if not list(wheels.glob("context_bench-*.whl")):
        call(
            "uv",
            "build",
            "--quiet",
            "--wheel",
            "--all-packages",
            "--out-dir",
            wheels,
            cwd=ROOT,
            env=environ,
        )
    call("uv", "venv", "--quiet", "--python", sys.executable, folder / "venv", env=environ)
    python = folder / "venv" / "bin" / "python"
    built = sorted(wheels.glob("*.whl"))
    call(
        "uv",
        "pip",
        "install",
        "--quiet",
        "--compile-bytecode",
        "--python",
        python,
        *built,
        env=environ,
    )
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
        (folder / "entry_points.txt").write_text(
            f"[console_scripts]\nbystander-{number} = bystander:main\n"
        )


def cpu_seconds(command: list[object], folder: Path, crowd: Path | None = None) -> float:
    """The CPU seconds, in user and kernel mode, that a command and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {**clean_environment(), "XDG_CACHE_HOME": str(folder / "cache")}
    if crowd is not None:
        environ["PYTHONPATH"] = str(crowd)
    call(*command, cwd=folder, stdout=subprocess.DEVNULL, env=environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def call(*command: object, **options: object) -> None:
    """Run a command; it must succeed."""
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def clean_environment() -> dict[str, str]:
    """This environment without what would change how Python starts."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "COVERAGE"))
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=int, default=15, help="how often each case is measured [%(default)s]"
    )
    parser.add_argument("--folder", type=Path, help="keep the environment here and use it again")
    arguments = parser.parse_args()
    if shutil.which("uv") is None:
        sys.exit(
            "uv is not installed; it builds the wheels and the environment: `pip install uv` first."
        )
    print("| case | CPU time | times `python -c pass` | at most |")
    print("|---|---:|---:|---:|")
    for name, milliseconds, ratio, limit in rows(arguments.runs, arguments.folder):
        print(f"| {name} | {milliseconds:.1f} ms | {ratio:.2f} | {limit or '-'} |")


if __name__ == "__main__":
    main()
