"""Columns: the values of a run's rows by system, read once and held as numbers, so that a million rows fit.

A value is a score of an evaluator, ``score`` for the primary score, or one of :data:`MEASURES`, which every row has.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from attrs import Factory, evolve, frozen
from numpy.typing import NDArray

from context_bench import EvalRow
from context_bench.errors import ConfigurationError, StoreError, UnknownNameError
from context_bench.records import REPORTED_CURRENCY, passes
from context_bench.runs import Run
from context_bench.tokens import WordTokenizer
from context_bench_compare.places import example_at, example_place, place_of

PRIMARY = "score"

ANY_KEY = "*"
"""Stands for the keys of an evaluator that declares none."""

MEASURES: Mapping[str, Callable[[EvalRow], float | None]] = {
    "latency": lambda row: row.latency if row.is_called and not row.failed else None,
    "cost": lambda row: row.cost,
    "prompt_tokens": lambda row: None if row.failed else row.prompt_tokens,
    "response_tokens": lambda row: None if row.failed else row.response_tokens,
    "input_tokens": lambda row: None if row.failed else row.input_tokens or None,
    "output_tokens": lambda row: None if row.failed else row.context_tokens,
}
"""What is measured of every row; less of it is better. Tokens in and out are of one tokenizer, so that they make a ratio."""

Places = NDArray[np.int64]


@frozen(eq=False)
class Column:
    """The values of one system.

    Attributes:
        run: The run that they are of.
        system: Label of the system.
        metric: What they are.
        places: Identity of each row without its system, packed, rising; shape (rows,).
        values: Shape (rows,); a failed row has the worst value of its score.
        answered: Whether the row was answered, shape (rows,).
        better: ``"higher"``, ``"lower"``, ``"neither"``, or ``"mixed"`` where datasets differ.
        labels: Number of each row's dataset among ``names``, shape (rows,).
        names: Labels of the datasets, in the order of the run.
        unknown: Rows that were answered, and have no value.
        lower: Numbers of the labels on whose rows less is better.
        directions: Which values are better, by the label of the dataset.
        givers: Id of the evaluator that gives the values, and the key it gives them under, by the label of the dataset; ``*``
            for an id that nobody knows.
        units: In words, what the values are in; empty for a score, several where not all tokens are counted alike.
    """

    run: Run
    system: str
    metric: str
    places: Places
    values: NDArray[np.float64]
    answered: NDArray[np.bool_]
    better: str
    labels: NDArray[np.int32]
    names: tuple[str, ...]
    unknown: int = 0
    lower: tuple[int, ...] = ()
    directions: Mapping[str, str] = Factory(dict)
    givers: Mapping[str, tuple[str, str]] = Factory(dict)
    units: frozenset[str] = frozenset()

    def passed(self, threshold: float) -> Column:
        """Return the column that says of each row whether it passes, 1.0 or 0.0; more of that is better."""
        is_lower = np.isin(self.labels, self.lower)
        found = np.where(
            is_lower, passes(self.values, threshold, "lower"), passes(self.values, threshold)
        )
        return evolve(
            self, values=found.astype(np.float64), better="higher", lower=(), directions={}
        )


def one_direction(found: Iterable[str]) -> str:
    """Return the direction that several have in common, as ``EvalRow.better()`` tells it; ``"mixed"`` where they differ."""
    distinct = set(found) or {"higher"}
    return distinct.pop() if len(distinct) == 1 else "mixed"


def threshold_of(run: Run) -> float:
    """Return the score that passes in a run: what its own metrics counted by."""
    return float(run.request.get("threshold", 0.7))


def read_columns(
    run: Run,
    metrics: Sequence[str],
    until: int | None = None,
    besides: Sequence[str] = (),
    other_names: Sequence[str] = (),
) -> dict[tuple[str, str], Column]:
    """Return the columns of every system by its label and the metric; a system without a value of a metric has none.

    Args:
        run: An open run.
        metrics: Score keys, ``score``, or names of :data:`MEASURES`.
        until: Packed place of the first row that is not read; None reads all.
        besides: Further ones, which need not be there.
        other_names: What a misspelt metric may have meant besides.

    Raises:
        UnknownNameError: There is no such metric.
        ConfigurationError: No row has a value of a metric.
    """
    read: dict[tuple[str, str], _Growing] = {}
    known: set[str] = set()
    names: dict[str, int] = {}
    unknown: Counter[tuple[str, str]] = Counter()
    every = tuple(dict.fromkeys((*metrics, *besides)))
    directions: dict[str, dict[str, str]] = {}
    givers: dict[str, dict[str, tuple[str, str]]] = {}
    units: dict[tuple[str, str], set[str]] = {}
    unit_of = {metric: _units_of(run, metric) for metric in every if metric in MEASURES}
    for row in told_of(run, run.rows()):
        place = place_of(row.dataset_number, row.position, row.repetition)
        if until is not None and place >= until:
            break
        if row.is_extra:
            continue
        known.update(() if row.is_agreement else (*row.keys, *row.scores))
        label = names.setdefault(row.dataset, len(names))
        for metric in every:
            measure = MEASURES.get(metric)
            value = measure(row) if measure else None if row.is_agreement else row.value(metric)
            if value is None:
                unknown[row.system, metric] += not row.failed
            else:
                read.setdefault((row.system, metric), _Growing()).add(
                    place, value, not row.failed, label
                )
                if measure:
                    units.setdefault((row.system, metric), set()).add(unit_of[metric](row))
                told = directions.setdefault(metric, {})
                if row.dataset not in told:
                    told[row.dataset] = "lower" if metric in MEASURES else row.better(metric)
                    givers.setdefault(metric, {})[row.dataset] = _giver(run, row, metric)
    for metric in metrics:
        if not any(found == metric for _, found in read):
            if metric in known or metric in MEASURES or metric == PRIMARY:
                raise ConfigurationError(f"No row of {run.path} has a known {metric}.")
            raise UnknownNameError(
                f"score in {run.path}",
                metric,
                sorted({*known, *MEASURES, PRIMARY, *other_names} - {ANY_KEY}),
            )
    return {
        (system, metric): evolve(
            column.frozen(
                run, system, metric, one_direction(directions[metric].values()), tuple(names)
            ),
            unknown=unknown[system, metric],
            lower=tuple(
                names[label] for label, better in directions[metric].items() if better == "lower"
            ),
            directions=directions[metric],
            givers=givers[metric],
            units=frozenset(units.get((system, metric), ())),
        )
        for (system, metric), column in read.items()
    }


def currency_of(run: Run) -> str:
    """Return what the money of a run is in: that of its prices, else that in which endpoints report."""
    billed = (system["description"].get("billing", {}) for system in run.systems)
    return next((str(bill["currency"]) for bill in billed if "currency" in bill), REPORTED_CURRENCY)


def _units_of(run: Run, measure: str) -> Callable[[EvalRow], str]:
    """Return a function that says in words what a row's value of a measure is in."""
    if measure in ("cost", "latency"):
        unit = f"in {currency_of(run)}" if measure == "cost" else "in seconds"
        return lambda row: unit
    counted = f"counted by {run.request.get('tokenizer', WordTokenizer.name)}"
    part = {"prompt_tokens": "input_tokens", "response_tokens": "output_tokens"}.get(measure)
    if part is None:
        return lambda row: counted
    return lambda row: (
        counted if getattr(row.usage, part, None) is None else "reported by the endpoint"
    )


