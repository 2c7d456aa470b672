"""Discovery: entry points and manifests become a :class:`Catalog`, and no plugin is imported.

Each entry point's top-level package is located with ``find_spec`` - top-level names only, because looking for a dotted
name imports its parent - and the manifest beside its ``__init__.py`` is read as text. So a plugin that raises at import,
or hangs, or is malware, costs the same as any other until a run needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from time import time_ns
from typing import Any, NamedTuple

from context_bench.plugins.catalog import (
    BLOCKED,
    CONFLICT,
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
from context_bench.plugins.installed import (
    GROUP_PREFIX,
    Copy,
    UnreadableFileError,
    copies,
    distribution_sources,
    installed_distributions,
    is_name,
    is_target,
    missing_requirements,
    normalise,
    path_sources,
    read_small_file,
)
from context_bench.plugins.manifest import FILE_NAME, Manifest, parse_manifest
from context_bench.plugins.ownership import settle_cards, settle_contests, settle_groups
from context_bench.plugins.settings import CURRENT_DIRECTORY_VARIABLE, PluginSettings, switches

_UNSETTLED = 2_000_000_000
"""Nanoseconds for which a changed file may change again without a new time stamp: file systems count in ticks of up to 2 s."""

_remembered: list[tuple[Any, Catalog]] = []
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


def remembered_catalog(settings: PluginSettings) -> Catalog:
    """Return what :func:`discover` returns, without looking where nothing has changed.

    A catalog is taken again when the settings, ``sys.path``, the working directory, the finders of modules, and the time
    stamps of every folder in the path, of every manifest and of every plugin's metadata are as they were. What changed a
    moment before the discovery may change again within one tick of the file system's clock, so such a catalog is never
    taken again.
    """
    surroundings = settings, tuple(sys.path), [id(finder) for finder in sys.meta_path], os.getcwd()
    for before, catalog in _remembered:
        if before == (surroundings, _stamps(catalog)):
            return catalog
    started = time_ns()
    catalog = discover(settings)
    stamps = _stamps(catalog)
    _remembered.clear()
    if max((stamp[0] for stamp in stamps if stamp), default=0) < started - _UNSETTLED:
        _remembered.append(((surroundings, stamps), catalog))
    return catalog


def _stamps(catalog: Catalog) -> list[tuple[int, int, int, int] | None]:
    """Return size, time stamps and inode of every file and folder that a catalog was made of."""
    found: list[tuple[int, int, int, int] | None] = []
    for source in catalog.sources:
        try:
            now = os.stat(source or os.curdir)
            found.append((now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino))
        except (OSError, ValueError):
            found.append(None)
    return found


def _behind_a_border(
    name: str,
    distributions: list[Copy],
    installed: Mapping[str, object],
    settings: PluginSettings,
    sources: list[str],
) -> list[Component]:
    """Return the components of one distribution; whatever goes wrong there is told of it alone, and hides nobody else."""
    try:
        if not any(copy.entry_points() for copy in distributions):
            return []
        if is_name(name):
            return list(_components(name, distributions, installed, settings, sources))
        reason = f"{distributions[0].place!r} is named after no distribution"
    except UnreadableFileError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - files of somebody else's
        reason = f"looking at it raised {type(error).__name__}: {error}"
    used = distributions[0]
    found = Component(PACKAGE, name, Distribution(name, used.version, used.folder), "")
    block = settings.blocked_by(found.names)
    remedy = reinstallation(name) if is_name(name) else "remove that folder: no installer made it"
    return [
        found.with_state(BLOCKED, *block) if block else found.with_state(INVALID, reason, remedy)
    ]


class _Package(NamedTuple):
    """A top-level package as it can be seen without importing it."""

    name: str
    exists: bool
    distribution: Distribution
    manifest: Manifest | None = None
    elsewhere: str | None = None


def _components(
    name: str,
    distributions: list[Copy],
    installed: Mapping[str, object],
    settings: PluginSettings,
    sources: list[str],
) -> Iterator[Component]:
    every = copies(distributions)
    trusted = [
        copy for copy in every if settings.allow_current_directory or not _is_here(copy.folder)
    ]
    used = (trusted or every)[0]
    distribution = Distribution(name, used.version, used.folder, used.editable_source())
    distribution, verdict = _judge_copies(distribution, trusted)
    verdict = verdict or _judge_name(used) or _judge_requirements(used, installed)
    packages: dict[str, _Package] = {}
    found: dict[tuple[str, str], tuple[str, _Package]] = {}
    told = [copy for copy in trusted if verdict] or [
        used
    ]  # what is in conflict is told whoever brings it
    for kind, point, target in (point for copy in told for point in copy.entry_points()):
        package = target.partition(":")[0].strip().partition(".")[0]
        if package not in packages:
            packages[package] = _look_at(package, distribution, used, sources)
        if kind in KINDS:
            found.setdefault((kind, point), (target, packages[package]))
    for seen in packages.values():
        for key in seen.manifest.components if seen.manifest else ():
            found.setdefault(key, ("", seen))
    for key, (target, seen) in found.items():
        facts = seen.manifest.components.get(key) if seen.manifest else None
        component = Component(*key, seen.distribution, target, facts)
        state = _judge(component, seen, verdict, settings)
        if state is None and facts is not None and facts.extra is not None:
            state = _judge_requirements(used, installed, facts.extra)
            component = component._replace(lacks_extra=state is not None)
        yield component.with_state(*state) if state else component


def _judge(
    component: Component, seen: _Package, verdict: Verdict | None, settings: PluginSettings
) -> Verdict | None:
    """Return what is wrong with a component; None where nothing is.

    Args:
        component: The component.
        seen: Its package.
        verdict: What is wrong with its distribution.
        settings: What may be used.
    """
    kind, target, name, manifest = (
        component.kind,
        component.target,
        component.distribution.name,
        seen.manifest,
    )
    if block := settings.blocked_by(switches(component)):
        return BLOCKED, *block
    if verdict is not None:
        return verdict
    if (
        not target and component.manifest.definition is None
    ):  # of a card, its loader's entry point is used
        why = f"its manifest describes it, but no entry point in {GROUP_PREFIX}{kind} names it"
        return (
            INVALID,
            why,
            f"add the entry point to {name}, or take [{kind}.{component.name}] out of its manifest",
        )
    removal = f"uninstall it: `pip uninstall {name}`"
    if not is_name(component.name):
        told = f"{component.name[:80]!r} is no name: it begins with a letter or digit, and has only those, '-', '_' and '.'"
        return INVALID, told, f"tell the authors of {name}, or {removal}"
    if not seen.exists:
        why = f"its entry point {target} names the package {seen.name}, which is not there"
        return INVALID, why, f"reinstall {name}, or {removal}"
    if seen.elsewhere is not None:
        why = f"its entry point {target} names the package {seen.name}, but what Python finds under that name, in "
        why += f"{seen.elsewhere}, is none of its files"
        return (
            CONFLICT,
            why,
            f"uninstall it (`pip uninstall {name}`), or take {seen.elsewhere} off Python's path",
        )
    if target and not is_target(target):
        return INVALID, f"its entry point {target!r} is no module:attribute", reinstallation(name)
    if manifest is None:
        return None
    without = f"leave it out with --exclude {component.name}"
    if manifest.incompatibility:
        newer = (
            "upgrade context-bench"
            if manifest.is_newer
            else f"install a version of {name} that fits"
        )
        return INCOMPATIBLE, manifest.incompatibility, f"{newer}, or {without}"
    faults = [*manifest.faults, *manifest.component_faults.get((kind, component.name), ())]
    if not faults:
        return None
    why = f"its manifest has {'a fault' if len(faults) == 1 else f'{len(faults)} faults'}: {faults[0]}"
    shown = f"tell the authors of {name} (`context-bench plugins check {name}` shows everything)"
    return INVALID, why, f"{shown}, {without}, or uninstall it"


def _judge_copies(
    distribution: Distribution, trusted: list[Copy]
) -> tuple[Distribution, Verdict | None]:
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


def _judge_name(used: Copy) -> Verdict | None:
    """Return what is wrong where METADATA, which says what an installer installed, and its folder name two distributions."""
    said = used.header("Name")
    if not said or normalise(said) == used.name:
        return None
    return (
        INVALID,
        f"its METADATA is that of {said[:80]!r}",
        f"remove {used.place}: no installer made it",
    )


def _judge_requirements(
    used: Copy, installed: Mapping[str, object], extra: str | None = None
) -> Verdict | None:
    try:
        missing = missing_requirements(used, installed, extra)
    except UnreadableFileError as error:
        return INVALID, str(error), reinstallation(used.name)
    if not missing:
        return None
    are = "is" if len(missing) == 1 else "are"
    wanted = _installation(missing) if extra is None else f'pip install "{used.name}[{extra}]"'
    return (
        MISSING_DEPENDENCY,
        f"it requires {', '.join(missing)}, which {are} not installed",
        f"`{wanted}`",
    )


def _installation(missing: list[str]) -> str:
    """Return the command that installs what is missing, the project's own packages from a checkout."""
    from context_bench.plugins.first_party import COMPONENTS, NEEDS

    bring = {distribution for named in COMPONENTS.values() for _, distribution in named.values()}
    own = [name for name in missing if name in bring.union(*map(str.split, NEEDS.values()))]
    line = install_line(*own) if own else "pip install"
    return " ".join([line, *(name for name in missing if name not in own)])


