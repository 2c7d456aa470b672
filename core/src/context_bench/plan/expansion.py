"""What a request says in short, and what extensions make of it: sweeps, shared options, and a
baseline or a reference that is none of the systems.

A request is expanded once, where it is made: of the command line, of the project file or of
``evaluate()``. A plan and a run file hold the expanded request.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from context_bench.errors import ConfigurationError
from context_bench.plan.extensions import active_extensions, load_extensions, require_extension
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import DatasetSpec, SystemSpec, several_values
from context_bench.plan.systems import labels_of
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.manifest import SHORTHAND


def expanded(catalog: Catalog, request: RunConfig) -> RunConfig:
    """Return a request whose baseline and reference are labels of its systems. Its specs hold the
    fields and options that are shared, and no sweep.

    Raises:
        ContextBenchError: An extension for it is missing or fails, or what was asked for cannot be
            set up.
    """
    request = _with_labels(catalog, _with_fields(request))
    shorthand = find_shorthand(catalog, request)
    extensions = [
        extension
        for extension in active_extensions(catalog, request, [SHORTHAND] if shorthand else [])
        if "expand_request" in extension.component.extension.implements
    ]
    if shorthand and not extensions:
        require_extension(catalog, SHORTHAND, shorthand, "context-bench-sweeps")
    for implementation in load_extensions(extensions)["expand_request"]:
        result = implementation(request=request, catalog=catalog)
        if result is not None:
            request = implementation.require(result, RunConfig, "a request")
    remaining = find_shorthand(catalog, request)
    if remaining:
        names = ", ".join(extension.component.name for extension in extensions)
        raise ConfigurationError(f"{remaining} is not expanded by {names}.")
    return request


def find_shorthand(catalog: Catalog, request: RunConfig) -> str | None:
    """Return what a request says in short, as the subject of a sentence; None without anything.

    Raises:
        ConfigurationError: Two systems have one label.
    """
    if request.system_defaults:
        return "systems.defaults"
    for system in request.systems:
        if isinstance(system, SystemSpec) and several_values(catalog, system):
            return f"The sweep {system.text}"
    asked = {"baseline": request.baseline, "reference": request.reference}
    given = {what: system for what, system in asked.items() if system is not None}
    labels = labels_of(catalog, request.systems, request.reader) if given else []
    for what, system in given.items():
        if not isinstance(system, str):
            return f"The {what}, which is none of the systems,"
        if system not in labels:
            return f"The {what} {system!r}, which is no label of the systems ({', '.join(labels)}),"
    return None


def _with_labels(catalog: Catalog, request: RunConfig) -> RunConfig:
    """Return a request with the label of a system in place of the object, where ``evaluate()`` was
    given the same object as the baseline or the reference."""
    changes: dict[str, Any] = {}
    for what in ("baseline", "reference"):
        asked = getattr(request, what)
        if asked is None or isinstance(asked, str):
            continue
        for number, system in enumerate(request.systems):
            if system is asked:
                changes[what] = labels_of(catalog, request.systems, request.reader)[number]
    return evolve(request, **changes)


def _with_fields(request: RunConfig) -> RunConfig:
    """Return a request whose dataset specs hold its fields."""
    if (
        request.fields
        and request.datasets
        and not any(isinstance(dataset, DatasetSpec) for dataset in request.datasets)
    ):
        raise ConfigurationError(
            "fields are for datasets that are named by specs, and all of these are objects."
        )
    datasets = tuple(
        evolve(dataset, fields={**dataset.fields, **request.fields})
        if isinstance(dataset, DatasetSpec)
        else dataset
        for dataset in request.datasets
    )
    return evolve(request, datasets=datasets)
