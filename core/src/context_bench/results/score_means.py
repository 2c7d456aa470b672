"""The mean of every score of a system, by evaluator and dataset: the table below the summary."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from context_bench.records import ANY_KEY, EvalRow, KeyMeaning

UNKNOWN_DATASET = "unknown"
"""What rows without a dataset are called among the datasets of a score."""

_SUMMED = 4_096


class ScoreMeans:
    """Adds up every score of the rows of one system, by dataset: what stands below the primary
    score.

    A row counts for a score what :meth:`~context_bench.records.EvalRow.value` says: a failed one
    the worst value. What has no value is unscored.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bool], _Group] = {}

    def group(self, dataset: str, is_agreement: bool, keys: Mapping[str, KeyMeaning]) -> _Group:
        """Return where the rows of a dataset are added up, those without a gold answer apart."""
        place = (dataset, is_agreement)
        if place not in self._groups:
            self._groups[place] = _Group(dataset, keys)
        return self._groups[place]

    def add(self, row: EvalRow) -> None:
        """Add one row."""
        group = self.group(row.dataset, row.reference is not None, row.keys)
        group.add(row.scores)
        if row.errors:
            group.add_worst(row)

    def to_dict(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return ``mean``, ``n``, ``unscored`` and the same by dataset under ``datasets``, by
        evaluator and by score.

        ``n`` counts the rows that the mean is of, ``failed`` those of them that have the worst
        value for a failure; a score that no row has is there with an ``n`` of 0 and no mean. Scores
        that nobody promised are missed too, where evaluators without a manifest gave them to other
        rows.
        """
        groups = self._groups.values()
        undeclared = {key: None for group in groups for key in group.means if key not in group.keys}
        found: dict[tuple[str, str], dict[str, list[_Mean]]] = {}
        for group in groups:
            for key in dict.fromkeys(
                (*group.means, *(undeclared if ANY_KEY in group.keys else ()))
            ):
                meaning = group.keys.get(key) or group.keys.get(ANY_KEY)
                evaluator = ANY_KEY if meaning is None else meaning.evaluator
                mean = group.means.get(key) or _Mean()
                mean.rows = group.rows
                found.setdefault((evaluator, key), {}).setdefault(
                    group.dataset or UNKNOWN_DATASET, []
                ).append(mean)
        told: dict[str, dict[str, dict[str, Any]]] = {}
        for (evaluator, key), by_dataset in found.items():
            datasets = {name: _told(means) for name, means in by_dataset.items()}
            whole = _told([mean for means in by_dataset.values() for mean in means])
            told.setdefault(evaluator, {})[key] = {**whole, "datasets": datasets}
        return told


class _Group:
    """The rows of one dataset: how many there are, and the mean of each of their scores."""

    def __init__(self, dataset: str, keys: Mapping[str, KeyMeaning]) -> None:
        self.dataset = dataset
        self.keys = keys
        self.rows = 0
        self.means = defaultdict(_Mean, {key: _Mean() for key in keys if key != ANY_KEY})

    def add(self, scores: Mapping[str, float]) -> None:
        """Add the scores of a row."""
        self.rows += 1
        for key, value in scores.items():
            self.means[key].values.append(value)
        if not self.rows % _SUMMED:
            for mean in self.means.values():
                mean.sum_up()

    def add_worst(self, row: EvalRow) -> None:
        """Add what the scores count that a failure took from a row which is added already."""
        for key, mean in self.means.items():
            value = None if key in row.scores else row.value(key)
            if value is not None:
                mean.values.append(value)
                mean.failed += 1


class _Mean:
    """A sum, how many values it is of, and how many rows have none; values are summed exactly, some
    thousand at a time."""

    __slots__ = ("count", "failed", "parts", "rows", "values")

    def __init__(self) -> None:
        self.count = 0
        self.failed = 0
        self.rows = 0
        self.values: list[float] = []
        self.parts: list[float] = []

    def sum_up(self) -> None:
        """Make the values one."""
        self.count += len(self.values)
        self.parts.append(math.fsum(self.values))
        self.values.clear()


def _told(means: Sequence[_Mean]) -> dict[str, Any]:
    count = sum(mean.count + len(mean.values) for mean in means)
    total = math.fsum(
        chain.from_iterable(part for mean in means for part in (mean.parts, mean.values))
    )
    told = {
        "n": count,
        "failed": sum(mean.failed for mean in means),
        "unscored": sum(mean.rows for mean in means) - count,
    }
    return {"mean": total / count, **told} if count else told
