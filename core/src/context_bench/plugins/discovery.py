"""Discovery: entry points and manifests become a :class:`Catalog`, and no plugin is imported.

The top-level package of an entry point is located with ``find_spec`` - top-level names only, because looking for a dotted
name imports its parent - and the manifest in its folder is read as text.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

import importlib_metadata
from attrs import evolve, frozen

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import (
    INCOMPATIBLE,
    INVALID,
    PACKAGE,
    Component,
    Distribution,
    State,
    definition_of,
    with_state,
)
from context_bench.plugins.conflicts import find_conflicts
from context_bench.plugins.manifest import FILE_NAME, KINDS, PluginManifest, parse_manifest
from context_bench.plugins.manifest_reader import Fault
from context_bench.plugins.remedies import reinstallation
from context_bench.plugins.requirements import Requirements, normalize
from context_bench.plugins.settings import PluginSettings, switches
from context_bench.plugins.sharing import bind_definitions, share_options

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
            headers = metadata.metadata  # parsed at each access
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
                state = _state(package, component, requirements, settings)
                components.append(with_state(component, state) if state else component)
        except Exception as error:  # noqa: BLE001 - a damaged distribution must not hide the others
            components.append(_unreadable(metadata, error, settings))
    kinds = [*KINDS, PACKAGE]
    components.sort(key=lambda component: (kinds.index(component.kind), component.id))
    shared = bind_definitions(share_options(components))
    return Catalog(find_conflicts(shared, settings))


@frozen
class _Package:
    """A top-level package, as it can be seen without importing it.

    Attributes:
        name: Its name.
        exists: Whether Python can import it.
        manifest_path: File of its manifest; None when it has none.
        manifest_source: Bytes of the manifest.
        manifest: What the manifest declares; None when it has none.
    """

    name: str
    exists: bool
    manifest_path: str | None = None
    manifest_source: bytes = b""
    manifest: PluginManifest | None = None


def _components(
    metadata: importlib_metadata.Distribution, distribution: Distribution
) -> Iterator[tuple[_Package, Component]]:
    """Yield the components that the entry points and the manifests of a distribution name, with their packages."""
    packages: dict[str, _Package] = {}
    named: dict[tuple[str, str], tuple[_Package, str]] = {}
    for point in metadata.entry_points:
        if not point.group.startswith(GROUP_PREFIX):
            continue
        name = point.value.partition(":")[0].strip().partition(".")[0]
        if name not in packages:
            packages[name] = _locate(name)
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


def _warnings(package: _Package) -> tuple[str, ...]:
    warnings = package.manifest.warnings if package.manifest else ()
    return tuple(f"manifest: {warning}" for warning in warnings)


def _locate(name: str) -> _Package:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # ValueError: an imported module without a spec
        spec = None
    if spec is None:
        return _Package(name, exists=name in sys.modules)
    for folder in spec.submodule_search_locations or ():
        path = os.path.join(folder, FILE_NAME)
        try:
            with open(path, "rb") as file:
                source = file.read()
        except FileNotFoundError:
            continue
        except OSError as error:
            fault = Fault((), "unreadable", f"cannot be read: {error.strerror}")
            manifest = PluginManifest(faults=(fault,))
            return _Package(name, exists=True, manifest_path=path, manifest=manifest)
        return _Package(
            name,
            exists=True,
            manifest_path=path,
            manifest_source=source,
            manifest=parse_manifest(source),
        )
    return _Package(name, exists=True)


def _state(
    package: _Package, component: Component, requirements: Requirements, settings: PluginSettings
) -> State | None:
    """Return the state of a component, looked at alone; None when it is ok."""
    distribution = component.distribution.name
    state = (
        settings.blocked_by(switches(component))
        or requirements.state_without(None, distribution)
        or _fault(package, component)
    )
    if state is None and component.manifest.extra is not None:
        return requirements.state_without(component.manifest.extra, distribution)
    return state


def _fault(package: _Package, component: Component) -> State | None:
    """Return what is wrong with a component itself; None when nothing is."""
    kind = component.kind
    name = component.distribution.name
    without = f"leave it out with --exclude {component.name}"
    manifest = package.manifest or PluginManifest()
    if manifest.incompatibility:
        upgrade = "upgrade context-bench" if manifest.is_newer else f"install another {name}"
        return State(INCOMPATIBLE, manifest.incompatibility, f"{upgrade}, or {without}")
    if faults := manifest.faults_of(kind, component.name):
        count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        report = (
            f"report it to the authors of {name} (`context-bench plugins check {name}` shows all)"
        )
        reason = f"its manifest has {count}: {faults[0]}"
        return State(INVALID, reason, f"{report}, {without}, or uninstall it")
    if not component.target and definition_of(component) is None:
        reason = f"its manifest describes it, but no entry point in {GROUP_PREFIX}{kind} names it"
        table = f"[{kind}.{component.name}]"
        remedy = f"add the entry point to {name}, or remove {table} from its manifest"
        return State(INVALID, reason, remedy)
    if not package.exists:
        reason = f"its entry point {component.target} names the package {package.name}, which does not exist"
        return State(INVALID, reason, f"reinstall {name}, or uninstall it: `pip uninstall {name}`")
    return None


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
