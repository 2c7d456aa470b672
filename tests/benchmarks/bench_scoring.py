"""Evaluators bound to the processor, on one core and on all.

The first table has one `evaluate(..., max_workers=1)` over the same rows, each in a fresh process; one core is what the
process is allowed. CPU is what all processes of a run took together, of the run on one core: what sending rows there and back
costs. An evaluator that takes less than 0.5 ms a row stays in the process: to send a row costs about as much.
`python tests/benchmarks/bench_scoring.py` prints the table.

A second table has whole commands, start and run file included: recorded answers that rouge scores, on one core and, in
processes of the default executor and with `--executor processes:2`, on two. The first command, of one row, is not measured:
it compiles the modules, where that is to be done.

Two halves at once, each on a core of its own, share nothing: what they win is what the machine has to give. A virtual machine
is faster at some times than at others, so everything runs three times, in turn with the others, and the median counts. What
other guests of the machine took of the processors' time meanwhile is printed beside it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from side_by_side import is_quick

SENTENCES = (
    "The receiving party shall not disclose what it is told to anybody else.",
    "However, section 4 allows that where the law asks for it.",
    "So it does not follow that the claim is supported.",
    "One might think of a contradiction, but that is not said anywhere.",
)
ALL = os.cpu_count() or 1


class Load(NamedTuple):
    """What is scored: an evaluator's name, rows, words of an answer or steps of a loop, and what a row is."""

    evaluator: str
    rows: int
    words: int
    about: str


ROUNDS = 3
WAYS = ("one", "all", "halves")
COMMANDS = ("one", "default", "processes", "halves")


class Timed(NamedTuple):
    """The seconds of a command, and the share of the processors' time that was stolen meanwhile."""

    seconds: float
    stolen: float


LOADS = (
    Load("arithmetic", 12_000, 7000, "a short loop"),
    Load("arithmetic", 8000, 15_000, "a loop"),
    Load("arithmetic", 1500, 100_000, "a longer loop"),
    Load("rouge", 4000, 2000, "2,000 words against 2,000"),
    Load("nli", 1500, 1000, "an answer of 1,000 words"),
)


