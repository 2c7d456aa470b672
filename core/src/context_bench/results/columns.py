"""The rows of one system as columns: what the usual metrics need, at a tenth of the cost of whole
rows."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from attrs import frozen

from context_bench.columns import RowColumns
from context_bench.records import (
    AGREEMENT,
    BaselineRow,
    EvalRow,
    KeyMeaning,
    better_of,
    number_passing,
)
from context_bench.results.percentiles import percentiles
from context_bench.results.score_means import ScoreMeans
from context_bench.store import queries
from context_bench.store.keys import RowId, example_of
from context_bench.store.queries import AnsweredRow
from context_bench.store.reader import RunReader, raising_store_errors
from context_bench.store.rows import Label
from context_bench.tokens import WordTokenizer

REPORTED = "reported"
"""Source of counts that the model's endpoint reported."""


SOURCES = "sources"
"""Key of a system's summary: the source of its values and the share of the answered rows with that
source, by key."""


NO_SOURCE = "none"
"""Source of a count that is none: a part of it has another source than the rest, or nobody has
counted."""


_ABSENT = float("nan")


_NOTHING: Mapping[str, Any] = {}


class Columns:
    """The rows of one system, in canonical order.

    Attributes:
        rows: How many there are.
        failed: How many of them failed.
        answered: How many rows were answered.
        latencies: Seconds from the first sending to the answer, of the answered rows whose response
            is not an earlier run's.
        waiting: Seconds that the endpoint made those rows wait, together.
        retries: How often those and the failed rows were asked again, together.
        first_tokens: Seconds to the first token, of those of which it was measured.
        system_latencies, model_latencies: Seconds without and with the model, of those of which the
            split is known.
        contexts: How many rows have a known ``context_tokens``.
        input_tokens, context_tokens: Sums over those rows.
        reported: How many rows have prompt tokens that an endpoint reported.
        reported_tokens, cached_tokens: Sums over those rows: prompt tokens, and those read from a
            cache.
        has_cache_counts: Whether an endpoint said how many were read from a cache.
        savings: Share of the baseline's prompt tokens that a row did without, for each row that can
            be compared.
        compared_tokens, baseline_tokens: Sums over those rows: reported prompt tokens, and the
            baseline's.
        outcomes: How many replies ended otherwise than with a complete answer, by outcome.
        usage_problems: How many rows have a reported count that is unknown, by reason.
        costs: What the answered rows cost, for those of which it is known, reused rows included.
        spent_costs: What the calls of this run cost: of the rows that were called, and of the
            answered turns of conversations that failed later.
        reused_costs: What reused and recorded rows would have cost.
        scored_costs: The same of those rows that can pass.
        compared_costs, baseline_costs: What rows and the baseline's cost, for those of which both
            are known.
        agreed: How many rows have an agreement that is their primary score, failed ones left out.
        is_reference: Whether these are the rows of the system whose responses stand in for gold
            answers.
        is_derived: Whether these rows are made of another system's, as those of a control are: they
            compete with nobody.
        has_baseline: Whether a row has a baseline's row beside it.
        spent: Tokens of prompt and response over the answered rows that can pass, which those
            without a gold answer cannot, by where the counts come from: ``"reported"``, the name of
            the tokenizer, or ``"none"`` where the two of a row come from different sources. The
            given tokens stand in where what goes on to the model is not known.
        spenders: How many rows each of those sums is of.
        sources: Where the values of metrics come from, and which share of the rows has them, by
            key; metrics note it here.
        lower: Keys of metrics of which less is better in these rows; metrics note it here.
        unranked: Keys of metrics of which neither more nor less is better in these rows; metrics
            note it here.
        names: Dataset labels, in the order of appearance.
        scores: The mean of every score.
        summary: What the metrics made of these columns so far, for a metric that compares systems.
        further: Score keys that are no row's primary score and whose values are known, as where a
            metric has ``reads_units``.
        score_ends: Both ends of the interval of the mean of a further score, by key; metrics note
            them here.
        knows_units: Whether :meth:`units` and :meth:`examples` are known, as for the rows of a run
            file where a metric has ``reads_units``.
    """

    def __init__(
        self,
        fields: Iterable[str] = ("score",),
        units: Units | None = None,
        further: Iterable[str] = (),
    ) -> None:
        self.knows_units = units is not None
        is_repeated = units is not None and units.is_repeated
        is_shared = units is not None and units.is_shared
        self._examples: array[int] | None = array("q") if is_repeated else None
        self._units: array[int] | None = array("q") if is_shared else None
        self.rows = 0
        self.failed = 0
        self.answered = 0
        self.retries = 0
        self.agreed = 0
        self.contexts = 0
        self.input_tokens = 0
        self.context_tokens = 0
        self.reported = 0
        self.reported_tokens = 0
        self.cached_tokens = 0
        self.outcomes: Counter[str] = Counter()
        self.usage_problems: Counter[str] = Counter()
        self.compared_tokens = 0
        self.baseline_tokens = 0
        self.is_reference = False
        self.is_derived = False
        self.has_baseline = False
        self.has_cache_counts = False
        self.waiting = 0.0
        self.latencies = array("d")
        self._durations: array[float] | None = None  # of its own once a row took another time
        self.first_tokens = array("d")
        self.system_latencies = array("d")
        self.model_latencies = array("d")
        self.savings = array("d")
        self.costs = array("d")
        self.spent_costs = array("d")
        self.reused_costs = array("d")
        self.scored_costs = array("d")
        self.compared_costs = array("d")
        self.baseline_costs = array("d")
        self.spent: dict[str, int] = defaultdict(int)
        self.spenders: dict[str, int] = defaultdict(int)
        self.sources: dict[str, tuple[str, float]] = {}
        self.lower: set[str] = set()
        self.unranked: set[str] = set()
        self.names: list[str] = []
        self.scores = ScoreMeans()
        self.summary: dict[str, float] = {}
        self._label: str | None = None  # of the last row
        self._numbers: dict[str, int] = {}
        self._runs = array("I")  # number of a label, and of how many rows in a row: 0, 500, 1, 500
        self._better: list[dict[str, str]] = []  # by number of a label and by field
        self._without_worst: set[str] = set()
        self._asked = frozenset(fields) or {"score"}
        self.further = tuple(further)
        self.score_ends: dict[str, tuple[float, float]] = {}
        fields = dict.fromkeys(("score", *self._asked, *self.further))
        self._values = {field: array("d") for field in fields}
        self._failed: dict[tuple[str, bool], int] = defaultdict(
            int
        )  # by field, and whether the row counts something for it
        self._gaps: set[str] = set()  # fields that a row has no value for
        self._agreements = {field: array("d") for field in self._values}

    @classmethod
    def of(cls, rows: Iterable[EvalRow], fields: Iterable[str] = ("score",)) -> Columns:
        """Return the columns of whole rows."""
        columns = cls(fields)
        for row in rows:
            columns.add(row)
        return columns

    def add(self, row: EvalRow, unit: int = 0) -> None:
        """Add one row, and the unit that it is of where units are known."""
        if row.reference is not None:
            self._agree(row)
        if row.is_extra:
            return
        self._add_unit(RowId(row.dataset_number, row.position).pack(), unit)
        self.scores.add(row)
        self._count(row.dataset, row.failed, row.keys, row.primary)
        is_scored = any(row.value(field) is not None for field in self._asked)
        measured = {
            **row.metadata,
            "is_reported": row.usage is not None and row.usage.output_tokens is not None,
            "turns": _turns(row.output),
        }
        self._measure(
            row,
            measured=measured,
            baseline=row.baseline,
            is_answered=not any(error.evaluator is None for error in row.errors),
            can_pass=is_scored and not row.is_agreement,
        )
        for field, values in self._values.items():
            value = None if field == "score" and row.is_agreement else row.value(field)
            if value is None or value != value:
                self._gaps.add(field)
            values.append(_ABSENT if value is None else value)
            is_worst = value is not None and field != "score" and field not in row.scores
            self._failed[field, value is not None] += row.failed or is_worst

    @property
    def durations(self) -> array[float]:
        """Seconds that each of the rows of ``latencies`` took in all: its answered attempt, and all
        that the endpoint made it wait. They are the latencies themselves where no row waited."""
        return self.latencies if self._durations is None else self._durations

    def values(self, field: str) -> Sequence[float]:
        """Return what the rows count for a score, unscored rows left out."""
        values = self._values[field]
        return (
            array("d", (value for value in values if value == value))
            if field in self._gaps
            else values
        )

    def scored_and_failed(self, field: str) -> tuple[int, int]:
        """Return how many rows are scored by a score, and how many failed: altogether, or at that
        score."""
        failed = self._failed[field, True]
        return len(self.values(field)) - failed, failed + self._failed[field, False]

    def agreements(self, field: str) -> Sequence[float]:
        """Return what the rows without a gold answer count for their agreement with the
        reference."""
        return self._agreements[field]

    def examples(self, field: str) -> Sequence[int] | None:
        """Return the number of the example of each of the :meth:`values` of a score. None where no
        example was repeated."""
        return self._of_values(self._examples, field)

    def units(self, field: str) -> Sequence[int] | None:
        """Return the number of the unit of each of the :meth:`values` of a score: of the document,
        session or context that its example shares with others. None where every example stands
        alone."""
        return self._of_values(self._units, field)

    def _of_values(self, numbers: array[int] | None, field: str) -> array[int] | None:
        if numbers is None or field not in self._gaps:
            return numbers
        pairs = zip(numbers, self._values[field])
        return array("q", (number for number, value in pairs if value == value))

    def _add_unit(self, example: int, unit: int) -> None:
        if self._examples is not None:
            self._examples.append(example)
        if self._units is not None:
            self._units.append(unit)

    def values_by_label(self, field: str) -> dict[str, Sequence[float]]:
        """Return what the rows count for a score by dataset label, in the order of appearance."""
        by_label: dict[str, array[float]] = {}
        values = self._values[field]
        if len(self.names) == 1 and field not in self._gaps:
            return {self.names[0]: values}  # a copy would be 8 bytes for every row
        start = 0
        for number, length in zip(self._runs[::2], self._runs[1::2]):
            scored = values[start : start + length]
            start += length
            if field in self._gaps:
                scored = array("d", (value for value in scored if value == value))
            if scored:
                by_label.setdefault(self.names[number], array("d")).extend(scored)
        return dict(by_label)

    def better(self, field: str) -> str:
        """Return which values of a score are better: higher, lower, neither, or mixed where
        datasets differ."""
        directions = {better[field] for better in self._better}
        if len(directions) > 1:  # perhaps only datasets without that score differ
            scored = self.values_by_label(field)
            directions = {
                better[field] for name, better in zip(self.names, self._better) if name in scored
            }
        if not directions:
            return "higher"
        return directions.pop() if len(directions) == 1 else "mixed"

    def has_worst(self, field: str) -> bool:
        """Return whether a score has a worst value, as one between 0 and 1 does and a count of
        tokens does not."""
        return field not in self._without_worst

    def passing(self, field: str, threshold: float) -> int:
        """Return how many rows pass: as many as reach a threshold, or stay at or below it where
        less is better."""
        better = {name: one[field] for name, one in zip(self.names, self._better)}
        found = self.values_by_label(field).items()
        return sum(number_passing(values, threshold, better[name]) for name, values in found)

    def latencies_at(self, shares: Sequence[float]) -> list[float]:
        """Return percentiles of the latencies; see :func:`percentiles`."""
        return percentiles(self.latencies, shares)

    def _count(
        self, label: str, failed: bool, keys: Mapping[str, KeyMeaning], primary: str | None
    ) -> None:
        self.rows += 1
        self.failed += failed
        if label != self._label:
            self._label = label
            number = self._numbers.setdefault(label, len(self.names))
            if number == len(self.names):
                self.names.append(label)
                self._better.append(
                    {field: better_of(keys, primary, field) for field in self._values}
                )
                self._without_worst.update(key for key, one in keys.items() if one.worst is None)
            self._runs.extend((number, 0))
        self._runs[-1] += 1

    def _measure(
        self,
        row: RowColumns,
        measured: Mapping[str, Any],
        baseline: BaselineRow | None,
        is_answered: bool,
        can_pass: bool,
    ) -> None:
        """Add what a row took, in tokens, time and money.

        Args:
            row: Its columns.
            measured: What was measured in addition to them, and ``is_reported`` where the endpoint
                counted the response's tokens.
            baseline: The baseline's row of the same example.
            is_answered: Whether the system answered.
            can_pass: Whether it is scored, and by a gold answer.
        """
        self._measure_tokens(row, baseline)
        if row.cost is not None:
            (self.spent_costs if row.is_called else self.reused_costs).append(row.cost)
        if not is_answered:
            self.retries += row.attempts - 1
            return
        self.answered += 1
        self._count_problems(row)
        if row.cost is not None:
            self.costs.append(row.cost)
            if can_pass:
                self.scored_costs.append(row.cost)
            if baseline is not None and baseline.cost is not None:
                self.compared_costs.append(row.cost)
                self.baseline_costs.append(baseline.cost)
        if can_pass:
            self._spend(row, is_reported=bool(measured.get("is_reported")))
        if row.is_called:
            if row.system_latency is not None:
                self.system_latencies.append(row.system_latency)
                self.model_latencies.append(row.latency - row.system_latency)
            if row.attempts > 1:
                self.retries += max(0, row.attempts - (measured.get("turns") or 1))
            duration = self._waited(row.latency, measured) if measured else row.latency
            if self._durations is None and duration != row.latency:
                self._durations = self.latencies[:]
            self.latencies.append(row.latency)
            if self._durations is not None:
                self._durations.append(duration)

    def _count_problems(self, row: RowColumns) -> None:
        if row.outcome is not None:
            self.outcomes[row.outcome] += 1
        if row.usage_problem is not None:
            self.usage_problems[row.usage_problem] += 1

    def _measure_tokens(self, row: RowColumns, baseline: BaselineRow | None) -> None:
        if row.context_tokens is not None:
            self.contexts += 1
            self.input_tokens += row.input_tokens
            self.context_tokens += row.context_tokens
        if baseline is not None:
            self.has_baseline = True
        if row.reported_tokens is None:
            return
        self.reported += 1
        self.reported_tokens += row.reported_tokens
        self.has_cache_counts = self.has_cache_counts or row.cached_tokens is not None
        self.cached_tokens += int(row.cached_tokens or 0)
        if baseline is not None and baseline.prompt_tokens:
            self.compared_tokens += row.reported_tokens
            self.baseline_tokens += baseline.prompt_tokens
            self.savings.append(1 - row.reported_tokens / baseline.prompt_tokens)

    def _spend(self, row: RowColumns, is_reported: bool) -> None:
        """Add the tokens of prompt and response of a row that can pass, by where the counts come
        from."""
        if (row.reported_tokens is not None) != is_reported:
            source = NO_SOURCE  # two counts from different sources are never added
        else:
            source = REPORTED if is_reported else WordTokenizer.name
            prompt_tokens = row.reported_tokens
            if prompt_tokens is None:
                prompt_tokens = row.context_tokens
            if prompt_tokens is None:
                prompt_tokens = row.input_tokens
            self.spent[source] += prompt_tokens + row.response_tokens
        self.spenders[source] += 1

    def _waited(self, latency: float, measured: Mapping[str, Any]) -> float:
        """Note what an answered row waited, and return how long it took in all."""
        waiting, attempt, first = map(measured.get, ("waiting", "attempt_latency", "ttft"))
        waiting = waiting if isinstance(waiting, int | float) else 0.0
        self.waiting += waiting
        if isinstance(first, int | float):
            self.first_tokens.append(first)
        return waiting + (attempt if isinstance(attempt, int | float) else latency)

    def _agree(self, row: EvalRow) -> None:
        """Note how far a row without a gold answer agrees with the reference; its first response
        not with itself."""
        self.is_reference = row.reference == row.system
        if self.is_reference and row.repetition == 0:
            return
        self.agreed += (
            row.is_agreement and row.score is not None and not row.failed and not row.is_extra
        )
        for field, values in self._agreements.items():
            own = row.score if row.is_agreement else None
            value = own if field == "score" else row.value(f"{AGREEMENT}{field}")
            if value is not None:
                values.append(value)

    def _add_answered(
        self,
        row: AnsweredRow,
        *,
        label: Label,
        dataset: str,
        baseline: BaselineRow | None,
        measured: Mapping[str, Any],
        unit: int,
    ) -> None:
        """Add a row without failures, as read by :func:`read_columns`."""
        self._add_unit(example_of(row.number), unit)
        self._count(dataset, failed=False, keys=label.keys, primary=label.primary)
        self.scores.group(dataset, is_agreement=False, keys=label.keys).add(row.scores)
        can_pass = False
        for field, column in self._values.items():
            key = label.primary if field == "score" and field not in row.scores else field
            value = row.scores.get(key)  # type: ignore[arg-type]
            if value is None:
                self._gaps.add(field)
            else:
                can_pass = can_pass or field in self._asked
            column.append(_ABSENT if value is None else value)
        self._measure(
            row, measured=measured, baseline=baseline, is_answered=True, can_pass=can_pass
        )


