"""The rows of one system as columns: what the usual metrics need, at a tenth of the cost of whole rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from context_bench.records import AGREEMENT, BaselineRow, EvalRow, Usage
from context_bench.score_means import ScoreMeans
from context_bench.store import questions
from context_bench.store.reader import RunReader, told_as_damage
from context_bench.store.rows import Label
from context_bench.tokens import WordTokenizer

REPORTED = "reported"
"""Source of counts that the model's endpoint reported."""
NO_SOURCE = "none"
"""Source of a count that is none: a part of it has another source than the rest, or nobody has counted."""

_PART = 65_536
_ABSENT = float("nan")


class Columns:
    """The rows of one system, in canonical order.

    Attributes:
        rows: How many there are.
        failed: How many of them failed.
        failed_with_value: How many of those count something in the headline.
        answered: How many rows were answered.
        latencies: Seconds from the first sending to the answer, of the answered rows whose response is not an earlier run's.
        durations: Seconds that each of those took in all: its answered attempt, and all that the endpoint made it wait.
        waiting: Seconds that the endpoint made those rows wait, together.
        retries: How often those and the failed rows were asked again, together.
        first_tokens: Seconds to the first token, of those of which it was measured.
        system_latencies, model_latencies: Seconds without and with the model, of those of which the split is known.
        contexts: How many rows have a known ``context_tokens``.
        input_tokens, context_tokens: Sums over those rows.
        reported: How many rows have prompt tokens that an endpoint reported.
        reported_tokens, cached_tokens: Sums over those rows: prompt tokens, and those read from a cache.
        has_cache_counts: Whether an endpoint said how many were read from a cache.
        savings: Share of the baseline's prompt tokens that a row did without, for each row that can be compared.
        compared_tokens, baseline_tokens: Sums over those rows: reported prompt tokens, and the baseline's.
        costs: What the rows cost, for those of which it is known.
        compared_costs, baseline_costs: What rows and the baseline's cost, for those of which both are known.
        agreed: How many rows have an agreement that is their headline, failed ones left out.
        is_reference: Whether these are the rows of the system whose responses stand in for gold answers.
        is_derived: Whether these rows are made of another system's, as those of a control are: they compete with nobody.
        has_baseline: Whether a row has a baseline's row beside it.
        spent: Tokens of prompt and response over the answered rows that can pass, which those without a gold answer cannot,
            by where the counts come from: ``"reported"``, the name of the tokenizer, or ``"none"`` where the two of a row
            come from different sources. The given tokens stand in where what goes on to the model is not known.
        spenders: How many rows each of those sums is of.
        sources: Where the values of metrics come from, and which share of the rows has them, by key; metrics note it here.
        names: Dataset labels, in the order of appearance.
        scores: The mean of every score.
        summary: What the metrics made of these columns so far, for a metric that compares systems.
    """

    def __init__(self, fields: Iterable[str] = ("score",)) -> None:
        self.rows = self.failed = self.failed_with_value = 0
        self.answered = self.retries = 0
        self.latencies, self.system_latencies, self.model_latencies = array("d"), array("d"), array("d")
        self.durations, self.first_tokens = array("d"), array("d")
        self.waiting = 0.0
        self.contexts = self.input_tokens = self.context_tokens = 0
        self.spent: dict[str, int] = {}
        self.spenders: dict[str, int] = {}
        self.sources: dict[str, tuple[str, float]] = {}
        self.reported = self.reported_tokens = self.cached_tokens = 0
        self.savings = array("d")
        self.compared_tokens = self.baseline_tokens = 0
        self.agreed = 0
        self.is_reference = self.is_derived = False
        self.costs, self.compared_costs, self.baseline_costs = array("d"), array("d"), array("d")
        self.has_baseline = self.has_cache_counts = False
        self._runs = array("I")  # number of a label, and of how many rows in a row: 0, 500, 1, 500
        self.names: list[str] = []
        self.scores = ScoreMeans()
        self._groups: dict[int, Any] = {}
        self.summary: dict[str, float] = {}
        self._numbers: dict[str, int] = {}
        self._values = {field: array("d") for field in dict.fromkeys(("score", *fields))}
        self._agreements = {field: array("d") for field in self._values}

    @classmethod
    def of(cls, rows: Iterable[EvalRow], fields: Iterable[str] = ("score",)) -> Columns:
        """Return the columns of whole rows."""
        columns = cls(fields)
        for row in rows:
            columns.add(row)
        return columns

    def add(self, row: EvalRow) -> None:
        """Add one row."""
        if row.reference is not None:
            self._agree(row)
        if row.is_extra:
            return
        self.scores.add(row)
        answered = not any(error.evaluator is None for error in row.errors)
        usage = row.usage or Usage()
        tokens = (row.input_tokens, usage.input_tokens, row.context_tokens)
        self._count(row.dataset, row.failed, *tokens, usage.cache_read_tokens, row.baseline)
        if answered:
            self.answered += 1
            self._bill(row.cost, row.baseline)
            if not row.is_agreement:
                self._spend(*tokens, row.response_tokens, usage.output_tokens is not None)
            if not row.metadata.get("reused"):
                self._split(row.latency, row.system_latency)
                self._time(row.latency, row.metadata)
        else:
            self.retries += _retries(row.metadata)
        self.failed_with_value += row.failed and row.score is not None and not row.is_agreement
        for field, values in self._values.items():
            value = None if field == "score" and row.is_agreement else row.value(field)
            values.append(_ABSENT if value is None else value)

    def values(self, field: str) -> Sequence[float]:
        """Return what the rows count for a score, unscored rows left out."""
        values = self._values[field]
        return (
            array("d", (value for value in values if value == value))
            if any(value != value for value in values)
            else values
        )

    def agreements(self, field: str) -> Sequence[float]:
        """Return what the rows without a gold answer count for their agreement with the reference."""
        return self._agreements[field]

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
        """Return percentiles of the latencies; see :func:`percentiles`."""
        return percentiles(self.latencies, shares)

    def _count(
        self,
        label: str,
        failed: bool,
        given: int,
        prompt: float | None,
        context: int | None,
        cached: float | None,
        baseline: BaselineRow | None,
    ) -> None:
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
        if context is not None:
            self.contexts += 1
            self.input_tokens += given
            self.context_tokens += context
        if prompt is not None and prompt >= 1:
            self.reported += 1
            self.reported_tokens += int(prompt)
            self.has_cache_counts = self.has_cache_counts or cached is not None
            self.cached_tokens += int(cached or 0)
        if baseline is not None:
            self.has_baseline = True
            self._compare(prompt, baseline)

    def _spend(self, given: int, prompt: float | None, context: int | None, response: int, is_reported: bool) -> None:
        """Note what an answered row took; two counts from different sources are never added."""
        has_prompt = prompt is not None and prompt >= 1
        source = NO_SOURCE if has_prompt != is_reported else REPORTED if has_prompt else WordTokenizer.name
        if source != NO_SOURCE:
            taken = int(prompt or 0) if has_prompt else given if context is None else context
            self.spent[source] = self.spent.get(source, 0) + taken + response
        self.spenders[source] = self.spenders.get(source, 0) + 1

    def _time(self, latency: float, measured: Mapping[str, Any]) -> None:
        """Note how long an answered row took, and what of it was waiting."""
        waiting = seconds_of(measured.get("waiting"))
        self.latencies.append(latency)
        self.waiting += waiting
        self.durations.append(seconds_of(measured.get("attempt_latency"), latency) + waiting)
        self.retries += _retries(measured)
        first = measured.get("ttft")
        if isinstance(first, int | float):
            self.first_tokens.append(first)

    def _bill(self, cost: float | None, baseline: BaselineRow | None) -> None:
        if cost is None:
            return
        self.costs.append(cost)
        if baseline is not None and baseline.cost is not None:
            self.compared_costs.append(cost)
            self.baseline_costs.append(baseline.cost)

    def _split(self, latency: float, own: float | None) -> None:
        if own is not None:
            self.system_latencies.append(own)
            self.model_latencies.append(latency - own)

    def _agree(self, row: EvalRow) -> None:
        """Note how far a row without a gold answer agrees with the reference; its first response not with itself."""
        self.is_reference = row.reference == row.system
        if self.is_reference and row.sample == 0:
            return
        self.agreed += row.is_agreement and row.score is not None and not row.failed and not row.is_extra
        for field, values in self._agreements.items():
            own = row.score if row.is_agreement else None
            value = own if field == "score" else row.value(f"{AGREEMENT}{field}")
            if value is not None:
                values.append(value)

    def _compare(self, prompt: float | None, baseline: BaselineRow) -> None:
        """Hold a row against the baseline's; no prompt has 0 tokens, so such a count is none."""
        if prompt is None or prompt < 1 or not baseline.prompt_tokens:
            return
        self.compared_tokens += int(prompt)
        self.baseline_tokens += baseline.prompt_tokens
        self.savings.append(1 - prompt / baseline.prompt_tokens)

    def _add_plain(
        self,
        label: Label,
        values: tuple[Any, ...],
        scores: Mapping[str, float],
        baseline: BaselineRow | None,
        measured: Mapping[str, Any],
    ) -> None:
        """Add a row without failures, as read by :func:`read_columns`."""
        latency, given, prompt, response, context, cached, cost, own, attempts, reused = values[3:13]
        self._count(label.dataset, False, given, prompt, context, cached, baseline)
        self._spend(given, prompt, context, response, bool(measured.get("is_reported")))
        self.answered += 1
        if cost is not None:
            self._bill(cost, baseline)
        if not reused:
            if own is not None:
                self._split(latency, own)
            if measured or attempts > 1:
                self._time(latency, {**measured, "attempts": attempts})
            else:
                self.latencies.append(latency)
                self.durations.append(latency)
        group = self._groups.get(label.number)
        if group is None:
            group = self._groups[label.number] = self.scores.group(label.dataset, False, label.keys)
        group.add(scores)
        for field, column in self._values.items():
            key = label.headline if field == "score" and field not in scores else field
            column.append(scores.get(key, _ABSENT))  # type: ignore[arg-type]


