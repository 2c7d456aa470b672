"""The configuration of a run, for commands that have the options of ``run``.

    @run_options()
    @click.option("--times", default=1)
    def ping(config, catalog, times):
        for system in SystemConfig.all_of(catalog, config):
            print(system.label, system.build().name)

This module is stable API: see ``docs/reference/public-api.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from context_bench.console import hiding
from context_bench.errors import DatasetError, MissingValueError
from context_bench.plan.run_config import RunConfig
from context_bench.plan.secrets import redact_errors, redactor_of
from context_bench.plan.specs import SystemSpec, parse_system, several_values, specs_in
from context_bench.plan.systems import baseline_of, labels_of, with_reader
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.options import read_option
from context_bench.run.examples import chosen, name_of
from context_bench.run.systems import can_converse, endpoint_of
from context_bench.runs import Run
from context_bench.session.datasets import open_dataset
from context_bench.session.systems import build_system

if TYPE_CHECKING:
    from context_bench.session.rescoring import Recomputation

__all__ = [
    "SystemConfig",
    "SystemSpec",
    "RunConfig",
    "examples_of",
    "labels_of",
    "load_config",
    "parse_system",
    "recompute",
    "run_options",
    "several_values",
]


@frozen
class SystemConfig:
    """A system that the user requested, before it is set up.

    Attributes:
        label: Its label in the run.
        is_baseline: Whether the other systems are compared with it.
    """

    _catalog: Catalog
    _spec: SystemSpec
    label: str
    is_baseline: bool = False

    @classmethod
    def all_of(cls, catalog: Catalog, request: RunConfig) -> list[SystemConfig]:
        """Return the systems of a run in order, each context transformer followed by the reader.

        Raises:
            ContextBenchError: No system is given, a name is unknown, or two have one label.
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
        """Return the system, its steps chained, as the run would call it.

        Raises:
            ContextBenchError: It cannot be set up.
        """
        system = build_system(self._catalog, self._spec)
        if not can_converse(system):
            return system
        from context_bench.session.hooks import RunHooks

        return RunHooks(self._catalog).drive_conversation(system)

    def option(self, name: str) -> tuple[tuple[Any, ...], Any] | None:
        """Return the choices and the value of an option of one of its steps; None without one.

        Raises:
            ConfigurationError: The value is none of the option's type.
        """
        for step in specs_in(self._spec):
            options = self._catalog.find("systems", step.name).manifest.options
            if name in options:
                declared = options[name]
                given = _given(step)
                if name not in given:
                    return declared.choices, declared.default
                value = read_option(declared, given[name], f"system {step.name}")
                return declared.choices, value
        return None

    def with_options(
        self, changes: Mapping[str, Any], unless_given: Mapping[str, Any] | None = None
    ) -> SystemConfig:
        """Return it with other options, in each of its steps that declares them.

        Args:
            changes: Values that replace those of the user.
            unless_given: Values of options that the user has not set.
        """
        return evolve(self, spec=self._changed(self._spec, changes, unless_given or {}))

    def _changed(
        self, spec: SystemSpec, changes: Mapping[str, Any], unless_given: Mapping[str, Any]
    ) -> SystemSpec:
        declared = self._catalog.find("systems", spec.name).manifest.options
        options = {name: value for name, value in unless_given.items() if name in declared}
        options |= _given(spec)
        options |= {name: value for name, value in changes.items() if name in declared}
        steps = tuple(self._changed(step, changes, unless_given) for step in spec.steps)
        return evolve(spec, options=options, steps=steps)

    @staticmethod
    def endpoint_of(system: Any) -> str | None:
        """Return the endpoint that a system calls, without secrets; None without one."""
        return endpoint_of(system)


def examples_of(
    catalog: Catalog, request: RunConfig, size: int
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the first examples of a run with their names, from all of its datasets in turn.

    Raises:
        ContextBenchError: A dataset is unknown or cannot be read, or all of them are empty.
    """
    sources: list[Iterator[tuple[str, Mapping[str, Any]]]] = []
    labels: list[str] = []
    for number, spec in enumerate(request.datasets):
        stream, _ = open_dataset(catalog, spec, number, request, labels)
        labels.append(stream.fallback)
        sources.append(_named(chosen(stream, request.patience), stream.fallback))
    examples: list[tuple[str, Mapping[str, Any]]] = []
    while sources and len(examples) < size:
        source = sources.pop(0)
        example = next(source, None)
        if example is not None:
            examples.append(example)
            sources.append(source)
    if labels and not examples:
        raise DatasetError(f"There is no example to ask about: {', '.join(labels)} gave none.")
    return examples


def load_config(
    systems: Sequence[str] = (),
    proxies: Sequence[str] = (),
    names: Sequence[str] = (),
    model: str | None = None,
    project: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return the configuration of the project file, with further systems.

    Args:
        systems: Specs of further systems, as ``--system`` takes them.
        proxies: Addresses, as ``--proxy`` takes them.
        names: Labels of the proxies in their order.
        model: Model that the proxies receive in each request.
        project: The project file, or its content; None reads ``context-bench.toml`` in the current
            directory, if it exists.

    Raises:
        ConfigurationError: The project file or a spec cannot be read.
    """
    from context_bench.cli.options import catalog_of_environment
    from context_bench.plan.expansion import expanded
    from context_bench.plan.project import project_request, proxies_of
    from context_bench.plugins.settings import load_project

    catalog = catalog_of_environment()
    request = project_request(load_project(project), catalog)
    further = [parse_system(spec) for spec in systems]
    asked = {"proxies": proxies, "names": names, "model": model}
    further += proxies_of(asked, catalog.proxy_system)
    return expanded(catalog, evolve(request, systems=(*request.systems, *further)))


def recompute(catalog: Catalog, run: Run) -> Recomputation:
    """Return a recomputation of the scores of a run's deterministic, unchanged evaluators.

    It writes nothing and calls no system. Its ``scores()`` yields the identity of a row, the id of
    an evaluator, and scores by key. Then ``notes`` lists the scores that were not computed again,
    with reasons.
    """
    from context_bench.session.rescoring import Recomputation

    return Recomputation(catalog, run)


def run_options(
    name: str | None = None, *, only_wiring: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes a function a click command with the options of ``run``.

    The function is called with ``config``, ``catalog`` and the values of its own click options.

    Args:
        name: Its name; None takes the function's.
        only_wiring: Whether it has only the options that select evaluators and extensions, and
            calls no system.
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

        own_params: Sequence[Any] = tuple(getattr(function, "__click_params__", ()))
        own_names = frozenset(param.name for param in own_params)

        @wraps(function)
        def call(**flags: Any) -> Any:
            options = {param.name: flags.pop(param.name) for param in own_params}
            catalog, request = requested_config(flags)
            with hiding(redactor_of(catalog, request).of), redact_errors(catalog, request):
                if not only_wiring:
                    require_used(catalog, make_plan(catalog, request), flags)
                return function(config=request, catalog=catalog, **options)

        if only_wiring:
            return click.command(name)(wiring_options(call))
        return click.command(name, cls=RunOptions, own_names=own_names)(request_options(call))

    return decorate


def _named(
    examples: Iterable[tuple[int, Any]], label: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for position, example in examples:
        if not isinstance(example, Mapping):
            raise DatasetError(
                f"Row {position} of dataset {label!r} is {type(example).__name__}, not an example."
            )
        yield name_of(example, position), example


def _given(spec: SystemSpec) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in spec.options.items()}
