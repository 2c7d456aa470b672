"""How often the test of a paired difference alarms, covers and finds, beside the standard procedures.

    python tests/benchmarks/bench_statistics.py --repeats 400 -o grid.csv
    python tests/benchmarks/bench_statistics.py --table grid.csv
    python tests/benchmarks/bench_statistics.py --alarms
    python tests/benchmarks/bench_statistics.py --reach
    python tests/benchmarks/bench_statistics.py --plans

Each cell of the grid is a number of rows, a distribution of what parts the two systems, and a way in which rows hang together.
Of each cell two worlds are drawn: equal systems, in which every difference could as well have had the other sign, and one that
differs by three standard errors. Procedures: the test of context-bench-compare (``ours``) and its guarantee, Student's t of
single rows, the t of cluster means (robust to clusters), the BCa bootstrap of clusters, McNemar's exact test of rows.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import frozen
from scipy import special, stats

from context_bench_compare.differences import (
    difference_p_value,
    difference_test,
    guaranteed_difference,
)
from context_bench_compare.gates import GUARANTEE, TEST
from context_bench_compare.intervals import Interval
from context_bench_compare.planning import rows_needed
from context_bench_compare.power import reach_of

ROWS = (10, 30, 100, 500, 2000)
KINDS = (
    "passes .5",
    "passes .9",
    "passes .98",
    "graded sd .01",
    "graded sd .05",
    "graded sd .2",
    "ties 80%",
    "1 in 20 lost",
    "1 in 100 lost",
    "heavy tails",
)
POWER_AT = 3.0
"""The second world differs by so many standard errors of independent rows."""


@frozen
class Structure:
    """How rows hang together.

    Attributes:
        name: In words.
        size: Rows of each cluster, or samples of each example.
        shared: Chance that a row is what its cluster is.
        is_repeated: Whether the rows are samples of one example.
    """

    name: str
    size: int
    shared: float
    is_repeated: bool = False


STRUCTURES = (
    Structure("independent", 1, 0.0),
    *(
        Structure(f"clusters of {size}", size, shared)
        for size in (2, 5, 20)
        for shared in (0.0, 0.5, 0.9)
    ),
    *(
        Structure(f"{size} samples", size, shared, is_repeated=True)
        for size in (2, 5)
        for shared in (0.5, 1.0)
    ),
)


def differences(
    kind: str, shape: tuple[int, int], effect: float, draw: np.random.Generator
) -> np.ndarray:
    """Return what parts two systems in each row; with no effect every value could as well have the other sign."""
    name, _, amount = kind.rpartition(" ")
    if name == "passes":
        chance = min(
            0.5, 2 * float(amount) * (1 - float(amount))
        )  # that one passes and the other fails
        chance = max(chance, effect)
        flipped = draw.random(shape) < chance
        return flipped * np.where(draw.random(shape) < (1 + effect / chance) / 2, 1.0, -1.0)
    if name == "graded sd":
        return draw.normal(effect, float(amount), shape)
    if name == "ties":
        return np.where(draw.random(shape) < 0.8, 0.0, draw.normal(effect / 0.2, 0.2, shape))
    if name.startswith("1 in"):
        chance = max(
            2 / float(name.split()[2] if name.count(" ") == 2 else kind.split()[2]), effect
        )
        lost = draw.random(shape) < chance
        noise = draw.normal(0, 0.02, shape)
        return np.where(
            lost, np.where(draw.random(shape) < (1 + effect / chance) / 2, 1.0, -1.0), noise
        )
    return effect + 0.1 * draw.standard_t(3, shape)


def deviation(kind: str) -> float:
    """Return the standard deviation of a row of equal systems."""
    name, _, amount = kind.rpartition(" ")
    if name == "passes":
        return math.sqrt(min(0.5, 2 * float(amount) * (1 - float(amount))))
    if name == "graded sd":
        return float(amount)
    if name == "ties":
        return 0.2 * math.sqrt(0.2)
    if kind.startswith("1 in"):
        return math.sqrt(2 / float(kind.split()[2]))
    return 0.1 * math.sqrt(3)


def sample(
    kind: str, structure: Structure, rows: int, effect: float, draw: np.random.Generator
) -> np.ndarray:
    """Return the differences of one run, shape (clusters, rows of each)."""
    shape = (rows // structure.size, structure.size)
    own = differences(kind, shape, effect, draw)
    joint = differences(kind, (shape[0], 1), effect, draw)
    return np.where(draw.random(shape) < structure.shared, joint, own)


Ends = tuple[float, float]


def student(values: np.ndarray) -> Ends:
    """Return Student's interval of the mean."""
    half = special.stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def bca(values: np.ndarray, draw: np.random.Generator, draws: int = 400) -> Ends:
    """Return the BCa interval of the mean."""
    count, mean = len(values), values.mean()
    drawn = values[draw.integers(0, count, (draws, count))].mean(axis=1)
    below = ((drawn < mean).mean() + (drawn <= mean).mean()) / 2
    bias = special.ndtri(np.clip(below, 0.5 / draws, 1 - 0.5 / draws))
    left = (values - mean) / (count - 1)
    scale = float((left**2).sum()) ** 1.5
    pull = float((left**3).sum()) / (6 * scale) if scale > 0 else 0.0
    z = bias + special.ndtri([0.025, 0.975])
    low, high = np.quantile(drawn, special.ndtr(bias + z / (1 - pull * z)))
    return float(low), float(high)


