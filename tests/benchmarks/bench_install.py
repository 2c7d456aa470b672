"""Start-up and size of an installation, beside peers: `python tests/benchmarks/bench_install.py` prints a table.

Each has an environment of its own: ours with core alone, and with the packages of the standard set; a Python peer with what its
row of `peers.txt` asks for, promptfoo from npm. Size is that of the environment's packages, with compiled bytecode. Starts are
CPU time of whole processes, divided by that of `python -c pass` of the first environment, the median of several in turn. The
list is of what each has: `plugins list`, `list tasks`, `ls tasks`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench_cli import call, clean_environment, cpu_seconds
from side_by_side import INSPECT, LM_EVAL, NotMeasuredError, is_quick, python_of, versions

ROOT = Path(__file__).resolve().parents[2]
STANDARD = ROOT / "plugins" / "standard.txt"
PROMPTFOO = "promptfoo@0.121.20"
SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def main() -> None:
    """Print the table."""
    runs = 3 if is_quick() else 9
    print("| installation | packages | size | import | `--help` | help of a run | list |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for label, packages in (
            ("context-bench, core alone", ["core"]),
            ("context-bench, the standard set", ["core", *standard_packages()]),
        ):
            python = make_environment(folder / packages[-1].replace("/", "-"), packages)
            commands = ["context-bench", "run --help", "plugins list"]
            print_line(label, python, "context_bench", commands, runs, folder)
        for runner, module, commands in (
            (INSPECT, "inspect_ai", ["inspect", "eval --help", "list tasks"]),
            (LM_EVAL, "lm_eval", ["lm-eval", "run --help", "ls tasks"]),
        ):
            try:
                peer = Path(python_of(runner.peer))
            except NotMeasuredError as missing:
                print(f"| {runner.label} | {missing} | | | | | |")
                continue
            print_line(runner.label, peer, module, commands, runs, folder)
        promptfoo = print_promptfoo(python, runs, folder)
    print(f"\n{versions((INSPECT, LM_EVAL))} {promptfoo}")


def standard_packages() -> list[str]:
    """Return the folders of the packages of the standard set."""
    lines = STANDARD.read_text(encoding="utf-8").split()
    return [line.removeprefix("./") for line in lines if "context-bench-" in line]


def make_environment(folder: Path, packages: Sequence[str]) -> Path:
    """Make an environment with packages of this repository from their sources, and return its interpreter."""
    environ = clean_environment()
    uv = shutil.which("uv") or "uv"
    call(uv, "venv", "--quiet", "--python", sys.executable, folder, env=environ)
    python = folder / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
    call(*install, *(ROOT / package for package in packages), env=environ)
    return python


def print_line(
    label: str, python: Path, module: str, commands: Sequence[str], runs: int, folder: Path
) -> None:
    """Measure one installation.

    Args:
        label: What the table calls it.
        python: Its interpreter.
        module: The module that is imported.
        commands: Its program, what asks it for the help of a run, and what asks it for a list.
        runs: How often each start is measured.
        folder: Where the processes run.
    """
    site = Path(subprocess.check_output([python, "-c", SITE], text=True).strip())
    program, *asked = commands
    started = python.parent / program
    cases = {
        "pass": [python, "-c", "pass"],
        "import": [python, "-c", f"import {module}"],
        "help": [started, "--help"],
        **{case: [started, *case.split()] for case in asked},
    }
    seconds = medians(cases, runs, folder)
    base = seconds.pop("pass")
    starts = " | ".join(start_of(seconds[name], base) for name in seconds)
    print(
        f"| {label} | {len(list(site.glob('*.dist-info')))} | {size_of(site)} | {starts} |",
        flush=True,
    )


def print_promptfoo(python: Path, runs: int, folder: Path) -> str:
    """Measure promptfoo, which npm installs, and return a sentence with its version.

    Args:
        python: The interpreter whose `python -c pass` the starts are divided by.
        runs: How often each start is measured.
        folder: Where it is installed.
    """
    npm, home = shutil.which("npm"), folder / "promptfoo"
    if npm is None:
        print("| promptfoo | npm is not installed | | | | | |")
        return "promptfoo was not measured."
    home.mkdir()
    call(npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", home, PROMPTFOO)
    modules = home / "node_modules"
    cases = {
        "pass": [python, "-c", "pass"],
        "help": [modules / ".bin" / "promptfoo", "--help"],
        "eval --help": [modules / ".bin" / "promptfoo", "eval", "--help"],
    }
    seconds = medians(cases, runs, folder)
    base = seconds.pop("pass")
    starts = " | ".join(start_of(seconds[name], base) for name in seconds)
    count = len(list(modules.glob("*/package.json")) + list(modules.glob("@*/*/package.json")))
    print(f"| promptfoo | {count} | {size_of(modules)} | - | {starts} | - |", flush=True)
    version = json.loads((modules / "promptfoo" / "package.json").read_text())["version"]
    return f"promptfoo {version} from npm."


def medians(cases: Mapping[str, Sequence[str | Path]], runs: int, folder: Path) -> dict[str, float]:
    """Return the CPU seconds of each case; the first round, which fills the caches, does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(runs + 1):
        for name, arguments in cases.items():
            spent = cpu_seconds(list(arguments), folder)
            if number:
                seconds[name].append(spent)
    return {name: median(measured) for name, measured in seconds.items()}


def start_of(seconds: float, base: float) -> str:
    """Return the CPU time of a start as a cell of the table."""
    return f"{1000 * seconds:,.0f} ms ({seconds / base:.1f} x)"


def size_of(folder: Path) -> str:
    """Return what the files of a folder take."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{size / 2**20:,.0f} MiB"


if __name__ == "__main__":
    main()
