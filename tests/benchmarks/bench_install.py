"""Start-up and size of an installation, beside peers: `python tests/benchmarks/bench_install.py` prints a table.

Each has an environment of its own: ours with core alone, and with the packages of the standard set; a peer with what its row
of `peers.txt` asks for. Size is that of the environment's packages, with compiled bytecode. Starts are CPU time of whole
processes, divided by that of `python -c pass` in the same environment, the median of several in turn.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench_cli import call, clean_environment, cpu_seconds
from side_by_side import INSPECT, LM_EVAL, NotMeasuredError, is_quick, python_of, versions

ROOT = Path(__file__).resolve().parents[2]
STANDARD = ROOT / "plugins" / "standard.txt"
SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def main() -> None:
    """Print the table."""
    runs = 3 if is_quick() else 9
    print("| installation | distributions | size | import | `--help` |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for label, packages in (
            ("context-bench, core alone", ["core"]),
            ("context-bench, the standard set", ["core", *standard_packages()]),
        ):
            python = make_environment(folder / packages[-1].replace("/", "-"), packages)
            print_line(label, python, "context_bench", "context-bench", runs, folder)
        for runner, module, command in (
            (INSPECT, "inspect_ai", "inspect"),
            (LM_EVAL, "lm_eval", "lm_eval"),
        ):
            try:
                python = Path(python_of(runner.peer))
            except NotMeasuredError as missing:
                print(f"| {runner.label} | {missing} | | | |")
                continue
            print_line(runner.label, python, module, command, runs, folder)
    print(f"\n{versions((INSPECT, LM_EVAL))}")


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
    label: str, python: Path, module: str, command: str, runs: int, folder: Path
) -> None:
    """Measure one installation."""
    site = Path(subprocess.check_output([python, "-c", SITE], text=True).strip())
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 2**20
    count = len(list(site.glob("*.dist-info")))
    cases = {
        "pass": [python, "-c", "pass"],
        "import": [python, "-c", f"import {module}"],
        "help": [python.parent / command, "--help"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(runs + 1):
        for name, arguments in cases.items():
            spent = cpu_seconds(list(arguments), folder)
            if number:  # the first round fills the caches
                seconds[name].append(spent)
    base = median(seconds["pass"])
    starts = [
        f"{1000 * median(seconds[name]):,.0f} ms ({median(seconds[name]) / base:.1f} x)"
        for name in ("import", "help")
    ]
    print(f"| {label} | {count} | {size:,.0f} MiB | {' | '.join(starts)} |", flush=True)


if __name__ == "__main__":
    main()