def _turns(output: Mapping[str, Any]) -> int:
    """Return how many answers an output has: 1, or those of a conversation, each of which was asked
    for."""
    told = output.get("turn_responses")
    return len(told) if isinstance(told, list | tuple) else 1


@frozen(eq=False)
class Units:
    """How the rows of a run file hang together.

    Attributes:
        store: The run file.
        is_repeated: Whether an example was answered more than once by a system.
        is_shared: Whether examples share a document, a session or a context.
    """

    store: RunReader
    is_repeated: bool
    is_shared: bool

    def reader(self) -> Callable[[int], int]:
        """Return a function that takes the packed identities of examples in rising order, and
        returns the number of the unit of each; 0 where no unit is shared."""
        if not self.is_shared:
            return no_unit
        clusters = queries.clusters(self.store)
        last = (-1, 0)

        def unit_at(example: int) -> int:
            nonlocal last
            while last[0] < example:
                number, cluster = next(clusters)
                last = (number, unit_of(number, cluster))
            return last[1]

        return unit_at


def no_unit(example: int) -> int:
    """Return 0: every example stands alone, or nobody asks."""
    return 0


def units_of(store: RunReader) -> Units:
    """Return how the rows of a run file hang together."""
    is_repeated = queries.has_repetitions(store)
    is_shared = queries.has_shared_clusters(store)
    return Units(store, is_repeated, is_shared)


