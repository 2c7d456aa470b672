"""What a request leaves open until the catalog is known: shared options, and the systems that
baseline and reference add.

A baseline is called as the system that is compared with it is: with the same layout, sampling and
limits. So the address of an endpoint adds one baseline for each set of them that the other
endpoints have; ``LABEL:anything`` is the baseline ``LABEL`` with other parameters;
:func:`~context_bench.results.pairing.held_against` pairs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attrs import evolve

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import DatasetSpec, SystemSpec, parse_system, specs_in
from context_bench.plan.systems import followed, labels_of
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.options import read_option
from context_bench.results.pairing import ASKED

_ADDRESS = re.compile(r"(?:(?P<label>[^=:/]+)=)?(?P<url>https?://.+)", re.IGNORECASE)
_OF_ONE_ENDPOINT = ("base_url", "name")


def resolve_baselines(catalog: Catalog, request: RunConfig) -> RunConfig:
    """Return a request whose baseline and reference are labels of its systems; its specs hold what
    is shared, and no sweep.

    Raises:
        ContextBenchError: The baseline or the reference names nothing, or adds what cannot be set
            up.
    """
    defaults = request.system_defaults
    if defaults:
        _check_defaults(
            catalog,
            [*request.systems, request.reader, request.baseline, request.reference],
            defaults,
        )
    systems = [
        _filled(catalog, variant, defaults)
        for system in request.systems
        for variant in swept(catalog, system)
    ]
    reader = _filled(catalog, request.reader, defaults)
    systems, baseline = with_baseline(
        catalog, systems, reader, request.baseline, "baseline", defaults
    )
    systems, reference = with_baseline(
        catalog, systems, reader, request.reference, "reference", defaults
    )
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
    return evolve(
        request,
        systems=tuple(systems),
        system_defaults={},  # they are in the systems now, whose secrets are taken out
        reader=reader,
        baseline=baseline,
        reference=reference,
        datasets=datasets,
    )


def swept(catalog: Catalog, system: Any) -> Iterator[Any]:
    """Yield a system; where its spec gives an option that is a number several, with slashes between
    them, one for each.

    Of ``bm25:ratio=0.1/0.25/0.5`` come three systems, of two such options each pair.
    """
    given = system.options if isinstance(system, SystemSpec) else {}
    several = {
        key: value.split("/")
        for key, value in given.items()
        if isinstance(value, str) and "/" in value
    }
    options = _declared(catalog, system.name) if several else {}
    kinds = {key: getattr(options.get(key.replace("-", "_")), "type", None) for key in several}
    settings = [
        [(key, value) for value in several[key]]
        for key, kind in kinds.items()
        if kind in ("int", "float")
    ]
    for setting in map(dict, product(*settings)) if settings else ():
        label = system.label and SystemSpec(system.label, setting).text
        yield evolve(system, options={**given, **setting}, label=label)
    if not settings:
        yield system


def with_baseline(
    catalog: Catalog,
    systems: list[Any],
    reader: SystemSpec | None,
    baseline: Any,
    what: str,
    defaults: Mapping[str, Any],
) -> tuple[list[Any], str | None]:
    """Return the systems, the baseline among them, and its label.

    The baseline is the label of one of the systems, or the name of its component where only one has
    it. Anything else adds a system: a spec, a system object, or the address of an endpoint, which
    is then called as the other endpoints are: with the options that all of them share, and once for
    each layout, sampling and limits that they do not.

    Args:
        catalog: What is installed.
        systems: The systems as they were asked for, before a reader follows the transformers among
            them.
        reader: What follows each context transformer.
        baseline: The baseline as it was asked for; None for none.
        what: What it is called in errors.
        defaults: Options of systems that give none of their own.

    Raises:
        UnknownNameError: No system has that label, and it is no spec.
        ContextBenchError: The system that it adds cannot be set up.
    """
    if baseline is None:
        return systems, None
    labels = labels_of(catalog, followed(catalog, systems, reader))
    added = [baseline]
    if isinstance(baseline, str):
        label = _named(systems, labels, baseline)
        if label is None:
            specs = _specs(catalog, [*systems, reader], labels, baseline, what)
            added = [_filled(catalog, spec, defaults) for spec in specs]
    else:
        label = next((label for system, label in zip(systems, labels) if system is baseline), None)
    if label is not None:
        return systems, label
    labels = labels_of(catalog, followed(catalog, [*systems, *added], reader))
    return [*systems, *added], labels[len(systems)]


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


def _specs(
    catalog: Catalog, systems: Sequence[Any], labels: Sequence[str], text: str, what: str
) -> list[SystemSpec]:
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        endpoint = catalog.proxy_system
        endpoints = [
            step for system in systems for step in specs_in(system) if step.name == endpoint
        ]
        label = address["label"] or next(name for name in ("direct", text) if name not in labels)
        options = {
            key: value
            for spec in endpoints[:1]
            for key, value in spec.options.items()
            if key not in _OF_ONE_ENDPOINT
            and all(other.options.get(key) == value for other in endpoints)
        }
        sets = _distinct(catalog, endpoint, endpoints) if what == "baseline" else [{}]
        varied = [name for name in ASKED if len({repr(given.get(name)) for given in sets}) > 1]
        return [
            SystemSpec(
                endpoint,
                {**options, **given, "base_url": address["url"]},
                label
                if number == 0
                else ":".join([label, *(f"{name}={given.get(name)}" for name in varied)]),
            )
            for number, given in enumerate(sets)
        ]
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


def _distinct(
    catalog: Catalog, endpoint: str, endpoints: Sequence[SystemSpec]
) -> list[dict[str, Any]]:
    """Return the distinct layouts, samplings and limits that endpoints are called with, each as the
    options that were given."""
    declared = catalog.find("systems", endpoint).manifest.options
    distinct: dict[str, dict[str, Any]] = {}
    for spec in endpoints:
        given = {key.replace("-", "_"): value for key, value in spec.options.items()}
        asked = {name: given[name] for name in ASKED if name in given}
        meant = {name: option.default for name, option in declared.items() if name in ASKED}
        for name, value in asked.items():
            meant[name] = (
                read_option(declared[name], value, f"system {endpoint}")
                if name in declared
                else value
            )
        distinct.setdefault(repr(meant), asked)
    return list(distinct.values()) or [{}]


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


def _check_defaults(catalog: Catalog, systems: Sequence[Any], defaults: Mapping[str, Any]) -> None:
    """Refuse a shared option that no system of the run has."""
    names = [step.name for system in systems for step in specs_in(system)]
    names += [
        text.partition("=")[2].partition(":")[0] or text
        for text in systems
        if isinstance(text, str)
    ]
    options = {
        option for name in {*names, catalog.proxy_system} for option in _declared(catalog, name)
    }
    for name in defaults:
        if name not in options:
            raise UnknownNameError(
                "option of a system of this run, for systems.defaults,", name, options
            )
