"""What a request leaves open until the catalog is known: the systems that its baseline and its reference name or add."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from context_bench.bench.builders import followed, labels_of
from context_bench.bench.requests import Request
from context_bench.bench.specs import DatasetSpec, SystemSpec, parse_system
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.catalog import Catalog

_ADDRESS = re.compile(r"(?:(?P<label>[^=:/]+)=)?(?P<url>https?://.+)", re.IGNORECASE)
_OF_ONE_ENDPOINT = ("base_url", "name")


def settled(catalog: Catalog, request: Request) -> Request:
    """Return a request whose baseline and reference are labels of its systems, and whose datasets hold their fields.

    Raises:
        ContextBenchError: The baseline or the reference names nothing, or adds what cannot be set up.
    """
    systems, baseline = with_baseline(catalog, request.systems, request.reader, request.baseline)
    systems, reference = with_baseline(catalog, systems, request.reader, request.reference, "reference")
    datasets = tuple(
        evolve(dataset, fields={**dataset.fields, **request.fields}) if isinstance(dataset, DatasetSpec) else dataset
        for dataset in request.datasets
    )
    return evolve(request, systems=tuple(systems), baseline=baseline, reference=reference, datasets=datasets)


def with_baseline(
    catalog: Catalog, systems: Sequence[Any], reader: SystemSpec | None, baseline: Any, what: str = "baseline"
) -> tuple[list[Any], str | None]:
    """Return the systems, the baseline among them, and its label.

    The baseline is the label of one of the systems, or the name of its component where only one has it. Anything else
    adds a system: a spec, a system object, or the address of an endpoint, which is then asked as the other endpoints
    are: with the options that all of them share.

    Args:
        catalog: What is installed.
        systems: The systems as they were asked for, before a reader follows the transformers among them.
        reader: What follows each context transformer.
        baseline: The baseline as it was asked for; None for none.
        what: What it is called in errors.

    Raises:
        UnknownNameError: No system has that label, and it is no spec.
        ContextBenchError: The system that it adds cannot be set up.
    """
    if baseline is None:
        return list(systems), None
    labels = _labels(catalog, systems, reader)
    if not isinstance(baseline, str):
        places = [place for place, system in enumerate(systems) if system is baseline]
        if places:
            return list(systems), labels[places[0]]
        added = baseline
    else:
        label = _named(systems, labels, baseline)
        if label is not None:
            return list(systems), label
        added = _spec(catalog, [*systems, reader], labels, baseline, what)
    systems = [*systems, added]
    return systems, _labels(catalog, systems, reader)[-1]


def _labels(catalog: Catalog, systems: Sequence[Any], reader: SystemSpec | None) -> list[str]:
    return labels_of(catalog, followed(catalog, systems, reader))


def _named(systems: Sequence[Any], labels: Sequence[str], name: str) -> str | None:
    if name in labels:
        return name
    found = [label for system, label in zip(systems, labels) if isinstance(system, SystemSpec) and name == system.name]
    if len(found) > 1:
        raise ConfigurationError(f"{name!r} is the name of {len(found)} systems. Take a label: {', '.join(found)}.")
    return found[0] if found else None


def _spec(catalog: Catalog, systems: Sequence[Any], labels: Sequence[str], text: str, what: str) -> SystemSpec:
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        endpoint = catalog.proxy_system
        label = address["label"] or next(name for name in ("direct", text) if name not in labels)
        return SystemSpec(endpoint, {**_shared_options(systems, endpoint), "base_url": address["url"]}, label)
    try:
        spec = parse_system(text)
    except ConfigurationError:
        spec = SystemSpec(text)
    if not catalog.named("systems", spec.name):
        raise UnknownNameError(
            f"system of this run for the {what}",
            text,
            labels,
            f"Or give a system of its own for the {what}: LABEL=NAME:key=value, or the address of an endpoint.",
        )
    return spec


def _shared_options(systems: Sequence[Any], endpoint: str) -> Mapping[str, Any]:
    """Return the options that all endpoints among the systems share, their readers included."""
    endpoints = [
        step
        for system in systems
        if isinstance(system, SystemSpec)
        for step in (system, *system.steps)
        if step.name == endpoint
    ]
    if not endpoints:
        return {}
    first, *others = endpoints
    return {
        key: value
        for key, value in first.options.items()
        if key not in _OF_ONE_ENDPOINT and all(other.options.get(key) == value for other in others)
    }
