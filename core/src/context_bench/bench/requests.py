"""Requests: a run as the command line and the project file ask for it, in a form that a run file can keep.

A request holds no object and no secret, so a run file is all that ``resume`` needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import Factory, asdict, evolve, frozen

from context_bench.bench.secrets import safe_spec, without_secrets
from context_bench.bench.specs import DatasetSpec, SystemSpec, dataset_from_dict, spec_to_dict, system_from_dict
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.metrics.registry import metrics_for
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.wiring import Choice
from context_bench.prices import Prices, read_prices
from context_bench.protocols import Metric
from context_bench.runner.selection import ById, RandomSample, Selection


@frozen
class Request:
    """A run as it is asked for.

    Attributes:
        systems: The systems.
        datasets: The datasets.
        reader: What follows each context transformer.
        baseline: Label of the system that the others are held against; None for none.
        reference: Label of the system whose responses stand in for gold answers; None for none.
        prices: What tokens cost, as :func:`~context_bench.prices.read_prices` reads it.
        isolate_prefixes: Whether each system's prompts begin with a marker of its own.
        evaluators: The only evaluators to use; None wires them.
        also, without, allow, prefixes: See :class:`~context_bench.plugins.wiring.Choice`.
        options: Options of evaluators, by name.
        limit: At most so many examples of each dataset.
        samples: How often each example is given to each system.
        score_field: Score that the usual metrics look at.
        threshold: What passes.
        metrics: Exactly these metrics, as ``NAME`` or ``NAME:option=value``; None takes those that are on by default.
        also_metrics: Metrics on top of them.
        max_workers: Calls in flight; None chooses.
        sample, seed: Take so many examples of each dataset at random instead of the first.
        ids: Take only the examples with these ids.
        order: ``"interleaved"`` or ``"system"``; see :class:`~context_bench.runner.job_source.Feed`.
        keep_examples: Whether examples are stored whole in the run file.
        deadline: Seconds for one row as a whole; None for no limit.
        requests_per_minute, tokens_per_minute: Limits of each endpoint; None for none but what it answers.
        max_cost: Money that the run may cost, in the currency of the prices, where costs are known.
        max_failed: Share of rows that may fail; None allows all.
    """

    systems: tuple[SystemSpec, ...] = ()
    datasets: tuple[DatasetSpec, ...] = ()
    reader: SystemSpec | None = None
    baseline: str | None = None
    reference: str | None = None
    prices: Mapping[str, Any] = Factory(dict)
    isolate_prefixes: bool = False
    evaluators: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = Factory(dict)
    options: Mapping[str, Mapping[str, Any]] = Factory(dict)
    limit: int | None = None
    samples: int = 1
    score_field: str = "score"
    threshold: float = 0.7
    metrics: tuple[str, ...] | None = None
    also_metrics: tuple[str, ...] = ()
    max_workers: int | None = None
    sample: int | None = None
    seed: int = 0
    ids: tuple[str, ...] = ()
    order: str = "interleaved"
    keep_examples: bool = True
    deadline: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None
    max_failed: float | None = None

    def __attrs_post_init__(self) -> None:
        check_limits(
            order=self.order,
            deadline=self.deadline,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            max_cost=self.max_cost,
            max_failed=self.max_failed,
        )
        check_reference(self.reference, self.keep_examples)
        self.selection()

    def price_table(self) -> Prices:
        """Return what tokens cost."""
        return read_prices(self.prices, "prices")

    def metrics_of(self, catalog: Catalog) -> list[Metric]:
        """Return the metrics of the run.

        Raises:
            ContextBenchError: One is unknown, cannot be used, or has an option that does not fit.
        """
        return metrics_for(catalog, self.metrics, self.also_metrics, self.without, self.score_field, self.threshold)

    def selection(self) -> Selection | None:
        """Return which examples of a dataset are taken, beyond the limit.

        Raises:
            ConfigurationError: More than one of ``limit``, ``sample`` and ``ids`` is given.
        """
        return selection_of(self.limit, self.sample, self.seed, self.ids)

    def rows_at_most(self, systems: int) -> int | None:
        """Return how many rows the run has at most, or None when nobody knows before its end."""
        size = self.limit or self.sample or len(self.ids)
        return size * len(self.datasets) * systems * self.samples if size else None

    def to_dict(self, catalog: Catalog) -> dict[str, Any]:
        """Return the request as JSON-like values, secrets taken out."""
        plain = asdict(self, recurse=False)
        return plain | {
            "systems": [spec_to_dict(safe_spec(catalog, spec)) for spec in self.systems],
            "datasets": [
                spec_to_dict(evolve(spec, options=without_secrets(catalog, "datasets", spec.name, spec.options)))
                for spec in self.datasets
            ],
            "reader": spec_to_dict(safe_spec(catalog, self.reader)) if self.reader else None,
            "options": {
                name: without_secrets(catalog, "evaluators", name, given) for name, given in self.options.items()
            },
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Request:
        """Return the request that :meth:`to_dict` wrote."""
        values = {name: value for name, value in found.items() if name != "locked"}
        values["systems"] = tuple(system_from_dict(spec) for spec in found["systems"])
        values["datasets"] = tuple(dataset_from_dict(spec) for spec in found["datasets"])
        values["reader"] = system_from_dict(found["reader"]) if found["reader"] else None
        for name in ("also", "without", "allow", "ids", "also_metrics"):
            values[name] = tuple(found.get(name, ()))
        if found.get("metrics") is not None:
            values["metrics"] = tuple(found["metrics"])
        if found["evaluators"] is not None:
            values["evaluators"] = tuple(found["evaluators"])
        return cls(**values)

    def choice(self, catalog: Catalog) -> Choice:
        """Return what the request says about evaluators."""
        flags = [
            option.flag.removeprefix("--")
            for component in catalog.of_kind("evaluators")
            for option in (component.facts.options if component.facts else {}).values()
            if option.flag
            and option.name in {**self.options.get(component.name, {}), **self.options.get(component.id, {})}
        ]
        return Choice(
            self.evaluators, self.also, frozenset(self.without), frozenset(flags), frozenset(self.allow), self.prefixes
        )


def selection_of(limit: int | None, sample: int | None, seed: int, ids: Sequence[str]) -> Selection | None:
    """Return which examples of a dataset are taken; None takes all, or the first ones.

    Raises:
        ConfigurationError: More than one of them is given.
    """
    given = [name for name, value in (("-n", limit), ("--sample", sample), ("--ids", ids)) if value]
    if len(given) > 1:
        raise ConfigurationError(f"{' and '.join(given)} exclude each other: each says which examples are taken.")
    if sample:
        return RandomSample(sample, seed)
    return ById(tuple(ids)) if ids else None


def check_limits(*, order: str, max_failed: float | None, **limits: float | None) -> None:
    """Refuse limits that make no sense.

    Raises:
        ConfigurationError: One is not above zero, is no share, or the order is unknown.
    """
    if order not in ORDERS:
        raise UnknownNameError("order", order, ORDERS)
    if max_failed is not None and not 0 <= max_failed <= 1:
        raise ConfigurationError(f"max_failed is {max_failed!r}, but must be a share between 0 and 1.")
    for name, limit in limits.items():
        if limit is not None and not 0 < limit < float("inf"):
            raise ConfigurationError(f"{name} is {limit!r}, but must be a number above zero.")


def check_reference(reference: object, keep_examples: bool) -> None:
    """Refuse a reference whose examples are not kept.

    Raises:
        ConfigurationError: They are not, so nothing could be held against it once it has answered.
    """
    if reference is not None and not keep_examples:
        raise ConfigurationError(
            "Rows without an answer are scored from the run file, once the reference has answered: its examples must be "
            "kept (leave --no-store-examples out)."
        )


ORDERS = ("interleaved", "system")
