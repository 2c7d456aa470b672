"""Answers in running text: identity, units, remarks in parentheses, decisions, lists and points, chains of calculations."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from context_bench_math import MathEquivalence

CASES = [
    ("odd $n$", "odd $n$", 1),
    ("odd $n$", "The answer is odd $n$.", 1),
    ("12", "The area is 12 cm²", 1),
    ("12", "12 cm²", 1),
    ("12", "So the area is 12 cm².", 1),
    ("12", "So the area is $12$ cm².", 1),
    ("9.8", "The acceleration is $9.8$ m/s²", 1),
    ("9.8", "$9.8$ m/s²", 1),
    ("9.8", "9.8 m/s^2", 1),
    ("9.8", "It falls with 9.8 m/s².", 1),
    ("20", "So it takes 20 minutes (1/3 of an hour).", 1),
    ("20", "It takes 20 minutes (1/3 of an hour)", 1),
    ("20", "20 minutes (1/3 of an hour)", 1),
    ("1/3", "It takes 20 minutes (1/3 of an hour)", 0),
    ("42", "The total is 42. (Verified with 2 approaches.)", 1),
    ("6", "The total is 6, not 7.", 1),
    ("7", "The total is 6, not 7.", 0),
    ("9", "She pays $9 rather than $12.", 1),
    ("6", "She has 6 apples instead of 9.", 1),
    ("12", "She pays $9 rather than $12.", 0),
    ("42", "The answer is 42. (Verified with 2 approaches.)", 1),
    ("42", "42 (Verified with 2 approaches.)", 1),
    (r"\emptyset", r"\varnothing", 1),
    (r"\varnothing", r"The answer is $\emptyset$.", 1),
    (r"\varnothing", "∅", 1),
    (r"\emptyset", r"So the set is $\varnothing$.", 1),
    ("No", "No, it is not possible", 1),
    ("No", "No, it is not possible.", 1),
    ("Yes", "No, it is not possible", 0),
    ("No", "The answer is no, it is not possible.", 1),
    ("Yes", "Yes, since 3 + 4 = 7.", 1),
    ("No", "Yes, since 3 + 4 = 7.", 0),
    ("(-2,1)", "1,-2", 0),
    ("(1,-2)", "1,-2", 1),
    ("(1,-2)", "(1,-2)", 1),
    ("1,-2", "(-2,1)", 0),
    ("1,2", "2,1", 1),
    (r"\{1,-2\}", "1,-2", 1),
    (r"\{1,-2\}", "-2, 1", 1),
    ("(-2, 1)", r"$x=1, y=-2$", 0),
    ("72", "She sold 48/2=24 clips in May and so 48+24=72 clips", 1),
    ("6", "It is 3 times 2 kg = 6 kg.", 1),
    ("57500", "That makes $57500/year.", 1),
    ("60", "He drives at 60 km/h.", 1),
    ("60", "He drives at 60 km/h for 2 hours", 0),
    ("5", "5 apples and 3 pears", 0),
    ("3000", "6,000 - 3,000 = 3,000 feet to reach the comb.", 1),
    ("18", "She makes $18.", 1),
    ("1/2", "He gets 1/2 of it.", 1),
    ("odd $n$", "even $n$", 0),
    ("24", "It has 24 m³ of water", 1),
    ("12", "12cm²", 1),
    ("12", "12 square centimeters", 1),
    ("12", r"$12\text{ cm}^2$", 1),
    ("12", r"12\,\mathrm{cm}^2", 1),
    ("9.8", r"The value is $9.8\ \mathrm{m/s^2}$", 1),
    ("9.8", r"g = 9.8 m/s²", 1),
    ("9.8", "9.8 m·s⁻²", 1),
    ("300", "A speed of 300 km/s was found.", 1),
]


@pytest.mark.parametrize(("reference", "response", "equal"), CASES)
def test_the_answer_is_read_as_people_write_it(
    evaluator: MathEquivalence, reference: str, response: str, equal: int
) -> None:
    assert evaluator.score({"answer": reference}, {"response": response}) == {
        "math_equiv": float(equal)
    }


@pytest.mark.shared
@pytest.mark.parametrize("joint", [" ", "\n"], ids=["one line", "lines"])
@pytest.mark.one_python
def test_solutions_without_their_last_line_are_read_by_their_last_result(
    shared: Callable[[str], Path], joint: str
) -> None:
    evaluator = MathEquivalence(timeout=60)
    found, right = 0, 0
    with gzip.open(
        shared("data/outputs/gsm8k.example-model-solutions.jsonl.gz"), "rt", encoding="utf-8"
    ) as lines:
        for record in map(json.loads, lines):
            reference = record["ground_truth"].rpartition("A: ")[2]
            for solution in (
                made["solution"]
                for made in record.values()
                if isinstance(made, dict) and made["is_correct"]
            ):
                response = joint.join(solution.strip().split("\n")[:-1])
                found += 1
                right += evaluator.score({"answer": reference}, {"response": response}) == {
                    "math_equiv": 1.0
                }
    assert found == 1392
    assert right / found >= 0.975


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the worker in /proc")
@pytest.mark.one_python
def test_a_machine_that_is_paused_changes_no_score() -> None:
    evaluator = MathEquivalence(timeout=2)
    evaluator.score({"answer": "x+x"}, {"response": "2x"})
    workers = [
        int(pid)
        for tree in Path("/proc/self/task").glob("*/children")
        for pid in tree.read_text().split()
    ]
    children = [
        int(pid)
        for worker in workers
        for pid in Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    ]
    for pid in (*workers, *children):
        os.kill(pid, signal.SIGSTOP)
    try:
        wake = threading.Timer(
            5.0, lambda: [os.kill(pid, signal.SIGCONT) for pid in (*workers, *children)]
        )
        wake.start()
        assert evaluator.score({"answer": "x^2 + 2x + 1"}, {"response": r"\boxed{(x+1)^2}"}) == {
            "math_equiv": 1.0
        }
    finally:
        wake.join()
