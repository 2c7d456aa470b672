"""What a run is asked for, for commands that take the arguments of ``run`` and look at what it
would do.

    @run_options()
    @click.option("--times", default=1)
    def ping(config, catalog, times):
        for system in SystemConfig.all_of(catalog, config):
            print(system.label, system.build().name)

This module is stable API: see ``docs/reference/public-api.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from context_bench.console import hiding
from context_bench.errors import DatasetError, MissingValueError
from context_bench.plan.run_config import RunConfig
from context_bench.plan.secrets import redact_errors, redactor_of
from context_bench.plan.specs import SystemSpec, parse_system, specs_in
from context_bench.plan.systems import baseline_of, labels_of, with_reader
from context_bench.plugins.catalog import Catalog
from context_bench.run.examples import chosen, name_of
from context_bench.run.systems import can_converse, endpoint_of
from context_bench.runs import Run
from context_bench.session.datasets import open_dataset
from context_bench.session.systems import build_system

if TYPE_CHECKING:
    from context_bench.session.rescoring import Recomputation

__all__ = ["SystemConfig", "RunConfig", "examples_of", "load_config", "recompute", "run_options"]


@frozen
class SystemConfig:
    """A system that was asked for, before it is set up.

    Attributes:
        label: What it is called in the run.
        is_baseline: Whether the others are held against it.
    """

    _catalog: Catalog
    _spec: SystemSpec
    label: str
    is_baseline: bool = False

    @classmethod
    def all_of(cls, catalog: Catalog, request: RunConfig) -> list[SystemConfig]:
        """Return the systems of a request in its order, each context transformer followed by the
        reader.

        Raises:
            ContextBenchError: There is none, a name is unknown, or two have one label.
        """
        specs = with_reader(catalog, request.systems, request.reader)
        if not specs:
            raise MissingValueError("system", "Pass --system NAME or --proxy URL.")
        for spec in specs:
            for step in specs_in(spec):
                catalog.find("systems", step.name).require_ok()
        labels = labels_of(catalog, specs)
        baseline = baseline_of(labels, request.baseline)
        return [cls(catalog, spec, label, label == baseline) for label, spec in zip(labels, specs)]

    def build(self) -> Any:
        """Return the system, its steps chained, as the run would ask it.

        Raises:
            ContextBenchError: It cannot be set up.
        """
        system = build_system(self._catalog, self._spec)
        if not can_converse(system):
            return system
        from context_bench.session.hooks import RunHooks

        return RunHooks(self._catalog).drive_conversation(system)

    def option(self, name: str) -> tuple[tuple[Any, ...], Any] | None:
        """Return the choices and the value of an option that one of its steps declares; None when
        none declares it."""
        for step in specs_in(self._spec):
            options = self._catalog.find("systems", step.name).manifest.options
            if name in options:
                declared = options[name]
                return declared.choices, _given(step).get(name, declared.default)
        return None

    def with_options(
        self, changes: Mapping[str, Any], unless_given: Mapping[str, Any] | None = None
    ) -> SystemConfig:
        """Return it with other options, in each of its steps that declares them.

        Args:
            changes: Values that count, whatever was asked for.
            unless_given: Values for options that nobody gave.
        """
        return evolve(self, spec=self._changed(self._spec, changes, unless_given or {}))

    def _changed(
        self, spec: SystemSpec, changes: Mapping[str, Any], unless_given: Mapping[str, Any]
    ) -> SystemSpec:
        declared = self._catalog.find("systems", spec.name).manifest.options
        own, weak = (
            {name: told[name] for name in told if name in declared}
            for told in (changes, unless_given)
        )
        steps = tuple(self._changed(step, changes, unless_given) for step in spec.steps)
        return evolve(spec, options={**weak, **_given(spec), **own}, steps=steps)

    @staticmethod
    def endpoint_of(system: Any) -> str | None:
        """Return what a system asks, without secrets; None when it asks no endpoint."""
        return endpoint_of(system)


def examples_of(
    catalog: Catalog, request: RunConfig, size: int
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the first examples of a request with their names, from all of its datasets in turn;
    none without a dataset.

    Raises:
        ContextBenchError: A dataset is unknown or cannot be read, or all of them are empty.
    """
    sources: list[Iterator[tuple[str, Mapping[str, Any]]]] = []
    labels: list[str] = []
    for number, spec in enumerate(request.datasets):
        stream, _ = open_dataset(catalog, spec, number, request, labels)
        labels.append(stream.fallback)
        sources.append(_named(chosen(stream, request.patience), stream.fallback))
    found: list[tuple[str, Mapping[str, Any]]] = []
    while sources and len(found) < size:
        source = sources.pop(0)
        example = next(source, None)
        if example is not None:
            found.append(example)
            sources.append(source)
    if labels and not found:
        raise DatasetError(f"There is no example to ask about: {', '.join(labels)} gave none.")
    return found