def mcnemar(values: np.ndarray) -> Ends:
    """Return an interval that leaves out zero where McNemar's exact test rejects; it has no width to speak of."""
    up, down = int((values > 0).sum()), int((values < 0).sum())
    rejects = up + down > 0 and stats.binomtest(up, up + down).pvalue < 0.05
    return (1e-12, 2.0) if rejects and up > down else (-2.0, -1e-12) if rejects else (-2.0, 2.0)


def numbers_of(values: np.ndarray) -> np.ndarray | None:
    """Return the cluster of each row; None when every row stands alone."""
    count, size = values.shape
    return np.repeat(np.arange(count), size) if size > 1 else None


def alarms(values: np.ndarray, draw: np.random.Generator) -> Iterator[tuple[str, bool]]:
    """Yield whether each procedure finds a difference between equal systems."""
    rows = values.ravel()
    yield "ours", difference_p_value(rows, numbers_of(values)) < 0.05
    ends = {"t": student(rows), "cluster t": student(values.mean(axis=1))}
    if len(rows) <= 100:
        ends["BCa"] = bca(values.mean(axis=1), draw)
    if np.isin(rows, (-1, 0, 1)).all():
        ends["McNemar"] = mcnemar(rows)
    for name, (low, high) in ends.items():
        yield name, low > 0 or high < 0


def intervals(values: np.ndarray, draw: np.random.Generator) -> Iterator[tuple[str, Ends]]:
    """Yield the interval of each procedure."""
    rows = values.ravel()
    found = difference_test(rows, numbers_of(values)).interval
    bound = guaranteed_difference(rows, numbers_of(values), tested=found)
    for name, one in (("ours", found), ("guarantee", bound)):
        yield name, (one.low, one.high) if isinstance(one, Interval) else (-2.0, 2.0)
    yield "t", student(rows)
    yield "cluster t", student(values.mean(axis=1))
    if len(rows) <= 100:
        yield "BCa", bca(values.mean(axis=1), draw)
    if np.isin(rows, (-1, 0, 1)).all():
        yield "McNemar", mcnemar(rows)


def cell(kind: str, structure: Structure, rows: int, repeats: int) -> Iterator[dict[str, object]]:
    """Yield a line for each procedure in one cell."""
    draw = np.random.default_rng([KINDS.index(kind), STRUCTURES.index(structure), rows])
    effect = min(0.5, POWER_AT * deviation(kind) / math.sqrt(rows))
    shares: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for _ in range(repeats):
        for name, is_alarm in alarms(sample(kind, structure, rows, 0.0, draw), draw):
            shares[name]["alarms"] += is_alarm / repeats
    for _ in range(repeats):
        for name, (low, high) in intervals(sample(kind, structure, rows, effect, draw), draw):
            shares[name]["covered"] += (low <= effect <= high) / repeats
            shares[name]["power"] += (low > 0) / repeats
            shares[name]["width"] += min(2.0, high - low) / repeats
    for name, values in shares.items():
        yield {
            "kind": kind,
            "structure": structure.name,
            "shared": structure.shared,
            "rows": rows,
            "procedure": name,
            **{key: round(values[key], 6) for key in ("alarms", "covered", "power", "width")},
        }


def cells() -> Iterator[tuple[str, Structure, int]]:
    """Yield the cells of the grid that have six clusters or more."""
    for kind in KINDS:
        for structure in STRUCTURES:
            for rows in ROWS:
                if rows // structure.size >= 6:
                    yield kind, structure, rows


