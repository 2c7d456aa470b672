"""Evaluators bound to the processor: scored in this process, in one process of their own, in as many as there are cores.

All are one `evaluate(..., max_workers=1)` over the same rows, each in a fresh process; for the first, nothing is declared, for
the second the machine is said to have one core. Times faster is what the second takes of the third: the cores would be
ideal. CPU is what all processes of a run took together, of the run in one process: what sending rows there and back costs. On
a machine that does other work, too, the first says little and the second still holds. A row that takes less than 1 ms stays
in this process: to send it costs about a third of that. `python tests/benchmarks/bench_scoring.py`
prints the table.

A second table has whole commands, start and run file included: recorded answers that rouge scores, on one core and, in
processes of the default executor and with `--executor processes:2`, on two. The first command, of one row, is not measured:
it compiles the modules, where that is to be done.
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
    """What is scored: an evaluator's name, rows, words of an answer, and what a row is."""

    evaluator: str
    rows: int
    words: int
    about: str


LOADS = (
    Load("rouge", 3000, 2000, "2,000 words against 2,000"),
    Load("rouge", 1000, 8000, "8,000 words against 8,000"),
    Load("nli", 3000, 1000, "an answer of 1,000 words"),
)


class Plain:
    """The same evaluator, as an object that declares nothing."""

    def __init__(self, evaluator: Any) -> None:
        self.name, self._evaluator = evaluator.name, evaluator

    def score(self, original: Any, processed: Any) -> Any:
        """Return what the evaluator says."""
        return self._evaluator.score(original, processed)


def examples(load: Load, rows: int) -> Iterator[dict[str, Any]]:
    """Yield rows whose field ``said`` is what a system answers."""
    chance = random.Random(5)
    words = [f"word{number}" for number in range(3000)]
    for number in range(rows):
        example = {"id": str(number), "question": "?"}
        if load.evaluator == "rouge":
            answer, said = (" ".join(chance.choices(words, k=load.words)) for _ in range(2))
            yield example | {"answer": answer, "said": said}
        else:
            said = " ".join(chance.choices(SENTENCES, k=load.words * 2 // 25))
            yield example | {"answer": "Entailment", "said": f"{said} The answer is Entailment."}


def run(load: Load, rows: int, way: str) -> None:
    """Print the seconds of a run."""
    from context_bench import evaluate
    from context_bench import evaluators as classes
    from context_bench.run import deferred_scoring

    class Says:
        name = "says"

        def process(self, example: Any) -> Any:
            return {"response": said[example["id"]]}

    rows_of_it = list(examples(load, rows))
    said = {example["id"]: example.pop("said") for example in rows_of_it}
    asked: Any = load.evaluator
    if way == "here":
        names = {"rouge": "SummarizationQuality", "nli": "NLILabelMatch"}
        asked = Plain(getattr(classes, names[load.evaluator])())
    elif way == "one":
        deferred_scoring.usable_cores = lambda: 1
    begun = time.perf_counter()
    result = evaluate(Says(), rows_of_it, [asked], progress=False, max_workers=1)
    seconds = time.perf_counter() - begun
    assert not any(row.errors for row in result.rows)
    print(json.dumps(seconds), flush=True)


def measured(load: Load, rows: int, way: str) -> tuple[float, float]:
    """Return the seconds of a run, and those that processors spent on it, in all of its processes."""
    command = [sys.executable, __file__, "--one", str(LOADS.index(load)), str(rows), way]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, told
    process.returncode = 0
    process.stdout.close()
    return float(told), used.ru_utime + used.ru_stime


def command(rows: int, words: int) -> Iterator[float]:
    """Yield the seconds of a command that scores recorded answers: on one core, on two, and with two worker processes."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rows.jsonl"), "w", encoding="utf-8") as file:
            for example in examples(Load("rouge", rows, words, ""), rows):
                file.write(json.dumps({**example, "response": example.pop("said")}) + "\n")
        words_of_it = [sys.executable, "-m", "context_bench", "run", "-s", "replay", "-q"]
        words_of_it += ["-d", "rows.jsonl", "--evaluators", "rouge", "--format", "none"]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        for name, cores, more in (
            ("warm", 1, ["--limit", "1"]),
            ("one", 1, []),
            ("default", 2, []),
            ("processes", 2, ["--executor", "processes:2"]),
        ):
            own = [*words_of_it, "--run-file", f"{name}.sqlite", *more]
            allowed = set(sorted(os.sched_getaffinity(0))[:cores])
            begun = time.perf_counter()
            process = subprocess.Popen(own, cwd=folder, env=environment)
            os.sched_setaffinity(process.pid, allowed)
            assert process.wait() == 0
            if name != "warm":
                yield time.perf_counter() - begun


def main() -> None:
    """Print the tables."""
    if "--one" in sys.argv:
        number, rows, way = sys.argv[2:]
        run(LOADS[int(number)], int(rows), way)
        return
    share = 20 if is_quick() else 1
    head = ("evaluator", "rows", "here, s", "one process, s", f"{ALL} processes, s", "times faster")
    print(f"| {' | '.join(head)} | CPU of {ALL} to one | CPU of {ALL} to here |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for load in LOADS:
        rows = load.rows // share
        (here, cpu), (one, cpu_of_one), (every, cpu_of_all) = (
            measured(load, rows, way) for way in ("here", "one", "all")
        )
        ratios = f"{one / every:.2f} | {cpu_of_all / cpu_of_one:.2f} | {cpu_of_all / cpu:.2f}"
        print(
            f"| {load.evaluator} | {rows} of {load.about} | {here:.1f} | {one:.1f} | {every:.1f} | {ratios} |",
            flush=True,
        )
    if ALL > 1 and hasattr(os, "sched_setaffinity"):
        print(
            "\n| whole command | one core, s | 2 cores, s | times faster | 2 cores, `processes:2`, s | times faster |"
        )
        print("|---|---:|---:|---:|---:|---:|")
        for rows, words in ((8000, 700), (8000, 2000), (3600, 4000)):
            one, two, processes = command(rows // share, words)
            label = f"{rows // share} recorded answers of {words:,} words, {1000 * one / rows * share:.1f} ms each"
            ratios = f"{two:.1f} | {one / two:.2f} | {processes:.1f} | {one / processes:.2f}"
            print(f"| {label} | {one:.1f} | {ratios} |", flush=True)
    print(f"\nLoad {os.getloadavg()[0]:.1f} on {ALL} cores.")


if __name__ == "__main__":
    main()
