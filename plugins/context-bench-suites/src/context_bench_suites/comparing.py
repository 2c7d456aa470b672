"""Two runs of a suite: whether they can be compared, and the comparison that the suite pins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from context_bench.errors import ConfigurationError
from context_bench.runs import Run
from context_bench_compare.columns import PRIMARY, threshold_of
from context_bench_compare.comparing import Line, Overview, overview
from context_bench_compare.verdicts import Rules
from context_bench_suites.pins import KEYS, differences, stamp_of
from context_bench_suites.suite_file import Suite
from context_bench_suites.suite_folders import find_suite


def compared_suite(first: Run, second: Run, folder: Path | None = None) -> Suite:
    """Return the suite that two complete runs are of.

    Args:
        first: A run.
        second: Another.
        folder: A folder of suites besides those of packages.

    Raises:
        ConfigurationError: One of the runs is not complete or of no suite, their pins differ, or the installed suite is
            not the one that they are of.
        UnknownNameError: The suite is not installed.
    """
    found = differences(first, second)
    if found:
        told = "; ".join(map(str, found))
        raise ConfigurationError(
            f"{first.path} and {second.path} cannot be compared. They differ in {told}."
        )
    for run in (first, second):
        if not run.completeness.is_complete:
            raise ConfigurationError(f"{run.path} cannot be compared: {run.completeness.sentence}")
    stamp = stamp_of(first)
    suite = find_suite(str(stamp["name"]), folder)
    if suite.stamp() != {key: stamp[key] for key in KEYS}:
        raise ConfigurationError(
            f"The runs are of {stamp['name']} {stamp['version']} with the SHA-256 {stamp['sha256']}, but {suite.path} is "
            f"version {suite.version} with {suite.sha256}."
        )
    return suite


def compared_runs(suite: Suite, runs: Sequence[Run]) -> Overview:
    """Return every system of the runs held against the suite's baseline in the first run.

    Args:
        suite: The suite that pins how they are compared.
        runs: The runs.
    """
    pinned = suite.compare
    rules = Rules(
        pinned.get("confidence", 0.95),
        pinned.get("margin"),
        threshold_of(runs[0]),
        "higher",
        pinned.get("seed", 0),
    )
    return overview(
        list(runs),
        tuple(pinned.get("metrics", (PRIMARY,))),
        rules,
        pinned.get("baseline"),
        pinned.get("cluster"),
        tuple(pinned.get("by", ())),
    )


def shown_lines(suite: Suite, compared: Overview) -> list[Line]:
    """Return the comparisons of what the headline shows, or all if none is of that.

    Args:
        suite: The suite.
        compared: All comparisons.
    """
    lines = list(compared.lines)
    shown = {(column.score, f"dataset={column.dataset}") for column in suite.columns}
    return [line for line in lines if (line.metric, line.slice) in shown] or lines