def run(repeats: int, output: Path, part: tuple[int, int]) -> None:
    """Write one line of CSV for each cell and procedure."""
    begun = time.perf_counter()
    with output.open("w", newline="") as stream:
        writer: csv.DictWriter[str] | None = None
        for number, (kind, structure, rows) in enumerate(cells()):
            if number % part[1] != part[0]:
                continue
            for line in cell(kind, structure, rows, repeats):
                if writer is None:
                    writer = csv.DictWriter(stream, list(line), lineterminator="\n")
                    writer.writeheader()
                writer.writerow(line)
            stream.flush()
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)


def alarm_share(kind: str, structure: Structure, rows: int, seed: int, repeats: int) -> float:
    """Return in which share of runs the test finds a difference between equal systems."""
    draw = np.random.default_rng(
        [KINDS.index(kind), STRUCTURES.index(structure), rows, seed, repeats]
    )
    found = 0
    for _ in range(repeats):
        values = sample(kind, structure, rows, 0.0, draw)
        found += difference_p_value(values.ravel(), numbers_of(values)) < 0.05
    return found / repeats


def print_worst_alarms() -> None:
    """Draw 1,000 runs of each cell, and 10,000 others of each that alarms in more than 5.5 %: the worst of hundreds of
    cells is otherwise the one that chance was against."""
    shares: list[tuple[float, str]] = []
    again: list[tuple[float, str]] = []
    for kind, structure, rows in cells():
        name = f"{kind}, {structure.name}, shared {structure.shared}, {rows} rows"
        share = alarm_share(kind, structure, rows, 1, 1000)
        shares.append((share, name))
        if share > 0.055:
            again.append((alarm_share(kind, structure, rows, 2, 10_000), name))
            print(f"{100 * share:.1f} %, then {100 * again[-1][0]:.2f} %: {name}", flush=True)
    print(
        f"{len(shares)} cells, {100 * float(np.mean([one for one, _ in shares])):.2f} % on average"
    )
    print(
        f"the worst of {len(again)} cells drawn again: {100 * max(again)[0]:.2f} %, {max(again)[1]}"
    )


REACH_ROWS = (100, 500)
REACH_STRUCTURES = (0, 4, 5, 6, 8)
"""Of :data:`STRUCTURES`: independent, clusters of 5, and those of 20 that hang together by half."""

REACH_KINDS = tuple(kind for kind in KINDS if kind not in ("graded sd .01", "graded sd .05"))
"""The test does not depend on the unit."""

PILOTS, RUNS = 60, 8


def reach_cells() -> Iterator[tuple[str, Structure, int]]:
    """Yield the cells in which the power at what a run says it could show is measured."""
    for kind in REACH_KINDS:
        for number in REACH_STRUCTURES:
            for rows in REACH_ROWS:
                if rows // STRUCTURES[number].size >= 6:
                    yield kind, STRUCTURES[number], rows


def reach_of_cell(kind: str, structure: Structure, rows: int) -> tuple[float, float]:
    """Return the mean of what runs of equal systems say they could show, and how often others that differ so much do.

    Returns:
        The difference, and the share; both nan where half of the runs say that they can show nothing.
    """
    draw = np.random.default_rng([KINDS.index(kind), STRUCTURES.index(structure), rows, 7])
    shown, found = [], []
    for _ in range(PILOTS):
        pilot = sample(kind, structure, rows, 0.0, draw)
        effect = reach_of(pilot.ravel(), numbers_of(pilot)).shows()
        if not effect <= 1.0:
            continue
        shown.append(effect)
        for _ in range(RUNS):
            values = sample(kind, structure, rows, effect, draw)
            is_found = difference_p_value(values.ravel(), numbers_of(values)) < 0.05
            found.append(is_found and values.mean() > 0)
    if len(shown) < PILOTS / 2:
        return math.nan, math.nan
    return float(np.mean(shown)), float(np.mean(found))


def print_reach() -> None:
    """Print the power at what a run says that it could show: rows by cell, columns by size."""
    print("| differences | units | " + " | ".join(f"{rows} rows" for rows in REACH_ROWS) + " |")
    print("|---|---|" + "---|" * len(REACH_ROWS))
    lines: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for kind, structure, rows in reach_cells():
        effect, power = reach_of_cell(kind, structure, rows)
        name = structure.name + (f", shared {structure.shared}" if structure.size > 1 else "")
        if not math.isnan(effect):
            lines[kind, name][rows] = f"{effect:.2g}: {100 * power:.0f}"
        if rows == REACH_ROWS[-1]:
            columns = " | ".join(lines[kind, name].get(each, "") for each in REACH_ROWS)
            print(f"| {kind} | {name} | {columns} |", flush=True)


