"""Sessions of 50,000 tokens: CPU time of a row's probes, survival with its self-check, and controls; memory of 1,000 rows.

Memory is the peak of a whole process: of a run with survival and stored controls, and of the table of advantages afterwards.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from side_by_side import is_quick

from context_bench import evaluate
from context_bench_controls import NAMES, controlled, held
from context_bench_survival import Survival

ROWS, TOKENS = 9, 50_000
LIMIT = 150
MANY = (100, 1000)


class Half:
    """A system that keeps the newer half of a session."""

    name = "half"
    puts_out_context = True

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return half(example)

    def fingerprint(self) -> dict[str, Any]:
        return {}


def session(number: int) -> dict[str, Any]:
    """Return a session of calls and results, of about so many tokens, one line of four with a value that nobody can guess."""
    drawn = random.Random(number)
    words = ["".join(drawn.choices("aeioulmnrst", k=6)) for _ in range(3000)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    count = 0
    while count < TOKENS:
        path = f"/srv/{drawn.choice(words)}/{len(messages)}.py"
        call = {"id": f"c{len(messages)}", "name": "read", "arguments": json.dumps({"path": path})}
        lines = [" ".join(drawn.choices(words, k=12)) for _ in range(40)]
        lines = [
            f"{text} {drawn.randrange(10**5)}" if place % 4 == 0 else text
            for place, text in enumerate(lines)
        ]
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "\n".join(lines)})
        count += 40 * 12 + 10
    messages.append({"role": "user", "content": "go on"})
    return {
        "id": str(number),
        "messages": messages,
        "region": [1, len(messages) - 1],
        "future": ["it is 12345"],
    }


def half(example: dict[str, Any]) -> dict[str, Any]:
    """Return what keeps the newer half of a session."""
    messages = example["messages"]
    middle = len(messages) // 2 + (len(messages) // 2 + 1) % 2
    return {"messages": [messages[0], *messages[middle:]]}


def stored(evaluator: Survival, example: dict[str, Any], left: dict[str, Any]) -> None:
    """Make the four controls of a row, and score them."""
    for name in NAMES:
        evaluator.score(example, controlled(example, left, name=name))


def run(rows: int, path: str) -> None:
    """Evaluate so many sessions, made one by one, with survival and stored controls."""
    result = evaluate(
        Half(),
        map(session, range(rows)),
        ["survival"],
        extensions=["controls"],
        progress=False,
        run_file=path,
        order="interleaved",
    )
    if len(result.rows) != 5 * rows:
        raise RuntimeError(f"{len(result.rows)} rows, not {5 * rows}")


def used(*command: str) -> tuple[float, float]:
    """Return the CPU seconds and the peak memory in MiB of a process."""
    child = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def times() -> None:
    """Print a table of milliseconds of CPU a row."""
    evaluator = Survival()
    found: list[list[float]] = [[], [], [], []]
    for number in range(ROWS):
        example = session(number)
        left = half(example)
        score = partial(evaluator.score, example, left)
        for taken, work in zip(
            found,
            (
                score,
                score,
                partial(held, example, left, "half", "1"),
                partial(stored, evaluator, example, left),
            ),
        ):
            started = process_time()
            work()
            taken.append(1000 * (process_time() - started))
    first, later, drawn, four = map(median, found)
    print(f"Milliseconds of CPU for a row of {TOKENS:,} tokens, median of {ROWS}:\n")
    print("| | ms |\n|---|---:|")
    print(f"| probes, self-check and survival of the first system (limit: {LIMIT}) | {first:.0f} |")
    print(f"| survival of each further system | {later:.0f} |")
    print(f"| 20 draws of random and three other controls, as line sets | {drawn:.0f} |")
    print(f"| four controls stored and scored (`--controls`; limit: {LIMIT}) | {four:.0f} |")
    print(f"| both together | {drawn + four:.0f} |", flush=True)


def memory(many: tuple[int, ...]) -> None:
    """Print a table of the memory of runs, and of their tables of advantages."""
    print(
        f"\nRows of {TOKENS:,} tokens, each with four stored controls, in a process of its own:\n"
    )
    print(
        "| rows | CPU of the run | peak of the run | peak of `context-bench controls` |\n|---:|---:|---:|---:|"
    )
    for rows in many:
        with TemporaryDirectory() as folder:
            path = str(Path(folder) / "run.sqlite")
            seconds, peak = used(__file__, "--rows", str(rows), path)
            _, table = used("-m", "context_bench", "controls", path)
            print(f"| {rows:,} | {seconds:.0f} s | {peak:.0f} MiB | {table:.0f} MiB |", flush=True)


def main() -> None:
    """Print both tables, or with ``--rows ROWS PATH`` do the run of the second."""
    if sys.argv[1:2] == ["--rows"]:
        run(int(sys.argv[2]), sys.argv[3])
        return
    quick = is_quick()
    times()
    memory((5, 10) if quick else MANY)


if __name__ == "__main__":
    main()