def examples(load: Load, rows: int) -> Iterator[dict[str, Any]]:
    """Yield rows whose field ``said`` is what a system answers."""
    chance = random.Random(5)
    words = [f"word{number}" for number in range(3000)]
    for number in range(rows):
        example = {"id": str(number), "question": "?"}
        if load.evaluator == "rouge":
            answer, said = (" ".join(chance.choices(words, k=load.words)) for _ in range(2))
            yield example | {"answer": answer, "said": said}
        elif load.evaluator == "arithmetic":
            yield example | {"steps": load.words, "said": "42"}
        else:
            said = " ".join(chance.choices(SENTENCES, k=load.words * 2 // 25))
            yield example | {"answer": "Entailment", "said": f"{said} The answer is Entailment."}


def run(load: Load, rows: int) -> None:
    """Print the seconds of a run."""
    from arithmetic import Arithmetic  # a module of its own, so that processes find it

    from context_bench import evaluate

    class Says:
        name = "says"

        def process(self, example: Any) -> Any:
            return {"response": said[example["id"]]}

    rows_of_it = list(examples(load, rows))
    said = {example["id"]: example.pop("said") for example in rows_of_it}
    asked: Any = Arithmetic() if load.evaluator == "arithmetic" else load.evaluator
    begun = time.perf_counter()
    result = evaluate(Says(), rows_of_it, [asked], progress=False, max_workers=1)
    seconds = time.perf_counter() - begun
    assert not any(row.errors for row in result.rows)
    print(json.dumps(seconds), flush=True)


class Cost(NamedTuple):
    """The seconds of a run, and those that processors spent on it."""

    seconds: float
    cpu: float


def measured(load: Load, rows: int, way: str) -> Cost:
    """Return the seconds of a run, and those that processors spent on it, in all of its processes; of two halves, the seconds of
    the slower one."""
    shares, cores = (2, 1) if way == "halves" else (1, 1 if way == "one" else ALL)
    allowed = sorted(os.sched_getaffinity(0))
    processes = []
    for number in range(shares):
        command = [sys.executable, __file__, "--one", str(LOADS.index(load)), str(rows // shares)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        os.sched_setaffinity(process.pid, allowed[number : number + cores])
        processes.append(process)
    costs = []
    for process in processes:
        assert process.stdout is not None
        told = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0, told
        process.returncode = 0
        process.stdout.close()
        costs.append(Cost(float(told), used.ru_utime + used.ru_stime))
    return Cost(max(cost.seconds for cost in costs), sum(cost.cpu for cost in costs))


def command(rows: int, words: int) -> Iterator[Timed]:
    """Yield how long a command takes that scores recorded answers: on one core, on two, with two worker processes, and as
    two commands at once that score half of them each, on a core of its own."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rows.jsonl"), "w", encoding="utf-8") as file:
            for example in examples(Load("rouge", rows, words, ""), rows):
                example["response"] = example.pop("said")
                file.write(json.dumps(example) + "\n")
        words_of_it = [sys.executable, "-m", "context_bench", "run", "-s", "replay", "-q"]
        words_of_it += ["-d", "rows.jsonl", "--evaluators", "rouge", "--format", "none"]
        timed_commands([[*words_of_it, "--limit", "1"]], folder, 1)
        more: dict[str, list[str]] = {"processes": ["--executor", "processes:2"]}
        tries: dict[str, list[Timed]] = {way: [] for way in COMMANDS}
        for _ in range(ROUNDS):
            for way, timed in tries.items():
                if way == "halves":
                    shards = [[*words_of_it, "--shard", f"{n}/2"] for n in (1, 2)]
                    timed.append(timed_commands(shards, folder, 1))
                else:
                    cores = 1 if way == "one" else 2
                    timed.append(timed_commands([words_of_it + more.get(way, [])], folder, cores))
        for timed in tries.values():
            yield Timed(
                median(one.seconds for one in timed), sum(one.stolen for one in timed) / ROUNDS
            )


def timed_commands(commands: list[list[str]], folder: str, cores: int) -> Timed:
    """Return how long commands take that run at once, each on so many cores."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    allowed = sorted(os.sched_getaffinity(0))
    stolen = stolen_seconds()
    begun = time.perf_counter()
    processes = []
    for number, words in enumerate(commands):
        own = [*words, "--run-file", f"run{number}.sqlite"]
        process = subprocess.Popen(own, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
        os.sched_setaffinity(process.pid, allowed[number : number + cores])
        processes.append(process)
    for process in processes:
        assert process.wait() == 0
    seconds = time.perf_counter() - begun
    for path in Path(folder).glob("run*.sqlite*"):
        path.unlink()
    return Timed(seconds, (stolen_seconds() - stolen) / (ALL * seconds))


def stolen_seconds() -> float:
    """Return the seconds of processors that other guests of the machine had since it started; 0 where that is not known."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def print_evaluators(share: int) -> None:
    """Print the first table, of a part of the rows."""
    print(
        f"| evaluator | rows | one core, s | {ALL} cores | two halves at once | CPU of {ALL} to one |"
    )
    print("|---|---|---:|---:|---:|---:|")
    for load in LOADS:
        rows = load.rows // share
        tries = [[measured(load, rows, way) for way in WAYS] for _ in range(ROUNDS)]
        one, every, halves = (Cost(*map(median, zip(*runs))) for runs in zip(*tries))
        label = f"{rows} of {load.about}, {1000 * one.seconds / rows:.1f} ms each"
        ratios = [one.seconds / other.seconds for other in (every, halves)]
        faster = " | ".join(f"{ratio:.2f} times faster" for ratio in ratios)
        cpu = every.cpu / one.cpu
        print(
            f"| {load.evaluator} | {label} | {one.seconds:.1f} | {faster} | {cpu:.2f} |", flush=True
        )


def print_commands(share: int) -> None:
    """Print the second table, of a part of the rows."""
    print(
        "\n| whole command | one core, s | 2 cores | `processes:2` | two halves at once | stolen |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for all_rows, words in ((6000, 1500), (3000, 3000), (1500, 6000)):
        rows = all_rows // share
        one, *others = command(rows, words)
        label = (
            f"{rows} recorded answers of {words:,} words, {1000 * one.seconds / rows:.1f} ms each"
        )
        ratios = " | ".join(f"{one.seconds / other.seconds:.2f} times faster" for other in others)
        stolen = max(timed.stolen for timed in (one, *others))
        print(f"| {label} | {one.seconds:.1f} | {ratios} | {stolen:.1%} |", flush=True)


def main() -> None:
    """Print the tables."""
    if "--one" in sys.argv:
        number, rows = map(int, sys.argv[2:])
        run(LOADS[number], rows)
        return
    if ALL == 1 or not hasattr(os, "sched_setaffinity"):
        print(
            "Only a machine of several cores can say how much faster they are, and only Linux takes some away."
        )
        return
    share = 20 if is_quick() else 1
    print_evaluators(share)
    print_commands(share)
    print(f"\nLoad {os.getloadavg()[0]:.1f} on {ALL} cores.")


if __name__ == "__main__":
    main()