def _giver(run: Run, row: EvalRow, metric: str) -> tuple[str, str]:
    key = row.primary or ANY_KEY if metric == PRIMARY else metric
    if metric in MEASURES:
        return ANY_KEY, key
    if key in row.keys:
        return row.keys[key].evaluator, key
    told = run.keys(
        (row.dataset_number, row.position, row.system_number, row.repetition)
    )  # what it declares no keys of, it gave
    found = [name for known in told for name, values in known.values.items() if key in values]
    return found[0] if len(found) == 1 else ANY_KEY, key


_Read = TypeVar("_Read")


def told_of(run: Run, read: Iterator[_Read]) -> Iterator[_Read]:
    """Yield what is read of a run; a fault names its file, since several are open.

    Raises:
        StoreError: The file is damaged.
    """
    try:
        yield from read
    except StoreError as error:
        if str(run.path) in str(error):
            raise
        raise StoreError(f"{run.path}: {error}") from error


class _Growing:
    """A column while it is read: numbers in arrays, 21 bytes a row."""

    def __init__(self) -> None:
        self._places, self._values, self._answered = array("q"), array("d"), bytearray()
        self._labels = array("i")

    def add(self, place: int, value: float, answered: bool, label: int) -> None:
        self._places.append(place)
        self._values.append(value)
        self._answered.append(answered)
        self._labels.append(label)

    def frozen(
        self, run: Run, system: str, metric: str, better: str, names: tuple[str, ...]
    ) -> Column:
        places = np.frombuffer(self._places, dtype=np.int64)
        values = np.frombuffer(self._values, dtype=np.float64)
        answered = np.frombuffer(self._answered, dtype=np.uint8).astype(bool)
        labels = np.frombuffer(self._labels, dtype=np.int32)
        return Column(run, system, metric, places, values, answered, better, labels, names)


def content_places(run: Run) -> dict[int, int]:
    """Return, for each example of a run, a number that stands for its dataset and content, by its packed place.

    Equal examples of one dataset are told apart by their order, so that runs over the same file match row by row.
    """
    seen: Counter[str] = Counter()
    found: dict[int, int] = {}
    for example in told_of(run, run.examples()):
        name = f"{example.label}\0{example.hash}"
        digest = blake2b(f"{name}\0{seen[name]}".encode(), digest_size=7).digest()
        seen[name] += 1
        found[example_at(example.identity)] = int.from_bytes(digest, "big")
    return found


def grouped(run: Run, places: Iterable[int], field: str | None) -> dict[int, Any]:
    """Return the value of a field of each row's example by the row's place; ``dataset`` is its label.

    Args:
        run: An open run.
        places: Packed places of rows.
        field: A field of the examples, ``dataset``, ``example`` for the example itself, or ``length`` for the words of its
            context where it has no such field; None groups nothing.
    """
    if field is None:
        return {}
    wanted = {example_place(place) for place in places}
    told: dict[int, Any] = {}
    for example in told_of(run, run.examples()):
        place = example_at(example.identity)
        if place not in wanted:
            continue
        if field == "dataset":
            told[place] = example.label
        elif field == "example":
            told[place] = place
        else:
            told[place] = _field_of(example.content or {}, field)
    return told


def _field_of(content: Mapping[str, Any], field: str) -> Any:
    found = content.get(field)
    if found is None and field in ("tag", "depth"):
        found = content.get({"tag": "tags", "depth": "needle_depth"}[field])
    if found is None and field == "length" and isinstance(content.get("context"), str):
        return len(content["context"].split())
    return found
