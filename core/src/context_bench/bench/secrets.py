"""Secrets: what is taken out of a request before anything of it is kept or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.bench.parameters import DatasetSpec, SystemSpec
from context_bench.plugins.catalog import Catalog, Component
from context_bench.plugins.options import Option
from context_bench.secrecy import REDACTED, Secrecy, is_secret_name, redacted_url, secrets_in, secrets_of_url

if TYPE_CHECKING:
    from context_bench.bench.requests import Request

_ADDRESS = re.compile(r"\S+://\S+|[^\s/@:]+:[^\s/@]+@\S+")


def without_secrets(catalog: Catalog, kind: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that the manifest calls secret, and without what a URL says of its user."""
    found = catalog.named(kind, name)
    return _redacted(given, found[0].said.options if found else {})


def safe_spec(catalog: Catalog, spec: SystemSpec) -> SystemSpec:
    """Return a system spec, its steps included, without secrets."""
    steps = tuple(safe_spec(catalog, step) for step in spec.steps)
    return evolve(spec, options=without_secrets(catalog, "systems", spec.name, spec.options), steps=steps)


def secrecy_of(catalog: Catalog, request: Request) -> Secrecy:
    """Return what takes the secrets of a run out of texts.

    Known are the values of options that a manifest calls secret, the environment variables that such options name, and the
    credentials in addresses. What an object keeps to itself is known to nobody else.
    """
    given = [
        ("systems", step.name, step.options) for spec in (*request.systems, request.reader) for step in _steps(spec)
    ]
    given += [("datasets", one.name, one.options) for one in request.datasets if isinstance(one, DatasetSpec)]
    given += [("evaluators", name, values) for name, values in request.options.items()]
    found: list[str] = []
    for kind, name, values in given:
        found += secret_values(catalog.named(kind, name), values)
    for component in catalog:
        for option in component.said.options.values():
            value = os.environ.get(option.env) if option.env else None
            if option.secret and value:
                found += secrets_in(value)
    return Secrecy(found)


def secret_values(components: Iterable[Component], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the secrets among the options of a component."""
    declared: dict[str, Option] = {}
    for component in components:
        for name, option in component.said.options.items():
            if name not in declared or option.secret:
                declared[name] = option
    for name, value in options.items():
        if _is_secret(name.replace("-", "_"), declared):
            yield from secrets_in(value)
        else:
            yield from _told_in(value)


def _told_in(value: Any) -> Iterator[str]:
    """Yield the secrets in what is no secret itself: an address, or options of somebody else's that nobody declares."""
    if isinstance(value, str) and _ADDRESS.fullmatch(value):
        yield from secrets_of_url(value if "://" in value else f"//{value}")
    elif isinstance(value, Mapping):
        yield from secret_values((), {str(name): inner for name, inner in value.items()})
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _told_in(inner)


def _steps(spec: Any) -> Iterator[SystemSpec]:
    if isinstance(spec, SystemSpec):
        yield spec
        for step in spec.steps:
            yield from _steps(step)


def is_redacted(value: Any) -> bool:
    """Whether a secret was taken out of a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(is_redacted, value))
    return isinstance(value, str) and REDACTED in value


def _redacted(given: Mapping[str, Any], declared: Mapping[str, Option]) -> dict[str, Any]:
    return {
        key: REDACTED if _is_secret(key.replace("-", "_"), declared) else _plain(value) for key, value in given.items()
    }


def _is_secret(name: str, declared: Mapping[str, Option]) -> bool:
    """Whether an option holds a secret; one that its component does not declare is judged by its name."""
    return declared[name].secret if name in declared else is_secret_name(name)


def _plain(value: Any) -> Any:
    if isinstance(value, str) and ("://" in value or "@" in value):
        return redacted_url(value)
    if isinstance(value, Mapping):
        return _redacted(value, {})
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
