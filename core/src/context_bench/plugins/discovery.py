"""Discovery: entry points and manifests become a :class:`Catalog`, and no plugin is imported.

The top-level package of an entry point is located with ``find_spec`` - top-level names only, because looking for a dotted
name imports its parent - and the manifest in its folder is read as text.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from importlib_metadata import Distribution as Metadata
from importlib_metadata import PackageNotFoundError

from context_bench.plugins.catalog import (
    BLOCKED,
    INCOMPATIBLE,
    INVALID,
    MISSING_DEPENDENCY,
    PACKAGE,
    Catalog,
    Component,
    Distribution,
    install_line,
    reinstallation,
)
from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.conflicts import settle_contests, settle_definitions, settle_groups
from context_bench.plugins.manifest import FILE_NAME, Manifest, parse_manifest
from context_bench.plugins.settings import PluginSettings, switches

GROUP_PREFIX = "context_bench."
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*(?:;(.*))?", re.DOTALL)
_EXTRA = re.compile(r"""[\s(]*extra\s*==\s*["']([^"']+)["'][\s)]*""")

State = tuple[str, str, str]
"""State, reason and remedy."""


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
    for metadata in Metadata.discover():
        try:
            if GROUP_PREFIX not in (metadata.read_text("entry_points.txt") or ""):
                continue
            headers = metadata.metadata  # parsed at each access
            name = normalize(headers["Name"])
            if name in names:  # a second copy, behind the one that Python imports
                continue
            names.add(name)
            distribution = Distribution(
                name,
                headers["Version"],
                str(metadata.locate_file("")),
                _editable_source(metadata),
            )
            requirements = _Requirements(
                requirements_by_extra(headers.get_all("Requires-Dist") or ()), installed
            )
            components += _components(metadata, distribution, requirements, settings)
        except Exception as error:  # noqa: BLE001 - a damaged distribution must not hide the others
            components.append(_unreadable(metadata, error, settings))
    kinds = (*KINDS, PACKAGE)
    components.sort(key=lambda component: (kinds.index(component.kind), component.id))
    settled = settle_contests(settle_definitions(settle_groups(components)), settings)
    return Catalog(settled)


def _components(
    metadata: Metadata,
    distribution: Distribution,
    requirements: _Requirements,
    settings: PluginSettings,
) -> Iterator[Component]:
    """Yield the components of one distribution."""
    missing = requirements.state_without(None, distribution)
    packages: dict[str, _Package] = {}
    found: dict[tuple[str, str], tuple[str, _Package]] = {}
    for point in metadata.entry_points:
        if not point.group.startswith(GROUP_PREFIX):
            continue
        package = point.value.partition(":")[0].strip().partition(".")[0]
        if package not in packages:
            packages[package] = _Package.located(package, distribution)
        kind = point.group.removeprefix(GROUP_PREFIX)
        if kind in KINDS:
            found[kind, point.name] = (point.value, packages[package])
    for seen in packages.values():
        for key in seen.manifest.components if seen.manifest else ():
            found.setdefault(key, ("", seen))
    for key, (target, seen) in found.items():
        facts = seen.manifest.components.get(key) if seen.manifest else None
        component = Component(*key, seen.distribution, target, facts)
        block = settings.blocked_by(switches(component))
        state = (BLOCKED, *block) if block else missing or _state_of(component, seen)
        if state is None and facts is not None and facts.extra is not None:
            state = requirements.state_without(facts.extra, distribution)
            component = component._replace(lacks_extra=state is not None)
        yield component.with_state(*state) if state else component


def _unreadable(metadata: Metadata, error: Exception, settings: PluginSettings) -> Component:
    """Return the component that stands for a distribution whose metadata cannot be read."""
    folder = str(getattr(metadata, "_path", "") or "an unknown place")
    name = normalize(os.path.basename(folder).partition("-")[0])
    component = Component(PACKAGE, name, Distribution(name, "?", folder), "")
    if block := settings.blocked_by(component.names):
        return component.with_state(BLOCKED, *block)
    reason = f"its metadata in {folder} cannot be read: {type(error).__name__}: {error}"
    return component.with_state(INVALID, reason, reinstallation(name))


def _state_of(component: Component, seen: _Package) -> State | None:
    """Return what is wrong with a component, apart from requirements and blocking; None where nothing is."""
    kind, name = component.kind, component.distribution.name
    if not component.target and component.manifest.definition is None:
        why = f"its manifest describes it, but no entry point in {GROUP_PREFIX}{kind} names it"
        remedy = (
            f"add the entry point to {name}, or remove [{kind}.{component.name}] from its manifest"
        )
        return INVALID, why, remedy
    if not seen.exists:
        why = f"its entry point {component.target} names the package {seen.name}, which does not exist"
        return INVALID, why, f"reinstall {name}, or uninstall it: `pip uninstall {name}`"
    if seen.manifest is None:
        return None
    without = f"leave it out with --exclude {component.name}"
    if seen.manifest.incompatibility:
        upgrade = f"install a version of {name} that fits"
        if seen.manifest.is_newer:
            upgrade = "upgrade context-bench"
        return INCOMPATIBLE, seen.manifest.incompatibility, f"{upgrade}, or {without}"
    faults = [
        *seen.manifest.faults,
        *seen.manifest.component_faults.get((kind, component.name), ()),
    ]
    if not faults:
        return None
    count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
    report = f"report it to the authors of {name} (`context-bench plugins check {name}` shows all)"
    remedy = f"{report}, {without}, or uninstall it"
    return INVALID, f"its manifest has {count}: {faults[0]}", remedy


class _Package(NamedTuple):
    """A top-level package, as it can be seen without importing it."""

    name: str
    exists: bool
    distribution: Distribution
    manifest: Manifest | None = None

    @classmethod
    def located(cls, name: str, distribution: Distribution) -> _Package:
        """Return a package with its manifest, where it has one."""
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):  # ValueError: an imported module without a spec
            spec = None
        if spec is None:
            return cls(name, name in sys.modules, distribution)
        for folder in spec.submodule_search_locations or ():
            path = os.path.join(folder, FILE_NAME)
            try:
                with open(path, "rb") as file:
                    source = file.read()
            except FileNotFoundError:
                continue
            except OSError as error:
                fault = Manifest(faults=(f"cannot be read: {error.strerror}",))
                return cls(name, True, distribution._replace(manifest_path=path), fault)
            manifest = parse_manifest(source)
            described = distribution._replace(
                manifest_path=path,
                manifest_source=source,
                warnings=tuple(f"manifest: {warning}" for warning in manifest.warnings),
            )
            return cls(name, True, described, manifest)
        return cls(name, True, distribution)


def requirements_by_extra(lines: Iterable[str]) -> dict[str | None, list[str]]:
    """Return the names of required distributions, by the extra that requires them; None stands for none.

    Requirements with another marker than an extra are left to the import.

    Args:
        lines: Values of ``Requires-Dist``.

    Raises:
        ValueError: A line is not a requirement.
    """
    by_extra: dict[str | None, list[str]] = {}
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is None:
            raise ValueError(f"{line!r} is not a requirement")
        name, marker = match.groups()
        extra = _EXTRA.fullmatch(marker) if marker else None
        if marker is None or extra is not None:
            by_extra.setdefault(normalize(extra[1]) if extra else None, []).append(name)
    return by_extra


def requirement_names(lines: Iterable[str]) -> dict[str, bool]:
    """Return the names of required distributions, and whether each is required without any marker."""
    names: dict[str, bool] = {}
    for line in lines:
        if match := _REQUIREMENT.match(line):
            name, marker = match.groups()
            names[name] = names.get(name, False) or marker is None
    return names


class _Requirements(NamedTuple):
    """What a distribution requires.

    Attributes:
        by_extra: Names of distributions, by extra.
        installed: Which names were found to be installed; shared by all distributions.
    """

    by_extra: dict[str | None, list[str]]
    installed: dict[str, bool]

    def state_without(self, extra: str | None, distribution: Distribution) -> State | None:
        """Return the state of a component that needs an extra; None where everything is installed."""
        required = self.by_extra.get(None if extra is None else normalize(extra), ())
        missing = [name for name in required if not self._is_installed(normalize(name))]
        if not missing:
            return None
        verb = "is" if len(missing) == 1 else "are"
        command = _install_command(missing)
        if extra is not None:
            command = f'pip install "{distribution.name}[{extra}]"'
        why = f"it requires {', '.join(missing)}, which {verb} not installed"
        return MISSING_DEPENDENCY, why, f"`{command}`"

    def _is_installed(self, name: str) -> bool:
        if name not in self.installed:
            try:
                Metadata.from_name(name)
            except PackageNotFoundError:
                self.installed[name] = False
            else:
                self.installed[name] = True
        return self.installed[name]


def _install_command(missing: list[str]) -> str:
    """Return the command that installs what is missing, the project's own packages from a checkout."""
    from context_bench.plugins.first_party import COMPONENTS, NEEDS

    first_party = {home for named in COMPONENTS.values() for _, home in named.values()}
    first_party.update(*map(str.split, NEEDS.values()))
    local = [name for name in missing if name in first_party]
    line = install_line(*local) if local else "pip install"
    return " ".join([line, *(name for name in missing if name not in local)])


