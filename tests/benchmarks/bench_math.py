"""MathEquivalence against math-verify: `python tests/benchmarks/bench_math.py` prints a Markdown table.

Both sides get a reference and a response and give a verdict; math-verify by `verify(parse(reference), parse(response))`. Each
case is a few hundred different rows, so that no cache answers for either side. Times are the mean of the best of several rounds.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

from context_bench_math import MathEquivalence

Pair = tuple[str, str]
Row = tuple[str, float, float, float]

ROUNDS = 5

try:
    import math_verify
except ImportError:
    math_verify = None


def rows() -> list[Row]:
    """Name of the case, seconds a row of ours and of math-verify, and how many times faster ours is."""
    if math_verify is None:
        raise RuntimeError(
            "math-verify is not installed: `pip install ./plugins/context-bench-math` installs it."
        )
    logging.disable(logging.WARNING)
    cases: list[tuple[str, Callable[[int], Pair]]] = [
        ("plain number", lambda n: (str(n), str(n))),
        ("plain number, wrong", lambda n: (str(n), str(n + 1))),
        ("`The answer is N.`", lambda n: (str(n), f"The answer is {n}.")),
        ("`#### N`", lambda n: (str(n), f"9 * 2 = {n}\n#### {n}")),
        (r"`\boxed{N}`", lambda n: (str(n), rf"Thus $x = \boxed{{{n}}}$.")),
        ("thousands and dollars", lambda n: (str(n), f"She has ${n:,} left.")),
        ("fraction and decimal", lambda n: (rf"\frac{{{n}}}{{4}}", rf"$\boxed{{{n / 4}}}$")),
        ("tuple of numbers", lambda n: (f"({n}, {n + 1})", rf"$\boxed{{({n}, {n + 1})}}$")),
        (
            "polynomial (computer algebra)",
            lambda n: (f"x^2+{2 * n}x+{n * n}", rf"$\boxed{{(x+{n})^2}}$"),
        ),
        (
            "square root (computer algebra)",
            lambda n: (rf"{n}\sqrt{{2}}", rf"$\boxed{{\sqrt{{{2 * n * n}}}}}$"),
        ),
    ]
    return [_case(name, [make(number) for number in range(1000, 1300)]) for name, make in cases]


def plain_number_seconds() -> float:
    """The seconds that a row takes whose reference and response are plain numbers not seen before."""
    return _seconds_a_row(
        MathEquivalence(), [(str(number), str(number)) for number in range(10_000, 13_000)]
    )


def pathological_seconds() -> dict[str, float]:
    """The seconds that each of some answers takes that math-verify does not come back from, with a worker already running."""
    evaluator = MathEquivalence()
    numbers = ", ".join(map(str, range(200)))
    roots = [rf"\sqrt{{{number}}}" for number in range(2, 202)]
    answers = {
        "a tower of powers": ("5", "9^{9^{9^9}}"),
        "a set of 200 numbers, backwards": (numbers, ", ".join(reversed(numbers.split(", ")))),
        "a set of 200 roots, backwards": (", ".join(roots), ", ".join(reversed(roots))),
        "a sum of 10^8 terms": (r"\frac13", r"\sum_{k=1}^{100000000} \frac{1}{k^3}"),
        "the power 10^5 of a sum": ("x + 1", "(x+1)^{100000}"),
    }
    evaluator.score({"answer": "x+x"}, {"response": "2x"})
    return {
        name: _seconds_a_row(evaluator, [(gold, rf"\boxed{{{answer}}}")], 1)
        for name, (gold, answer) in answers.items()
    }


def _case(name: str, pairs: list[Pair]) -> Row:
    evaluator = MathEquivalence()
    verdict = evaluator.score({"answer": pairs[0][0]}, {"response": pairs[0][1]})["math_equiv"]
    ours = _seconds_a_row(evaluator, pairs)
    start = time.perf_counter()
    theirs = [
        math_verify.verify(math_verify.parse(f"${gold}$"), math_verify.parse(response))
        for gold, response in pairs
    ]
    reference = (time.perf_counter() - start) / len(pairs)
    if theirs[0] != verdict:
        raise RuntimeError(f"{name}: the verdicts differ on {pairs[0]}")
    return name, ours, reference, reference / ours


def _seconds_a_row(evaluator: MathEquivalence, pairs: list[Pair], rounds: int = ROUNDS) -> float:
    """The mean seconds of a row, of the fastest round; each round takes another part of the pairs."""
    size = max(1, len(pairs) // rounds)
    times = []
    for start in range(0, size * rounds, size):
        part = [
            ({"answer": gold}, {"response": response})
            for gold, response in pairs[start : start + size]
        ]
        began = time.perf_counter()
        for original, processed in part:
            evaluator.score(original, processed)
        times.append((time.perf_counter() - began) / len(part))
    return min(times)


def main() -> None:
    """Print the table."""
    try:
        found = rows()
    except RuntimeError as error:
        sys.exit(str(error))
    print("| case | ours | math-verify | times faster |")
    print("|---|---:|---:|---:|")
    for name, ours, reference, ratio in found:
        print(f"| {name} | {1e6 * ours:.0f} µs | {1e6 * reference:.0f} µs | {ratio:.1f} |")
    print(f"\nA plain number takes {1e6 * plain_number_seconds():.1f} µs.\n")
    print("| pathological answer | seconds |")
    print("|---|---:|")
    for name, seconds in pathological_seconds().items():
        print(f"| {name} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