def seconds_of(value: Any, otherwise: float = 0.0) -> float:
    """Return what was measured in seconds."""
    return float(value) if isinstance(value, int | float) else otherwise


def percentiles(values: array[float], shares: Sequence[float]) -> list[float]:
    """Return percentiles by linear interpolation (Hyndman and Fan's type 7, numpy's default); values are moved.

    A million numbers are sorted in parts of their array, and merged: as a list they would take 32 MiB.
    """
    parts = memoryview(values)
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


_NOTHING: Mapping[str, Any] = {}


def read_columns(store: RunReader, fields: Iterable[str] = ("score",)) -> dict[str, Columns]:
    """Return the columns of every system of a run file, by label; check sums are left to the reading of whole rows."""
    fields = list(fields)
    systems = {entry["slot"]: entry["label"] for entry in store.systems()}
    found = {label: Columns(fields) for label in systems.values()}
    labels = {label.number: label for label in store.labels()}
    if any(label.reference is not None for label in labels.values()):
        for row in store.rows():
            found[row.system].add(row)
        return found
    troubled = questions.troubled(store)
    has_failed = set(troubled)
    measured = questions.measured(store)
    place, extra = next(measured, (-1, _NOTHING))
    with told_as_damage(store.path), store.baselines() as baseline_of:
        for number, group in groupby(questions.score_lines(store, labels), key=itemgetter(0)):
            if number not in has_failed:
                lines = list(group)
                first = lines[0]
                while -1 < place < number:
                    place, extra = next(measured, (-1, _NOTHING))
                scores = {line[-2]: line[-1] for line in lines if line[-2] is not None}
                found[systems[first[1]]]._add_plain(
                    labels[first[2]],
                    first,
                    scores,
                    baseline_of(number),
                    extra if place == number else _NOTHING,
                )
    for row in store.rows_at(troubled):
        found[row.system].add(row)
    return found


def _retries(measured: Mapping[str, Any]) -> int:
    """Return how often a row was asked again."""
    return int(measured.get("attempts") or 1) - 1
