"""How often the intervals of ratios of sums, means of seconds and percentiles hold the true value.

    python tests/benchmarks/bench_sums.py --repeats 600

Values are lognormal: of a standard deviation of 0.5 the longest of 50 rows is about three times the median one, of 1.0 ten times,
of 1.5 thirty times.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from attrs import frozen
from scipy import stats

from context_bench_compare.intervals import Clusters, Interval, percentile_interval
from context_bench_compare.ratio_intervals import ratio_interval

Columns = tuple[np.ndarray, ...]


@frozen
class Sums:
    """A kind of sums.

    Attributes:
        name: In words.
        drawn: Takes rows, a standard deviation and a generator, and returns the columns of a ratio, or of two.
        truth: Takes the standard deviation, and returns what the interval should hold.
    """

    name: str
    drawn: Callable[[int, float, np.random.Generator], Columns]
    truth: Callable[[float], float]


def lengths(rows: int, spread: float, draw: np.random.Generator) -> np.ndarray:
    """Return lognormal values around a median of one."""
    return np.exp(draw.normal(0, spread, rows))


def _part(rows: int, spread: float, draw: np.random.Generator) -> Columns:
    given = lengths(rows, spread, draw)
    return given * draw.beta(2, 3, rows), given


def _two_parts(rows: int, spread: float, draw: np.random.Generator) -> Columns:
    given = lengths(rows, spread, draw)
    return given * draw.beta(2, 3, rows), given, given * draw.beta(3, 3, rows), given


def _costs(rows: int, spread: float, draw: np.random.Generator) -> Columns:
    cost = lengths(rows, spread, draw)
    passed = (draw.random(rows) < 0.6) * 1.0
    other_cost = 1.2 * lengths(rows, spread, draw)
    return cost, passed, other_cost, (draw.random(rows) < 0.7) * 1.0


SUMS = (
    Sums(
        "mean of seconds",
        lambda rows, spread, draw: (lengths(rows, spread, draw), np.ones(rows)),
        lambda spread: math.exp(spread**2 / 2),
    ),
    Sums("tokens out for each token in", _part, lambda spread: 0.4),
    Sums(
        "ratio of independent sums",
        lambda rows, spread, draw: (lengths(rows, spread, draw), lengths(rows, spread, draw)),
        lambda spread: 1.0,
    ),
    Sums("tokens out for each token in, two systems", _two_parts, lambda spread: -0.1),
    Sums(
        "cost for each pass, two systems",
        _costs,
        lambda spread: math.exp(spread**2 / 2) * (1 / 0.6 - 1.2 / 0.7),
    ),
)


def of_sums(repeats: int) -> Iterator[str]:
    """Yield a line of Markdown for each kind and standard deviation: coverage at 50 and at 200 rows."""
    for kind in SUMS:
        for spread in (0.5, 1.0, 1.5):
            shown = []
            for rows in (50, 200):
                held = 0
                for number in range(repeats):
                    draw = np.random.default_rng([number, rows, int(spread * 10), 9])
                    found = ratio_interval(kind.drawn(rows, spread, draw), draws=400)
                    held += _holds(found, kind.truth(spread))
                shown.append(f"{100 * held / repeats:.1f}")
            yield f"| {kind.name} | {spread} | {' | '.join(shown)} |"


def of_percentiles(repeats: int) -> Iterator[str]:
    """Yield a line of Markdown for each percentile: coverage of one system, of documents, and of what parts two systems."""
    for share in (0.5, 0.9, 0.95):
        for rows in (50, 80, 200, 500):
            truth = math.exp(stats.norm.ppf(share))
            shown = []
            for name in ("one", "documents", "two"):
                held, told = 0, 0
                for number in range(repeats):
                    draw = np.random.default_rng([number, rows])
                    columns, clusters = _seconds(name, rows, draw)
                    found = percentile_interval(columns, share, clusters)
                    told += isinstance(found, Interval)
                    held += _holds(found, -0.2 * truth if name == "two" else truth)
                shown.append(f"{100 * held / told:.1f}" if told else "none")
            yield f"| p{100 * share:.0f} | {rows} | {' | '.join(shown)} |"


def _seconds(name: str, rows: int, draw: np.random.Generator) -> tuple[Columns, Clusters | None]:
    """Return seconds of one system, of documents with 1 to 9 rows each, or of two systems on the same rows."""
    if name == "one":
        return (np.exp(draw.normal(size=rows)),), None
    if name == "documents":
        numbers = np.repeat(np.arange(rows), draw.integers(1, 10, rows))
        joint = 0.7 * draw.normal(size=rows)[numbers]
        return (np.exp(joint + math.sqrt(0.51) * draw.normal(size=len(numbers))),), numbers
    joint = 0.8 * draw.normal(size=rows)
    ours = np.exp(joint + 0.6 * draw.normal(size=rows))
    return (ours, 1.2 * np.exp(joint + 0.6 * draw.normal(size=rows))), None


def _holds(found: object, truth: float) -> bool:
    return isinstance(found, Interval) and found.low <= truth <= found.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=600)
    repeats = parser.parse_args().repeats
    print("| what | standard deviation | 50 rows | 200 rows |\n|---|---|---|---|")
    for line in of_sums(repeats):
        print(line, flush=True)
    print("\n| percentile | rows or documents | one system | documents | two systems |")
    print("|---|---|---|---|---|")
    for line in of_percentiles(repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main()
