"""Runners side by side: ours, the loops that people write, and peers, each in a process of its own.

A peer lives in an environment of its own under `.nox/peers`, made by uv when it is first asked for. One that cannot be
installed, breaks, or takes too long stays in the table, with the reason in place of its numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
RUNNERS = FOLDER / "runners"
ENVIRONMENTS = FOLDER.parents[1] / ".nox" / "peers"
SILENT = {  # peers ask nobody and tell nobody
    "HF_HUB_OFFLINE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",
    "PYTHONWARNINGS": "ignore",
}
PATIENCE = 240.0
REPEATS = 3
ENOUGH = 12.0  # seconds of measuring after which nothing is repeated


class Runner(NamedTuple):
    """A row of a table: its label, the script that does it, the script's lane, and the distribution of a peer."""

    label: str
    script: str
    lane: str = ""
    peer: str = ""


class NotMeasuredError(Exception):
    """Why there are no numbers: "not installed", for example."""


THREADS = Runner("context-bench, a system on threads", "ours", "threads")
ASYNC = Runner("context-bench, an async system", "ours", "async")
OURS = Runner("context-bench", "ours")
LOOP = Runner("a loop, one call after another", "loop", "sequential")
POOL = Runner("a loop over `ThreadPoolExecutor.map`", "loop", "threads")
SEMAPHORE = Runner("a bare asyncio loop with a semaphore", "loop", "async")
INSPECT = Runner("inspect_ai", "inspect_ai_eval", peer="inspect-ai")
LM_EVAL = Runner("lm-eval", "lm_eval_evaluate", peer="lm-eval")
RAGAS = Runner("ragas", "ragas_evaluate", peer="ragas")
DEEPEVAL = Runner("deepeval", "deepeval_evaluate", peer="deepeval")
PEERS = (INSPECT, LM_EVAL, RAGAS, DEEPEVAL)


def run(runner: Runner, **load: Any) -> dict[str, float]:
    """Run a load once; see `runners/load.py` for its fields and for what is measured.

    Raises:
        NotMeasuredError: The peer is not installed, broke, or took too long.
    """
    command = [
        python_of(runner.peer),
        f"{runner.script}.py",
        json.dumps({"lane": runner.lane, **load}),
    ]
    with TemporaryDirectory() as home:  # for the caches and traces that peers keep there
        environment = {**_environment(), **SILENT, "HOME": home}
        try:
            done = subprocess.run(
                command,
                cwd=RUNNERS,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            raise NotMeasuredError(f"over {PATIENCE:.0f} s") from None
    lines = [
        line
        for line in (done.stdout if done.returncode == 0 else done.stderr).splitlines()
        if line.strip()
    ]
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
        raise NotMeasuredError(
            f"failed: {lines[-1][:100] if lines else f'exit code {done.returncode}'}"
        )
    return dict(json.loads(lines[-1]))


def repeat(runner: Runner, **load: Any) -> dict[str, float]:
    """Return the medians of up to three runs of a load: of one when it is long, or when the command line says ``--quick``."""
    started, found = monotonic(), [run(runner, **load)]
    while len(found) < REPEATS and monotonic() - started < ENOUGH and not is_quick():
        found.append(run(runner, **load))
    return {name: median(one[name] for one in found) for name in found[0]}


def python_of(peer: str) -> str:
    """Return the interpreter that has a peer, or this one for our own; make its environment when there is none.

    Raises:
        NotMeasuredError: It cannot be installed.
    """
    python = _installed(peer) if peer else sys.executable
    if python is None:
        raise NotMeasuredError("not installed")
    return python


@lru_cache
def _installed(peer: str) -> str | None:
    asked = requirements()[peer]
    python = ENVIRONMENTS / peer / "bin" / "python"
    note = ENVIRONMENTS / peer / "installed.txt"
    if python.exists() and note.exists() and note.read_text() == f"{asked} {sys.version}":
        return str(python)
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    make = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(ENVIRONMENTS / peer)]
    install = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--compile-bytecode",
        "--python",
        str(python),
        *asked,
    ]
    try:
        for command in (make, install):
            subprocess.run(
                command, env=_environment(), capture_output=True, text=True, check=True, timeout=600
            )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{peer}: {getattr(error, 'stderr', '') or error}", file=sys.stderr)
        return None
    note.write_text(f"{asked} {sys.version}")
    return str(python)


@lru_cache
def requirements() -> dict[str, list[str]]:
    """Return what is installed for each peer, by the name of its distribution."""
    lines = (FOLDER / "peers.txt").read_text(encoding="utf-8").splitlines()
    asked = [line.split() for line in lines if line and not line.startswith("#")]
    return {parts[0].partition("==")[0].partition("[")[0]: parts for parts in asked}


def versions(runners: Iterable[Runner]) -> str:
    """Return a line with the versions of the peers among these runners."""
    told = []
    for peer in dict.fromkeys(runner.peer for runner in runners if runner.peer):
        try:
            told.append(f"{peer} {_version(peer)}")
        except NotMeasuredError as missing:
            told.append(f"{peer}: {missing}")
    return f"Peers, each in an environment of its own: {', '.join(told)}."


def _version(peer: str) -> str:
    code = f"from importlib.metadata import version; print(version({peer!r}))"
    done = subprocess.run([python_of(peer), "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def cells(columns: int, ask: Callable[[], list[str]]) -> str:
    """Return the cells of a table's row, or the reason why there are no numbers."""
    try:
        found = ask()
    except NotMeasuredError as missing:
        found = [str(missing).replace("|", "/"), *[""] * (columns - 1)]
    return " | ".join(found)


@lru_cache
def is_quick() -> bool:
    """Whether the command line says ``--quick``: a smoke run, whose numbers say nothing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small loads, to try whether it works")
    return bool(parser.parse_args().quick)


def _environment() -> dict[str, str]:
    """This environment without what would change how Python starts, or where uv installs."""
    taken = ("PYTHON", "COVERAGE", "VIRTUAL_ENV", "UV_PYTHON", "UV_LINK_MODE", "XDG_DATA")
    return {name: value for name, value in os.environ.items() if not name.startswith(taken)}