def _editable_source(metadata: Metadata) -> str | None:
    """Return the folder of the sources of an editable install, else None."""
    text = metadata.read_text("direct_url.json")
    if not text:
        return None
    origin = json.loads(text)
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return unquote(urlsplit(origin["url"]).path)


def normalize(name: str) -> str:
    """Return the name of a distribution in its normal form: lower case, with single dashes."""
    return re.sub(r"[-_.]+", "-", name).lower()


_remembered: list[tuple[object, Catalog]] = []


def remembered_catalog(settings: PluginSettings) -> Catalog:
    """Return what :func:`discover` returns, without looking again in this process where nothing has changed.

    The folders of the path, the finders of modules, and the manifests decide whether something has.
    """
    surroundings = settings, tuple(sys.path), [id(finder) for finder in sys.meta_path], os.getcwd()
    for known, catalog in _remembered:
        if known == (surroundings, _stamps(catalog)):
            return catalog
    catalog = discover(settings)
    _remembered[:] = [((surroundings, _stamps(catalog)), catalog)]
    return catalog


def _stamps(catalog: Catalog) -> list[tuple[int, int] | None]:
    """Return time stamp and size of the folders of the path, and of the manifests of a catalog."""
    manifests = {component.distribution.manifest_path for component in catalog}
    stamps: list[tuple[int, int] | None] = []
    for path in [*sys.path, *sorted(filter(None, manifests))]:
        try:
            status = os.stat(path or os.curdir)
            stamps.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamps.append(None)
    return stamps
