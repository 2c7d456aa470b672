"""The mean of every score of every evaluator: what stands below the headline, and who had nothing to say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench.records import ANY_KEY, EvalRow, KeyMeaning

_PART = 4_096
_Keys = Mapping[str, KeyMeaning]


class ScoreMeans:
    """Adds up every score of the rows of one system, by dataset.

    A row counts for a score what :meth:`~context_bench.records.EvalRow.value` says: a failed one the worst value. What has no
    value is unscored.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bool], _Group] = {}

    def group(self, dataset: str, is_agreement: bool, keys: _Keys) -> _Group:
        """Return where the rows of a dataset are added up, those without a gold answer apart."""
        found = self._groups.get((dataset, is_agreement))
        if found is None:
            found = self._groups[dataset, is_agreement] = _Group(dataset, keys)
        return found

    def add(self, row: EvalRow) -> None:
        """Add one row."""
        group = self.group(row.dataset, row.reference is not None, row.keys)
        group.add(row.scores)
        if row.errors:
            group.add_worst(row)

    def to_dict(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return ``mean``, ``n``, ``unscored`` and the same by dataset under ``datasets``, by evaluator and by score.

        ``n`` counts the rows that the mean is of, ``failed`` those of them that have the worst value for a
        failure; a score that no row has is there with an ``n`` of 0 and no mean.
        """
        found: dict[str, dict[str, dict[str, _Mean]]] = {}
        undeclared = {key: None for group in self._groups.values() for key in group.undeclared}
        for group in self._groups.values():
            group.expect(undeclared)
            for evaluator, key, mean in group.means():
                by_dataset = found.setdefault(evaluator, {}).setdefault(key, {})
                by_dataset.setdefault(group.dataset or "unknown", _Mean()).join(mean)
        told: dict[str, dict[str, dict[str, Any]]] = {}
        for evaluator, keys in found.items():
            for key, by_dataset in keys.items():
                whole = _Mean()
                for mean in by_dataset.values():
                    whole.join(mean)
                datasets = {name: mean.to_dict() for name, mean in by_dataset.items()}
                told.setdefault(evaluator, {})[key] = {**whole.to_dict(), "datasets": datasets}
        return told


class _Mean:
    """A sum, how many values it is of, and how many rows have none; values are summed exactly, some thousand at a time."""

    __slots__ = ("count", "failed", "parts", "rows", "values")

    def __init__(self) -> None:
        self.count = self.failed = self.rows = 0
        self.values: list[float] = []
        self.parts: list[float] = []

    def sum_up(self) -> None:
        """Make the values one."""
        self.count += len(self.values)
        self.parts.append(math.fsum(self.values))
        self.values.clear()

    def join(self, other: _Mean) -> None:
        self.count += other.count + len(other.values)
        self.parts += other.parts
        self.parts += other.values
        self.rows += other.rows
        self.failed += other.failed

    def to_dict(self) -> dict[str, Any]:
        mean = {"mean": math.fsum(self.parts) / self.count} if self.count else {}
        return {**mean, "n": self.count, "failed": self.failed, "unscored": self.rows - self.count}


class _Group:
    """The rows of one dataset."""

    def __init__(self, dataset: str, keys: _Keys) -> None:
        self.dataset = dataset
        self._keys = keys
        self._rows = 0
        self._means = {key: _Mean() for key in keys if key != ANY_KEY}

    def add(self, scores: Mapping[str, float]) -> None:
        """Add the scores of a row."""
        self._rows += 1
        for key, value in scores.items():
            mean = self._means.get(key)
            if mean is None:
                mean = self._means[key] = _Mean()
            mean.values.append(value)
        if not self._rows % _PART:
            for mean in self._means.values():
                mean.sum_up()

    @property
    def undeclared(self) -> list[str]:
        """Scores that no manifest promised."""
        return [key for key in self._means if key not in self._keys]

    def expect(self, undeclared: Iterable[str]) -> None:
        """Miss scores that nobody promised, but that evaluators without a manifest gave other rows."""
        if ANY_KEY in self._keys:
            for key in undeclared:
                self._means.setdefault(key, _Mean())

    def add_worst(self, row: EvalRow) -> None:
        """Add what the scores count that a failure took from a row which is added already."""
        for key, mean in self._means.items():
            if key not in row.scores:
                value = row.value(key)
                if value is not None:
                    mean.values.append(value)
                    mean.failed += 1

    def means(self) -> list[tuple[str, str, _Mean]]:
        """Return evaluator, score and mean of each."""
        told = []
        for key, mean in self._means.items():
            meaning = self._keys.get(key) or self._keys.get(ANY_KEY)
            mean.rows = self._rows
            told.append((ANY_KEY if meaning is None else meaning.evaluator, key, mean))
        return told