def unit_of(example: int, cluster: str | None) -> int:
    """Return the number of an example's cluster, or of the example itself where it has none."""
    if cluster is None:
        return example
    digest = blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def further_scores(store: RunReader) -> list[str]:
    """Return the score keys of a run file that are no row's primary score, in order."""
    primaries = {label.primary for label in store.labels()}
    return [key for key in queries.score_keys(store) if key not in primaries]


def read_columns(
    store: RunReader, fields: Iterable[str] = ("score",), has_units: bool = False
) -> dict[str, Columns]:
    """Return the columns of every system of a run file, by label; checksums are left to the reading
    of whole rows.

    Args:
        store: The run file.
        fields: Score keys.
        has_units: Whether a metric reads which example and which unit each value is of.
    """
    fields = list(fields)
    systems = {system["system_number"]: system["label"] for system in store.systems()}
    units = units_of(store) if has_units else None
    further = further_scores(store) if has_units else ()
    columns = {label: Columns(fields, units, further) for label in systems.values()}
    unit_at = no_unit if units is None else units.reader()
    labels = {label.number: label for label in store.labels()}
    datasets = {label.number: label.dataset for label in labels.values()}
    if any(label.reference is not None for label in labels.values()):
        for row in store.rows():
            columns[row.system].add(row, unit_at(RowId(row.dataset_number, row.position).pack()))
        return columns
    failed = dict.fromkeys(queries.rows_with_failures(store))
    measurements = queries.measurements(store)
    with raising_store_errors(store.path), store.baselines() as baseline_of:
        for answered in queries.answered_rows(store, labels):
            if answered.number in failed:
                continue
            measured = _NOTHING
            if answered.has_more:
                measured = _seek(measurements, answered.number)
            columns[systems[answered.system_number]]._add_answered(
                answered,
                label=labels[answered.label],
                dataset=datasets[answered.label],
                baseline=baseline_of(answered.number),
                measured=measured,
                unit=unit_at(example_of(answered.number)),
            )
    unit_at = no_unit if units is None else units.reader()
    for row in store.rows_at(list(failed)):
        columns[row.system].add(row, unit_at(RowId(row.dataset_number, row.position).pack()))
    return columns


def _seek(
    measurements: Iterable[tuple[int, Mapping[str, Any]]], wanted_number: int
) -> Mapping[str, Any]:
    """Return what was measured of a row, from an iterator in the order of the rows."""
    for number, measured in measurements:
        if number == wanted_number:
            return measured
    return _NOTHING
