"""Discovery: entry points and manifests become a :class:`Catalog`, and no plugin is imported.

Each entry point's top-level package is located with ``find_spec`` - top-level names only, because looking for a dotted
name imports its parent - and the manifest beside its ``__init__.py`` is read as text. So a plugin that raises at import,
or hangs, or is malware, costs the same as any other until a run needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from context_bench.plugins.cards import settle_cards
from context_bench.plugins.catalog import (
    BLOCKED,
    CONFLICT,
    INCOMPATIBLE,
    INVALID,
    MISSING_DEPENDENCY,
    OK,
    PACKAGE,
    Catalog,
    Component,
    Distribution,
    reinstallation,
)
from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.installed import (
    GROUP_PREFIX,
    Copy,
    UnreadableDistributionError,
    UnreadableFileError,
    copies,
    distribution_sources,
    installed_distributions,
    is_name,
    is_target,
    missing_requirements,
    path_sources,
    read_small_file,
)
from context_bench.plugins.manifest import FILE_NAME, Manifest, parse_manifest
from context_bench.plugins.ownership import settle_contests, settle_groups
from context_bench.plugins.settings import CORE, CURRENT_DIRECTORY_VARIABLE, PluginSettings

Verdict = tuple[str, str, str]
"""State, reason and remedy."""


def discover(settings: PluginSettings | None = None) -> Catalog:
    """Return every installed component with its state.

    Args:
        settings: What may be used; None reads the environment alone.
    """
    if settings is None:
        settings = PluginSettings.read(environ=os.environ)
    installed = installed_distributions()
    found: list[Component] = []
    sources = path_sources()
    for name, distributions in installed.items():
        components = _behind_a_border(name, distributions, installed, settings, sources)
        sources += distribution_sources(distributions, bool(components))
        found += components
    found.sort(key=lambda component: ((*KINDS, PACKAGE).index(component.kind), component.id))
    return Catalog(settle_contests(settle_cards(settle_groups(found)), settings), sources)


def _behind_a_border(
    name: str, distributions: list[Copy], installed: Mapping[str, object], settings: PluginSettings, sources: list[str]
) -> list[Component]:
    """Return the components of one distribution; whatever goes wrong there is told of it alone, and hides nobody else."""
    try:
        if not any(copy.entry_points() for copy in distributions):
            return []
        if is_name(name):
            return list(_components(name, distributions, installed, settings, sources))
        reason = f"{distributions[0].place!r} is named after no distribution"
    except UnreadableDistributionError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - files of somebody else's
        reason = f"looking at it raised {type(error).__name__}: {error}"
    used = distributions[0]
    found = Component(PACKAGE, name, Distribution(name, used.version, used.folder), "")
    block = settings.blocked_by(found.names)
    remedy = reinstallation(name) if is_name(name) else "remove that folder: no installer made it"
    return [found.with_state(BLOCKED, *block) if block else found.with_state(INVALID, reason, remedy)]


class _Package(NamedTuple):
    """A top-level package as it can be seen without importing it."""

    exists: bool
    distribution: Distribution
    manifest: Manifest | None = None
    elsewhere: str | None = None


def _components(
    name: str, distributions: list[Copy], installed: Mapping[str, object], settings: PluginSettings, sources: list[str]
) -> Iterator[Component]:
    every = copies(distributions)
    trusted = [copy for copy in every if settings.allow_current_directory or not _is_here(copy.folder)]
    used = (trusted or every)[0]
    source = used.editable_source()
    distribution, verdict = _judge_copies(Distribution(name, used.version, used.folder, source), trusted)
    if verdict is None:
        verdict = _judge_requirements(used, installed)
    packages: dict[str, _Package] = {}
    listed: set[tuple[str, str]] = set()
    for point in used.entry_points():
        key = point.group.removeprefix(GROUP_PREFIX), point.name
        package = point.value.partition(":")[0].strip().partition(".")[0]
        if package not in packages:
            packages[package] = _look_at(package, distribution, used, sources)
        if key[0] in KINDS and key not in listed:
            listed.add(key)
            facts = packages[package].manifest
            component = Component(
                *key, packages[package].distribution, point.value, facts.components.get(key) if facts else None
            )
            component = _judge(component, package, packages[package], verdict, settings)
            yield _judge_extra(component, used, installed)
    for package, seen in packages.items():
        for key, facts_of_key in seen.manifest.components.items() if seen.manifest else ():
            if key not in listed:
                component = Component(*key, seen.distribution, "", facts_of_key)
                needless = facts_of_key.card is not None  # its loader's entry point is used
                yield _judge(
                    component,
                    package,
                    seen,
                    verdict or (None if needless else _not_an_entry_point(component)),
                    settings,
                )


def _judge(
    component: Component, package: str, seen: _Package, verdict: Verdict | None, settings: PluginSettings
) -> Component:
    name, manifest = component.distribution.name, seen.manifest
    names = component.names
    if component.kind == "flags":  # a group may be called as a component is, and serves all that are allowed
        names = names - {component.name} | {CORE}
    block = settings.blocked_by(names)
    if block is not None:
        return component.with_state(BLOCKED, *block)
    if verdict is not None:
        return component.with_state(*verdict)
    if not is_name(component.name):
        told = f"{component.name[:80]!r} is no name: it begins with a letter or digit, and has only those, '-', '_' and '.'"
        return component.with_state(
            INVALID, told, f"tell the authors of {name}, or uninstall it: `pip uninstall {name}`"
        )
    if not seen.exists:
        return component.with_state(
            INVALID,
            f"its entry point {component.target} names the package {package}, which is not there",
            f"reinstall {name}, or uninstall it: `pip uninstall {name}`",
        )
    if seen.elsewhere is not None:
        return component.with_state(
            CONFLICT,
            f"its entry point {component.target} names the package {package}, but what Python finds under that name, in "
            f"{seen.elsewhere}, is none of its files",
            f"uninstall it (`pip uninstall {name}`), or take {seen.elsewhere} off Python's path",
        )
    if not is_target(component.target) and component.target:
        return component.with_state(
            INVALID, f"its entry point {component.target!r} is no module:attribute", reinstallation(name)
        )
    if manifest is None:
        return component
    if manifest.incompatibility:
        newer = "upgrade context-bench" if manifest.is_newer else f"install a version of {name} that fits"
        return component.with_state(
            INCOMPATIBLE, manifest.incompatibility, f"{newer}, or leave it out with --without {component.name}"
        )
    faults = [*manifest.faults, *manifest.component_faults.get((component.kind, component.name), ())]
    if faults:
        return component.with_state(
            INVALID,
            f"its manifest has {'a fault' if len(faults) == 1 else f'{len(faults)} faults'}: {faults[0]}",
            f"tell the authors of {name} (`context-bench plugins check {name}` shows everything), leave it out with "
            f"--without {component.name}, or uninstall it",
        )
    return component


def _judge_copies(distribution: Distribution, trusted: list[Copy]) -> tuple[Distribution, Verdict | None]:
    name = distribution.name
    if not trusted:
        return distribution, (
            BLOCKED,
            "it was found in the current directory, not among the installed packages",
            f"install it (`pip install .`), or trust this directory with {CURRENT_DIRECTORY_VARIABLE}=1",
        )
    if len(trusted) == 1:
        return distribution, None
    places = " and ".join(f"{copy.version} in {copy.folder}" for copy in trusted)
    if len({copy.version for copy in trusted}) > 1:
        return distribution, (
            CONFLICT,
            f"it is installed {len(trusted)} times with different versions: {places}",
            f"uninstall all of them (`pip uninstall {name}`, once for each), then install one",
        )
    twice = f"installed {len(trusted)} times: {places}; the first is used, `pip uninstall {name}` removes one"
    return distribution._replace(warnings=(twice,)), None


def _judge_requirements(used: Copy, installed: Mapping[str, object], extra: str | None = None) -> Verdict | None:
    try:
        missing = missing_requirements(used, installed, extra)
    except UnreadableDistributionError as error:
        return INVALID, str(error), reinstallation(used.name)
    if not missing:
        return None
    are = "is" if len(missing) == 1 else "are"
    wanted = " ".join(missing) if extra is None else f'"{used.name}[{extra}]"'
    return (
        MISSING_DEPENDENCY,
        f"it requires {', '.join(missing)}, which {are} not installed",
        f"`pip install {wanted}`",
    )


def _judge_extra(component: Component, used: Copy, installed: Mapping[str, object]) -> Component:
    extra = component.facts.extra if component.facts else None
    verdict = _judge_requirements(used, installed, extra) if extra is not None and component.state == OK else None
    return component.with_state(*verdict)._replace(lacks_extra=True) if verdict else component


def _not_an_entry_point(component: Component) -> Verdict:
    kind, name = component.kind, component.name
    return (
        INVALID,
        f"its manifest describes it, but no entry point in {GROUP_PREFIX}{kind} names it",
        f"add the entry point to {component.distribution.name}, or take [{kind}.{name}] out of its manifest",
    )


def _look_at(package: str, distribution: Distribution, copy: Copy, sources: list[str]) -> _Package:
    exists, places = _find(package)
    sources += [place for place in (os.path.join(place, package) for place in sys.path) if os.path.isdir(place)]
    own = [place for place in places if copy.owns(package, place)]
    if places and not own:
        return _Package(exists, distribution, elsewhere=places[0])
    for folder in own:
        path = os.path.join(folder, FILE_NAME)
        sources += [folder, path]
        try:
            source = read_small_file(path)
        except UnreadableFileError as error:
            fault = Manifest(faults=(f"unreadable: {error}",))
            return _Package(exists, distribution._replace(manifest_path=path), fault)
        if source is None:
            continue
        if not copy.ships(package, FILE_NAME):
            note = f"{path} is none of the files that it was installed with, and is not read"
            return _Package(exists, distribution._replace(warnings=(*distribution.warnings, note)))
        manifest = parse_manifest(source)
        warnings = (*distribution.warnings, *(f"manifest: {warning}" for warning in manifest.warnings))
        found = distribution._replace(manifest_path=path, manifest_source=source, warnings=warnings)
        return _Package(exists, found, manifest)
    return _Package(exists, distribution)


def _find(package: str) -> tuple[bool, list[str]]:
    """Return whether there is a top-level package, and its folders; of a single module, the file."""
    if package in sys.modules:
        found = sys.modules[package]
        return True, [*getattr(found, "__path__", ())] or list(filter(None, [getattr(found, "__file__", None)]))
    from importlib.util import find_spec

    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        return False, []
    return True, [*(spec.submodule_search_locations or ([spec.origin] if spec.has_location and spec.origin else []))]


def _is_here(folder: str) -> bool:
    """Whether a folder is the current directory, and no place where packages are installed."""
    try:
        if not os.path.samefile(folder, os.curdir):
            return False
    except OSError:
        return False
    import site

    places = {os.path.realpath(place) for place in (*site.getsitepackages(), site.getusersitepackages())}
    return os.path.realpath(folder) not in places
