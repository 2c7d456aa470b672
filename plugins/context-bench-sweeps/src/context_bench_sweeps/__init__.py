"""Sweeps, shared options and added baselines: what a request says in short, as systems.

A baseline is called as the system that is compared with it is: with the same layout, sampling and
limits. So the address of an endpoint adds one baseline for each set of them that the other
endpoints have; ``LABEL:anything`` is the baseline ``LABEL`` with other parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attrs import evolve

from context_bench.catalog import Catalog
from context_bench.config import (
    RunConfig,
    SystemConfig,
    SystemSpec,
    labels_of,
    parse_system,
    several_values,
)
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.hookspecs import hookimpl
from context_bench.protocols import CALL_OPTIONS

__all__ = ["expand_request"]

_ADDRESS = re.compile(r"(?:(?P<label>[^=:/]+)=)?(?P<url>https?://.+)", re.IGNORECASE)
_OF_ONE_ENDPOINT = ("base_url", "name")


@hookimpl
def expand_request(request: RunConfig, catalog: Catalog) -> RunConfig:
    """Return a request whose baseline and reference are labels of its systems. Its specs hold the
    options that are shared, and no sweep.

    Raises:
        ContextBenchError: The baseline or the reference names nothing, or adds what cannot be set
            up; or no system has a shared option.
    """
    defaults = request.system_defaults
    if defaults:
        _check_defaults(catalog, request)
    systems = [
        _filled(catalog, variant, defaults)
        for system in request.systems
        for variant in swept(catalog, system)
    ]
    request = evolve(
        request,
        systems=tuple(systems),
        reader=_filled(catalog, request.reader, defaults),
    )
    request = _with_baseline(catalog, request, "baseline")
    request = _with_baseline(catalog, request, "reference")
    return evolve(request, system_defaults={})


def swept(catalog: Catalog, system: Any) -> Iterator[Any]:
    """Yield a system; where its spec gives an option that is a number several, with slashes between
    them, one for each.

    Of ``bm25:ratio=0.1/0.25/0.5`` come three systems, of two such options each pair.
    """
    several = several_values(catalog, system) if isinstance(system, SystemSpec) else {}
    if not several:
        yield system
        return
    settings = [[(key, value) for value in values] for key, values in several.items()]
    for setting in map(dict, product(*settings)):
        label = system.label and SystemSpec(system.label, setting).text
        yield evolve(system, options={**system.options, **setting}, label=label)


def _with_baseline(catalog: Catalog, request: RunConfig, what: str) -> RunConfig:
    """Return a request whose baseline, or reference, is the label of one of its systems.

    It is a label already, the name of the component of one system, or the spec of one. Anything
    else adds a system: a spec, an object, or the address of an endpoint. That endpoint is called as the others are:
    with the options that all of them share, and once for each layout, sampling and limits that they
    do not.

    Args:
        catalog: What is installed.
        request: The request.
        what: ``baseline`` or ``reference``.

    Raises:
        UnknownNameError: No system has that label, and it is no spec.
        ContextBenchError: The system that it adds cannot be set up.
    """
    asked = getattr(request, what)
    if asked is None:
        return request
    systems = request.systems
    labels = labels_of(catalog, systems, request.reader)
    added = [asked]
    label = None
    if isinstance(asked, str):
        label = _named(systems, labels, asked)
        if label is None:
            specs = _specs(catalog, request, labels, asked, what)
            added = [_filled(catalog, spec, request.system_defaults) for spec in specs]
            label = _same(systems, labels, added[0])
    if label is None:
        systems = (*systems, *added)
        label = labels_of(catalog, systems, request.reader)[len(labels)]
    changes: dict[str, Any] = {"systems": systems, what: label}
    return evolve(request, **changes)


def _named(systems: Sequence[Any], labels: Sequence[str], name: str) -> str | None:
    if name in labels:
        return name
    matches = [
        label
        for system, label in zip(systems, labels)
        if isinstance(system, SystemSpec) and name == system.name
    ]
    if len(matches) > 1:
        raise ConfigurationError(
            f"{name!r} is the name of {len(matches)} systems. Take a label: {', '.join(matches)}."
        )
    return matches[0] if matches else None


def _same(systems: Sequence[Any], labels: Sequence[str], spec: SystemSpec) -> str | None:
    """Return the label of the system that a spec without a label describes; None without one."""
    if spec.label is not None:
        return None
    for system, label in zip(systems, labels):
        if isinstance(system, SystemSpec) and (system.name, system.options) == (
            spec.name,
            spec.options,
        ):
            return label
    return None


def _specs(
    catalog: Catalog, request: RunConfig, labels: Sequence[str], text: str, what: str
) -> list[SystemSpec]:
    """Return the specs that a baseline or a reference adds."""
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        return _at_address(catalog, request, labels, address, what)
    try:
        spec = parse_system(text)
    except ConfigurationError:
        spec = SystemSpec(text)
    if not catalog.named("systems", spec.name):
        raise UnknownNameError(
            f"system of this run for the {what}",
            text,
            labels,
            f"Or give a system of its own for the {what}: LABEL=NAME:key=value, or the address of "
            "an endpoint.",
        )
    return [spec]


def _at_address(
    catalog: Catalog,
    request: RunConfig,
    labels: Sequence[str],
    address: re.Match[str],
    what: str,
) -> list[SystemSpec]:
    """Return an endpoint at an address, called as the other endpoints are: once for each layout,
    sampling and limits of theirs where it is a baseline."""
    name = catalog.proxy_system
    asked = (*request.systems, request.reader)
    endpoints = [step for system in asked for step in _steps(system) if step.name == name]
    free = [label for label in ("direct", address.group()) if label not in labels]
    label = address["label"] or free[0]
    shared = {
        key: value
        for spec in endpoints[:1]
        for key, value in spec.options.items()
        if key not in _OF_ONE_ENDPOINT
        and all(other.options.get(key) == value for other in endpoints)
    }
    sets = _distinct(catalog, endpoints) if what == "baseline" else [{}]
    varied = [key for key in CALL_OPTIONS if len({repr(given.get(key)) for given in sets}) > 1]
    specs = []
    for number, given in enumerate(sets):
        parts = [f"{key}={given.get(key)}" for key in varied] if number else []
        options = {**shared, **given, "base_url": address["url"]}
        specs.append(SystemSpec(name, options, ":".join([label, *parts])))
    return specs


def _distinct(catalog: Catalog, endpoints: Sequence[SystemSpec]) -> list[dict[str, Any]]:
    """Return the distinct layouts, samplings and limits that endpoints are called with, each as the
    options that were given."""
    distinct: dict[str, dict[str, Any]] = {}
    for spec in endpoints:
        given = {key.replace("-", "_"): value for key, value in spec.options.items()}
        asked = {name: given[name] for name in CALL_OPTIONS if name in given}
        system = SystemConfig(catalog, spec, label=spec.plain_label)
        found = {name: system.option(name) for name in CALL_OPTIONS}
        meant = {name: option[1] for name, option in found.items() if option is not None}
        distinct.setdefault(repr(sorted({**asked, **meant}.items())), asked)
    return list(distinct.values()) or [{}]


def _steps(system: Any) -> Iterator[SystemSpec]:
    """Yield a spec and those of the systems that it feeds; nothing of an object."""
    if isinstance(system, SystemSpec):
        yield system
        for step in system.steps:
            yield from _steps(step)


def _declared(catalog: Catalog, name: str) -> Mapping[str, Any]:
    """Return the options that a system declares; none where it takes any."""
    known = catalog.named("systems", name)
    if not known or not known[0].is_described or known[0].manifest.extra_options:
        return {}
    return known[0].manifest.options


def _filled(catalog: Catalog, system: Any, defaults: Mapping[str, Any]) -> Any:
    """Return a system with the shared options that it and its steps declare and do not give
    themselves."""
    if not defaults or not isinstance(system, SystemSpec):
        return system
    given = {key.replace("-", "_") for key in system.options}
    declared = _declared(catalog, system.name)
    shared = {
        name: value for name, value in defaults.items() if name in declared and name not in given
    }
    steps = tuple(_filled(catalog, step, defaults) for step in system.steps)
    return evolve(system, options={**shared, **system.options}, steps=steps)


def _check_defaults(catalog: Catalog, request: RunConfig) -> None:
    """Refuse a shared option that no system of the run has."""
    asked = [*request.systems, request.reader, request.baseline, request.reference]
    names = {step.name for system in asked for step in _steps(system)}
    for text in asked:
        if isinstance(text, str):
            names.add(text.partition("=")[2].partition(":")[0] or text)
    names.add(catalog.proxy_system)
    options = {option for name in names for option in _declared(catalog, name)}
    for name in request.system_defaults:
        if name not in options:
            raise UnknownNameError(
                "option of a system of this run, for systems.defaults,", name, options
            )