def _look_at(package: str, distribution: Distribution, copy: Copy, sources: list[str]) -> _Package:
    exists, places = _find(package)
    seen = _Package(package, exists, distribution)
    sources += [
        place
        for place in (os.path.join(place, package) for place in sys.path)
        if os.path.isdir(place)
    ]
    own = [place for place in places if copy.owns(package, place)]
    if exists and not own:
        return seen._replace(elsewhere=places[0] if places else "the interpreter itself")
    for folder in own:
        path = os.path.join(folder, FILE_NAME)
        sources += [folder, path]
        try:
            source = read_small_file(path)
        except UnreadableFileError as error:
            fault = Manifest(faults=(f"unreadable: {error}",))
            return seen._replace(
                distribution=distribution._replace(manifest_path=path), manifest=fault
            )
        if source is None:
            continue
        if not copy.ships(package, FILE_NAME):
            note = f"{path} is none of the files that it was installed with, and is not read"
            return seen._replace(
                distribution=distribution._replace(warnings=(*distribution.warnings, note))
            )
        manifest = parse_manifest(source)
        warnings = (
            *distribution.warnings,
            *(f"manifest: {warning}" for warning in manifest.warnings),
        )
        found = distribution._replace(manifest_path=path, manifest_source=source, warnings=warnings)
        return seen._replace(distribution=found, manifest=manifest)
    return seen


def _find(package: str) -> tuple[bool, list[str]]:
    """Return whether there is a top-level package, and its folders; of a single module, the file."""
    if package in sys.modules:
        found = sys.modules[package]
        return True, [*getattr(found, "__path__", ())] or list(
            filter(None, [getattr(found, "__file__", None)])
        )
    from importlib.util import find_spec

    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        return False, []
    return True, [
        *(
            spec.submodule_search_locations
            or ([spec.origin] if spec.has_location and spec.origin else [])
        )
    ]


def _is_here(folder: str) -> bool:
    """Whether a folder is the current directory, and no place where packages are installed."""
    try:
        if not os.path.samefile(folder, os.curdir):
            return False
    except OSError:
        return False
    import site

    places = {
        os.path.realpath(place) for place in (*site.getsitepackages(), site.getusersitepackages())
    }
    return os.path.realpath(folder) not in places