def load_config(
    systems: Sequence[str] = (),
    proxies: Sequence[str] = (),
    names: Sequence[str] = (),
    model: str | None = None,
    project: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return what the project file asks for, with further systems.

    Args:
        systems: Specs of further systems, as ``--system`` takes them.
        proxies: Addresses, as ``--proxy`` takes them.
        names: Labels of the proxies in their order.
        model: Model that the proxies are asked for.
        project: The project file, or what it holds; None takes ``context-bench.toml`` in the
            current directory, where there is one.

    Raises:
        ConfigurationError: The project file or a spec cannot be read.
    """
    from context_bench.cli.options import catalog_of_environment
    from context_bench.plan.project import project_request, proxies_of
    from context_bench.plugins.settings import load_project

    request = project_request(load_project(project), catalog_of_environment())
    given = [parse_system(spec) for spec in systems]
    given += proxies_of(
        {"proxies": proxies, "names": names, "model": model}, catalog_of_environment().proxy_system
    )
    return evolve(request, systems=(*request.systems, *given))


def recompute(catalog: Catalog, run: Run) -> Recomputation:
    """Return what computes the scores of a run's deterministic, unchanged evaluators again; nothing
    is written or asked.

    Its ``scores()`` yields the identity of a row, the id of an evaluator, and scores by key;
    ``notes`` says afterwards which scores were not computed again, and why.
    """
    from context_bench.session.rescoring import Recomputation

    return Recomputation(catalog, run)


def run_options(
    name: str | None = None, *, only_wiring: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Return what makes a function a click command that takes the options of ``run``.

    The function is called with ``config``, ``catalog`` and the values of its own click options.

    Args:
        name: Its name; None takes the function's.
        only_wiring: Whether it takes only those that say which evaluators and extensions are used,
            and asks no system.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        import click

        from context_bench.cli.declared_options import RunOptions
        from context_bench.cli.run_options import (
            request_options,
            requested_config,
            require_used,
            wiring_options,
        )
        from context_bench.plan.plan import make_plan

        own: Sequence[Any] = tuple(getattr(function, "__click_params__", ()))
        own_names = frozenset(param.name for param in own)

        @wraps(function)
        def call(**flags: Any) -> Any:
            given = {param.name: flags.pop(param.name) for param in own}
            catalog, request = requested_config(flags)
            with hiding(redactor_of(catalog, request).of), redact_errors(catalog, request):
                if not only_wiring:
                    require_used(catalog, make_plan(catalog, request), flags)
                return function(config=request, catalog=catalog, **given)

        if only_wiring:
            return click.command(name)(wiring_options(call))
        return click.command(name, cls=RunOptions, own_names=own_names)(request_options(call))

    return decorate


def _named(placed: Any, label: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, example in placed:
        if not isinstance(example, Mapping):
            raise DatasetError(
                f"Row {place} of dataset {label!r} is {type(example).__name__}, not an example."
            )
        yield name_of(example, place), example


def _given(spec: SystemSpec) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in spec.options.items()}
