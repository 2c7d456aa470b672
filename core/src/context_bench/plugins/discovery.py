"""Discovery: entry points and manifests become a :class:`Catalog`, and no plugin is imported.

Entry points are read once. The manifest in the folder of their package is read as text. Each
component is looked at alone, then with those that share or claim something.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from urllib.parse import unquote, urlsplit

import importlib_metadata
from attrs import evolve

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import (
    INVALID,
    PACKAGE,
    Component,
    Distribution,
    State,
    with_state,
)
from context_bench.plugins.conflicts import find_conflicts
from context_bench.plugins.manifest import KINDS
from context_bench.plugins.package import Package, locate
from context_bench.plugins.remedies import reinstallation
from context_bench.plugins.requirements import Requirements, normalize
from context_bench.plugins.settings import PluginSettings
from context_bench.plugins.sharing import bind_definitions, share_options
from context_bench.plugins.states import find_state

GROUP_PREFIX = "context_bench."


def discover(settings: PluginSettings | None = None) -> Catalog:
    """Return every installed component with its state.

    Args:
        settings: Which plugins may be used; None reads the environment only.
    """
    if settings is None:
        settings = PluginSettings.read(environ=os.environ)
    components: list[Component] = []
    names: set[str] = set()
    installed: dict[str, bool] = {}
    for metadata in importlib_metadata.Distribution.discover():
        try:
            if GROUP_PREFIX not in (metadata.read_text("entry_points.txt") or ""):
                continue
            headers = _headers(metadata)
            name = normalize(headers["Name"])
            if name in names:  # a second copy, after the one that Python imports
                continue
            names.add(name)
            requirements = Requirements.read(headers.get_all("Requires-Dist") or (), installed)
            distribution = Distribution(
                name=name,
                version=headers["Version"],
                location=str(metadata.locate_file("")),
                editable=_editable_source(metadata),
            )
            for package, component in _components(metadata, distribution):
                state = find_state(package, component, requirements, settings)
                components.append(with_state(component, state) if state else component)
        except Exception as error:  # noqa: BLE001 - a damaged distribution must not hide the others
            components.append(_unreadable(metadata, error, settings))
    kinds = [*KINDS, PACKAGE]
    components.sort(key=lambda component: (kinds.index(component.kind), component.id))
    shared = bind_definitions(share_options(components))
    return Catalog(find_conflicts(shared, settings))


def _headers(metadata: importlib_metadata.Distribution) -> Message:
    """Return the headers of the metadata of a distribution; the description below is not parsed."""
    text = metadata.read_text("METADATA") or metadata.read_text("PKG-INFO") or ""
    return HeaderParser().parsestr(text.partition("\n\n")[0])


def _components(
    metadata: importlib_metadata.Distribution, distribution: Distribution
) -> Iterator[tuple[Package, Component]]:
    """Yield the components that the entry points and the manifests of a distribution name, with
    their packages."""
    packages: dict[str, Package] = {}
    named: dict[tuple[str, str], tuple[Package, str]] = {}
    for point in metadata.entry_points:
        if not point.group.startswith(GROUP_PREFIX):
            continue
        name = point.value.partition(":")[0].strip().partition(".")[0]
        if name not in packages:
            packages[name] = locate(name)
        kind = point.group.removeprefix(GROUP_PREFIX)
        if kind in KINDS:
            named[kind, point.name] = packages[name], point.value
    for package in packages.values():
        if package.manifest is not None:
            for key in package.manifest.components:
                named.setdefault(key, (package, ""))
    for key, (package, target) in named.items():
        kind, short = key
        shipped = evolve(
            distribution,
            manifest_path=package.manifest_path,
            manifest_source=package.manifest_source,
            warnings=_warnings(package),
        )
        component = Component(kind, short, shipped, target)
        if package.manifest is not None:
            manifest = package.manifest.components.get(key)
            if manifest is not None:
                component = evolve(component, manifest=manifest, is_described=True)
        yield package, component


def _warnings(package: Package) -> tuple[str, ...]:
    warnings = package.manifest.warnings if package.manifest else ()
    return tuple(f"manifest: {warning}" for warning in warnings)


def _unreadable(
    metadata: importlib_metadata.Distribution, error: Exception, settings: PluginSettings
) -> Component:
    """Return the component that represents a distribution whose metadata cannot be read."""
    folder = str(getattr(metadata, "_path", "") or "an unknown place")
    name = normalize(os.path.basename(folder).partition("-")[0])
    component = Component(PACKAGE, name, Distribution(name, "?", folder), "")
    if blocked := settings.blocked_by(component.names):
        return with_state(component, blocked)
    reason = f"its metadata in {folder} cannot be read: {type(error).__name__}: {error}"
    return with_state(component, State(INVALID, reason, reinstallation(name)))


def _editable_source(metadata: importlib_metadata.Distribution) -> str | None:
    """Return the folder of the sources of an editable install, else None."""
    text = metadata.read_text("direct_url.json")
    if not text:
        return None
    origin = json.loads(text)
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return unquote(urlsplit(origin["url"]).path)
