"""CodeExecution against one Python process for each program: `python tests/benchmarks/bench_code.py` prints a Markdown table.

The programs are HumanEval's 164 canonical solutions with their tests, on 2 workers. The other side starts `python -I` for
each of them, without any isolation, and reads its exit status; ours finds the code, puts it behind the strongest walls that
work here and proves that the tests returned. `--samples N` runs N real samples of each problem instead and prints pass@k.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from pathlib import Path
from statistics import median
from typing import Any

from context_bench_code import CodeExecution, pass_at_k
from context_bench_code.tiers import interpreter

Problem = dict[str, Any]
Row = tuple[str, float, float, float]

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
WORKERS = 2
ROUNDS = 5
LIMIT = 1 / 3
"""The part of the other side's time that ours may take for the 164 problems."""

ONE = {
    "prompt": "def add(a, b):\n",
    "test": "def check(add):\n    assert add(1, 2) == 3\n",
    "entry_point": "add",
}
ONE_BODY = "    return a + b\n"


def rows() -> list[Row]:
    """Name of the case, seconds a program of ours and of a process each, and how many times faster ours is.

    Raises:
        FileNotFoundError: The HumanEval problems are not beside this checkout.
    """
    problems = read("humaneval.raw.jsonl.gz")
    solved = [(problem, str(problem["canonical_solution"])) for problem in problems]
    return [
        case("HumanEval, 164 solutions on 2 workers", solved, WORKERS),
        case("the smallest program, one at a time", [(ONE, ONE_BODY)] * 50, workers=1),
    ]


def case(name: str, programs: Sequence[tuple[Problem, str]], workers: int) -> Row:
    """One row: both sides in turn, so that a busy moment of the machine meets both; medians."""
    ours_seconds, theirs_seconds = [], []
    evaluator = CodeExecution()
    evaluator.score(ONE, {"response": ONE_BODY})
    for _ in range(ROUNDS):
        ours_seconds.append(
            seconds(lambda problem, body: run_ours(evaluator, problem, body), programs, workers)
        )
        theirs_seconds.append(seconds(run_process, programs, workers))
    ours, theirs = median(ours_seconds) / len(programs), median(theirs_seconds) / len(programs)
    return name, ours, theirs, theirs / ours


def seconds(
    run: Callable[[Problem, str], bool], programs: Sequence[tuple[Problem, str]], workers: int
) -> float:
    """The wall-clock seconds of all programs; every one of them has to pass."""
    started = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        passed = list(pool.map(lambda program: run(*program), programs))
    if not all(passed):
        raise RuntimeError(f"{passed.count(False)} of {len(passed)} right programs did not pass.")
    return time.perf_counter() - started


def run_ours(evaluator: CodeExecution, problem: Problem, body: str) -> bool:
    """Ours."""
    return evaluator.score(problem, {"response": body}) == {"pass_at_1": 1.0}


def run_process(problem: Problem, body: str) -> bool:
    """A process for each program, and nothing around it."""
    text = f"{problem['prompt']}{body}\n{problem['test']}\ncheck({problem['entry_point']})\n"
    done = subprocess.run(
        [interpreter(), "-I", "-"], input=text.encode(), capture_output=True, check=False
    )
    return done.returncode == 0


def sample_rates(count: int) -> tuple[int, dict[int, float], float]:
    """How many real samples were run, their pass@k in percent by k, and the seconds that it took."""
    problems = read("humaneval.raw.jsonl.gz")
    records = read("outputs/humaneval.codegen16b-samples.jsonl.gz")
    evaluator = CodeExecution(timeout=3)
    programs = [(problem_of(record, problems), record["samples"][:count]) for record in records]
    started = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [
            [pool.submit(run_ours, evaluator, row, sample) for sample in samples]
            for row, samples in programs
        ]
        passed = [[job.result() for job in of_problem] for of_problem in jobs]
    rates = {
        k: 100 * sum(pass_at_k(len(each), sum(each), k) for each in passed) / len(passed)
        for k in (1, 10, 100)
        if k <= min(map(len, passed))
    }
    return sum(map(len, passed)), rates, time.perf_counter() - started


def problem_of(record: Problem, problems: list[Problem]) -> Problem:
    """The problem of a record, whose prompt lacks the examples; some names of functions occur twice."""
    name = re.findall(r"^def (\w+)", record["prompt"], re.MULTILINE)[-1]
    found = [problem for problem in problems if problem["entry_point"] == name]
    return max(
        found,
        key=lambda problem: SequenceMatcher(None, problem["prompt"], record["prompt"]).ratio(),
    )


def read(name: str) -> list[Problem]:
    """The records of a shared file."""
    with gzip.open(SHARED / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> int:
    """Print the table, or the rates of real samples."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--samples", type=int, metavar="N", help="run N samples of each problem and print pass@k"
    )
    samples = options.parse_args().samples
    try:
        if samples:
            count, rates, took = sample_rates(samples)
            shown = ", ".join(f"pass@{k} {rate:.1f} %" for k, rate in rates.items())
            print(f"CodeGen-Mono-16B, temperature 0.8, {count} samples in {took:.0f} s: {shown}")
            return 0
        table = rows()
    except FileNotFoundError as error:
        print(
            f"The shared benchmark records are not beside this checkout: {error.filename}.",
            file=sys.stderr,
        )
        return 1
    print("| programs | ours, ms each | a process each, ms | times faster |")
    print("|---|---:|---:|---:|")
    for name, ours, theirs, factor in table:
        print(f"| {name} | {ours * 1e3:.1f} | {theirs * 1e3:.1f} | {factor:.1f} |")
    tier = CodeExecution().score(ONE, {"response": ONE_BODY}).details["tier"]  # type: ignore[attr-defined]
    print(f"\nOurs ran in the sandbox `{tier}`, the processes without one.")
    if 1 / table[0][-1] > LIMIT:
        print(f"Ours took more than {LIMIT:.2f} of the time of a process each.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