PLAN_PILOTS = {1: 100, 5: 200, 20: 400}
"""Rows of a pilot, by the size of its clusters."""

PLAN_STRUCTURES = (0, 5, 8)
"""Of :data:`STRUCTURES`: independent, clusters of 5 and of 20 that hang together by half."""


def plan_of_cell(kind: str, structure: Structure, basis: str) -> tuple[float, float]:
    """Return the mean of the rows that pilots say it takes, and how often as many rows show the margin.

    The margin is a quarter of the standard deviation of a row. Both are nan where most pilots hold hardly a row that differs.
    """
    draw = np.random.default_rng([KINDS.index(kind), STRUCTURES.index(structure), 8])
    margin = deviation(kind) / 4
    planned, shown = [], []
    for _ in range(PILOTS):
        pilot = sample(kind, structure, PLAN_PILOTS[structure.size], 0.0, draw)
        reach = reach_of(pilot.ravel(), numbers_of(pilot))
        if reach.differing < 6:
            continue
        rows = rows_needed(reach, margin, 0.95, basis)
        planned.append(rows)
        for _ in range(RUNS):
            values = sample(kind, structure, rows, 0.0, draw)
            how = values.ravel(), numbers_of(values)
            found = difference_test(*how).interval
            if basis == GUARANTEE:
                found = guaranteed_difference(*how, tested=found)
            shown.append(isinstance(found, Interval) and found.low > -margin)
    if len(planned) < PILOTS / 2:
        return math.nan, math.nan
    return float(np.mean(planned)), float(np.mean(shown))


def print_plans() -> None:
    """Print how often the rows of a plan show the margin: cells by line, what decides by column."""
    print("| differences | units | test | guarantee |")
    print("|---|---|---|---|")
    for kind in REACH_KINDS:
        for number in PLAN_STRUCTURES:
            structure = STRUCTURES[number]
            name = structure.name + (f", shared {structure.shared}" if structure.size > 1 else "")
            columns = []
            for basis in (TEST, GUARANTEE):
                rows, share = plan_of_cell(kind, structure, basis)
                columns.append("" if math.isnan(rows) else f"{rows:,.0f}: {100 * share:.0f}")
            print(f"| {kind} | {name} | {' | '.join(columns)} |", flush=True)


def table(paths: list[Path]) -> str:
    """Return the grid in Markdown: means over rows and correlations, the worst cell of alarms in brackets."""
    lines = [line for path in paths for line in csv.DictReader(path.open())]
    shown = [
        "| differences | rows | procedure | alarms % (worst) | coverage % | power % | width |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for line in lines:
        groups[line["kind"], structure_class(line), line["procedure"]].append(line)
    for (kind, structure, name), own in groups.items():

        def mean(key: str, own: list[dict[str, str]] = own) -> float:
            return float(np.mean([float(line[key]) for line in own]))

        worst = max(float(line["alarms"]) for line in own)
        alarms = "" if name == "guarantee" else f"{100 * mean('alarms'):.1f} ({100 * worst:.1f})"
        width = "" if name == "McNemar" else f"{mean('width'):.3f}"
        covered = "" if name == "McNemar" else f"{100 * mean('covered'):.1f}"
        shown.append(
            f"| {kind} | {structure} | {name} | {alarms} | {covered} | {100 * mean('power'):.0f} | {width} |"
        )
    return "\n".join(shown)


def structure_class(line: dict[str, str]) -> str:
    """Return under which heading a line of the grid is averaged."""
    if line["structure"] == "independent":
        return "independent"
    return "clusters" if line["structure"].startswith("clusters") else "samples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("-o", "--output", type=Path, default=Path("grid.csv"))
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("K", "N"))
    parser.add_argument("--table", type=Path, nargs="+")
    parser.add_argument("--alarms", action="store_true", help="only how often the test alarms")
    parser.add_argument("--reach", action="store_true", help="only the power at what is told")
    parser.add_argument("--plans", action="store_true", help="only how often a plan is enough")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
    elif options.alarms:
        print_worst_alarms()
    elif options.reach:
        print_reach()
    elif options.plans:
        print_plans()
    else:
        run(options.repeats, options.output, tuple(options.part))


if __name__ == "__main__":
    main()
