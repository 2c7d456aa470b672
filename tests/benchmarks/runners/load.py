"""What each runner in this folder is given to do, and how it is measured.

A runner is a script that calls :func:`measure` with a function; the function takes a :class:`Load` and returns the number
of rows that it has scored. Each is started in a process of its own, `python NAME.py '{"rows": 1000}'`, by
`side_by_side.py`, and those of peers in an environment of their own; so this module imports nothing but the standard library.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

ANSWER = "because"


class Load(NamedTuple):
    """What a runner is to do.

    Attributes:
        rows: Examples that are answered and scored.
        size: About how many bytes one example has.
        call: Seconds that an answer takes; 0 answers at once.
        workers: Calls in flight.
        lane: Which of its ways a runner goes, where it has several.
        url: Endpoint to ask in place of a system in the process.
        path: Run file to keep, or to resume.
        warm_up: Rows that are run before, so that what is imported once is no cost of a row.
    """

    rows: int = 1000
    size: int = 200
    call: float = 0.0
    workers: int = 1
    lane: str = ""
    url: str = ""
    path: str = ""
    warm_up: int = 50


def examples(load: Load) -> Iterator[dict[str, Any]]:
    """Yield the examples, made one by one."""
    padding = "x " * max(0, (load.size - 70) // 2)
    for number in range(load.rows):
        yield {"id": f"row-{number}", "context": padding, "question": "why?", "answer": ANSWER}


def measure(run: Callable[[Load], int]) -> None:
    """Print what a run takes as the last line, as JSON: ``seconds``, ``cpu`` seconds and added memory in ``mib``.

    Raises:
        RuntimeError: Not all rows were scored.
    """
    load = Load(**json.loads(sys.argv[1]))
    run(load._replace(rows=load.warm_up, path=""))
    gc.collect()
    memory, cpu, started = _resident(), _cpu(), perf_counter()
    scored = run(load)
    found = {
        "seconds": perf_counter() - started,
        "cpu": _cpu() - cpu,
        "mib": (_peak() - memory) / 1024,
        "rows": load.rows,
    }
    if scored != load.rows:
        raise RuntimeError(f"{scored} of {load.rows} rows were scored")
    print("\n" + json.dumps(found), flush=True)


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _resident() -> float:
    """KiB in memory now; the peak is counted anew from here where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM")


def _status(field: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith(field + ":"):
            return float(line.split()[1])
    peak = resource.getrusage(
        resource.RUSAGE_SELF
    ).ru_maxrss  # no Linux: the peak since the start is what there is
    return peak / 1024 if sys.platform == "darwin" else peak
