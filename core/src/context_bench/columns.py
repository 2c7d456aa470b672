"""The rows of one system as columns: what the usual metrics need, at a tenth of the cost of whole rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from context_bench.records import EvalRow
from context_bench.store.entries import Label
from context_bench.store.runfile import RunFile

_PART = 65_536
_ABSENT = float("nan")


class Columns:
    """The rows of one system, in canonical order.

    Attributes:
        rows: How many there are.
        failed: How many of them failed.
        failed_with_value: How many of those count something in the headline.
        latencies: Seconds of the rows that were answered.
        input_tokens, prompt_tokens, response_tokens: Sums, over the rows whose prompt is known.
        prompts: How many rows have a known prompt.
        spent: Tokens of prompt and response over all rows; the given tokens stand in where the prompt is not known.
        names: Dataset labels, in the order of appearance.
    """

    def __init__(self, fields: Iterable[str] = ("score",)) -> None:
        self.rows = self.failed = self.failed_with_value = 0
        self.latencies = array("d")
        self.input_tokens = self.prompt_tokens = self.prompts = self.spent = 0
        self._runs = array("I")  # number of a label, and of how many rows in a row: 0, 500, 1, 500
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._values = {field: array("d") for field in dict.fromkeys(("score", *fields))}

    @classmethod
    def of(cls, rows: Iterable[EvalRow], fields: Iterable[str] = ("score",)) -> Columns:
        """Return the columns of whole rows."""
        columns = cls(fields)
        for row in rows:
            columns.add(row)
        return columns

    def add(self, row: EvalRow) -> None:
        """Add one row."""
        answered = not any(error.evaluator is None for error in row.errors)
        self._count(row.dataset, row.failed, row.input_tokens, row.prompt_tokens, row.response_tokens)
        if answered:
            self.latencies.append(row.latency)
        self.failed_with_value += row.failed and row.score is not None
        for field, values in self._values.items():
            value = row.value(field)
            values.append(_ABSENT if value is None else value)

    def values(self, field: str) -> Sequence[float]:
        """Return what the rows count for a score, unscored rows left out."""
        values = self._values[field]
        return (
            array("d", (value for value in values if value == value))
            if any(value != value for value in values)
            else values
        )

    def values_by_label(self, field: str) -> dict[str, Sequence[float]]:
        """Return what the rows count for a score by dataset label, in the order of appearance."""
        found: dict[str, array[float]] = {}
        values = iter(self._values[field])
        for number, length in zip(self._runs[::2], self._runs[1::2]):
            scored = [value for value in islice(values, length) if value == value]
            if scored:
                found.setdefault(self.names[number], array("d")).extend(scored)
        return dict(found)

    def latencies_at(self, shares: Sequence[float]) -> list[float]:
        """Return percentiles of the latencies by linear interpolation (Hyndman and Fan's type 7, numpy's default).

        A million numbers are sorted in parts of their array, and merged: as a list they would take 32 MiB.
        """
        parts = memoryview(self.latencies)
        for start in range(0, len(parts), _PART):
            parts[start : start + _PART] = array("d", sorted(parts[start : start + _PART]))
        ordered = merge(*(parts[start : start + _PART] for start in range(0, len(parts), _PART)))
        last = len(parts) - 1
        wanted = {place for share in shares for place in (int(last * share), min(int(last * share) + 1, last))}
        found = {place: value for place, value in enumerate(islice(ordered, max(wanted) + 1)) if place in wanted}
        told = []
        for share in shares:
            below = int(last * share)
            low, high = found[below], found[min(below + 1, last)]
            told.append(low + (high - low) * (last * share - below))
        return told

    def _count(self, label: str, failed: bool, given: int, prompt: int | None, response: int) -> None:
        self.rows += 1
        self.failed += failed
        number = self._numbers.get(label)
        if number is None:
            number = self._numbers[label] = len(self.names)
            self.names.append(label)
        if self._runs and self._runs[-2] == number:
            self._runs[-1] += 1
        else:
            self._runs.extend((number, 1))
        self.spent += (given if prompt is None else prompt) + response
        if prompt is not None:
            self.prompts += 1
            self.input_tokens += given
            self.prompt_tokens += prompt

    def _add_plain(self, label: Label, values: tuple[Any, ...], scores: Mapping[str, float]) -> None:
        """Add a row without failures, as read by :func:`read_columns`."""
        _, _, _, latency, given, prompt, response, _, _ = values
        self._count(label.label, False, given, prompt, response)
        self.latencies.append(latency)
        for field, column in self._values.items():
            key = label.headline if field == "score" and field not in scores else field
            column.append(scores.get(key, _ABSENT))  # type: ignore[arg-type]


_QUERY = """
SELECT responses.id, slot, {label}, latency, input_tokens, prompt_tokens, response_tokens, name, value
FROM responses
{examples}
LEFT JOIN scores ON scores.response = responses.id AND shown
ORDER BY responses.id
"""


_EXAMPLES = "JOIN examples ON examples.id = responses.id & ~1048575"


def _query(labels: Iterable[int]) -> str:
    """Return the query. Where there is one label, the pages of the examples need not be read."""
    only = list(labels)
    if len(only) == 1:
        return _QUERY.format(label=only[0], examples="")
    return _QUERY.format(label="label", examples=_EXAMPLES)


def read_columns(store: RunFile, fields: Iterable[str] = ("score",)) -> dict[str, Columns]:
    """Return the columns of every system of a run file, by label; check sums are left to the reading of whole rows."""
    fields = list(fields)
    systems = {entry["slot"]: entry["label"] for entry in store.systems()}
    found = {label: Columns(fields) for label in systems.values()}
    labels = {label.number: label for label in store.labels()}
    troubled = store.troubled()
    for number, group in groupby(store.read(_query(labels)), key=itemgetter(0)):
        if number not in troubled:
            lines = list(group)
            first = lines[0]
            scores = {line[7]: line[8] for line in lines if line[7] is not None}
            found[systems[first[1]]]._add_plain(labels[first[2]], first, scores)
    for row in store.rows_at(sorted(troubled)):
        found[row.system].add(row)
    return found
