"""The distributions of all systems have one scale on both axes, so that heights can be compared."""

from __future__ import annotations

import re

import numpy as np

from context_bench_html import charts


def heights(drawn: str) -> list[float]:
    return [float(found) for found in re.findall(r'height="([\d.]+)"', drawn) if found != "122"]


def test_bars_of_equally_many_rows_are_equally_high() -> None:
    few, many = np.repeat(0.5, 10), np.concatenate((np.repeat(0.5, 10), np.repeat(0.9, 40)))
    bins = charts.Bins.of([few, many], 0.0, 1.0)
    one = heights(str(charts.histogram("a", "Scores", "few", few, bins, 0)))
    other = heights(str(charts.histogram("b", "Scores", "many", many, bins, 1)))
    assert len(one) == 1
    assert min(other) == one[0]
    assert max(other) == 4 * one[0]


def test_missing_values_and_one_value_alone_have_bars() -> None:
    values = np.array([0.25, np.nan, 0.25])
    bins = charts.Bins.of([values, np.array([np.nan])], 0.25, 0.25, log=True)
    assert [int(counts.sum()) for counts in bins.counts] == [2, 0]
