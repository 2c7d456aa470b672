"""Doctor: what is installed here, what state it is in, and what a run would lack.

Nothing is generated and nothing costs money: endpoints are asked for their list of models, and only those that the project
file or a flag names. Keys are looked for, and never shown.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from context_bench import __version__
from context_bench.catalog import Catalog, Component
from context_bench.config import RunConfig
from context_bench.console import stdout_aside
from context_bench.errors import PluginError
from context_bench_preflight.checks import ERROR, FINE, NOTE, STATES, WARNING, Check
from context_bench_preflight.endpoints import endpoint_checks
from context_bench_preflight.storage import disk_checks, sqlite_check

CORE = "context-bench"


def examine(
    catalog: Catalog,
    config: RunConfig,
    timeout: float | None,
    faults: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> dict[str, list[Check]]:
    """Return what there is to be said, by section.

    Args:
        catalog: What is installed.
        config: What the project file and the flags ask for.
        timeout: Seconds that an endpoint may take for its list of models; None asks none.
        faults: What is wrong with the project file.
        environ: Environment variables.
    """
    return {
        "installation": [
            *_python(),
            *_core(),
            *(Check("project file", ERROR, fault) for fault in faults),
        ],
        "plugins": list(_plugins(catalog, _used(config))),
        "keys": list(_keys(catalog, environ)),
        "endpoints": endpoint_checks(catalog, config, timeout) if timeout is not None else [],
        "storage": [sqlite_check(), *disk_checks()],
        "token counters": list(_counters(catalog)),
        "checks of plugins": list(_own_checks(catalog)),
    }


def _python() -> Iterator[Check]:
    found = platform.python_version()
    state = FINE if sys.version_info >= (3, 10) else ERROR
    yield Check(
        "Python",
        state,
        f"{found} ({sys.implementation.name}) on {platform.system()}, {sys.executable}",
    )


def _core() -> Iterator[Check]:
    yield Check(CORE, FINE, f"{__version__} in {_package_folder()}")
    found = list(_copies())
    for version, folder in found:
        if version.startswith("0."):
            yield Check(
                CORE,
                ERROR,
                f"the predecessor {version} is installed, too, in {folder}. It has the same import name, so either "
                f"may be imported. `pip uninstall {CORE}`, once for each, then install this one again.",
            )
        elif version != __version__:
            yield Check(
                CORE,
                WARNING,
                f"its metadata in {folder} says {version}: reinstall it.",
            )
    if not found:
        yield Check(
            CORE,
            WARNING,
            "it is not installed, only found on the path: its own metrics and reporters are missing.",
        )
    for folder in _others():
        yield Check(
            CORE,
            WARNING,
            f"another package of its name lies behind it on the path, in {folder}: remove it.",
        )


def _copies() -> Iterator[tuple[str, str]]:
    """Yield the version and folder of each installed copy of core."""
    from importlib.metadata import distributions

    for found in distributions(name=CORE):
        yield found.version, str(found.locate_file(""))


def _package_folder() -> str:
    import context_bench

    return os.path.dirname(os.path.dirname(os.path.realpath(context_bench.__file__)))


def _others() -> Iterator[str]:
    """Yield folders on the path that hold another ``context_bench`` than the one that runs."""
    ours = _package_folder()
    for entry in dict.fromkeys(os.path.realpath(entry or os.curdir) for entry in sys.path):
        if entry != ours and os.path.isfile(os.path.join(entry, "context_bench", "__init__.py")):
            yield entry


def _used(config: RunConfig) -> frozenset[str]:
    steps = [step for spec in config.systems for step in (spec, *spec.steps)]
    readers = [config.reader] if config.reader else []
    named = [spec.name for spec in (*steps, *readers)] + [spec.name for spec in config.datasets]
    return frozenset([*named, *(config.evaluators or ()), *config.add_evaluators, *config.options])


def _plugins(catalog: Catalog, used: frozenset[str]) -> Iterator[Check]:
    by_distribution: dict[Any, list[Component]] = {}
    for component in catalog:
        by_distribution.setdefault(component.distribution, []).append(component)
    for distribution in sorted(by_distribution, key=attrgetter("name")):
        components = by_distribution[distribution]
        fine = [component for component in components if component.state == "ok"]
        if fine:
            yield Check(distribution.name, FINE, f"{distribution.version}: {_brings(fine)}")
        for warning in distribution.warnings:
            yield Check(distribution.name, WARNING, warning)
        for component in components:
            if component.state == "ok":
                continue
            is_used = bool(used & component.names)
            is_no_matter = component.state == "blocked" or component.lacks_extra
            state = ERROR if is_used else NOTE if is_no_matter else WARNING
            needed = " The project uses it." if is_used else ""
            try:
                component.require_ok()
            except PluginError as error:
                yield Check(distribution.name, state, f"{error}{needed}")


def _brings(components: Sequence[Component]) -> str:
    kinds: dict[str, list[str]] = {}
    for component in components:
        kinds.setdefault(component.noun, []).append(component.name)
    return "; ".join(
        f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}" for noun, names in kinds.items()
    )


def _keys(catalog: Catalog, environ: Mapping[str, str]) -> Iterator[Check]:
    owners: dict[str, list[str]] = {}
    for component in catalog:
        if component.state != "ok" or not component.is_described:
            continue
        wanted = [option.env for option in component.manifest.options.values() if option.env]
        wanted += [
            name.removeprefix("env:") for name in component.capabilities if name.startswith("env:")
        ]
        for name in dict.fromkeys(wanted):
            owners.setdefault(name, []).append(component.name)
    for name, components in sorted(owners.items()):
        is_set = bool(environ.get(name, "").strip())
        yield Check(
            name,
            FINE if is_set else NOTE,
            f"{'set' if is_set else 'not set'}; for {', '.join(components)}",
        )


def _counters(catalog: Catalog) -> Iterator[Check]:
    yield Check(
        "words", FINE, "words and punctuation marks, used where an endpoint reports no tokens"
    )
    for component in catalog.of_kind("tokenizers"):
        yield Check(
            component.name,
            FINE if component.state == "ok" else WARNING,
            f"{component.state}, {component.id}",
        )


def _own_checks(catalog: Catalog) -> Iterator[Check]:
    """Yield what the ``doctor`` functions of plugins say, each distribution's once."""
    seen: dict[str, Component] = {}
    for component in catalog:
        name = component.distribution.name
        if (
            component.called_by_id().state != "ok"
            or name in seen
            or not component.distribution.manifest_source
        ):
            continue
        doctor = component.doctor()
        if doctor is not None:
            seen[name] = doctor
    for doctor in seen.values():
        loaded, check = doctor.examine()
        if loaded.state == "ok":
            yield from (Check(*line) for line in own_check(loaded, check))
        else:
            reason = f"its check cannot be loaded: {loaded.reason}."
            yield Check(loaded.distribution.name, ERROR, reason)


def own_check(component: Component, check: Any) -> list[tuple[str, str, str]]:
    """Return subject, state and text of what a package's own check says."""
    name = component.distribution.name
    try:
        return [_line(name, told) for told in _called(check)]
    except Exception as error:  # noqa: BLE001 - a plugin's own code; what it raises is what it has to say
        return [
            (name, ERROR, f"its check {component.target} failed: {type(error).__name__}: {error}")
        ]


def _called(check: Callable[[], Iterable[Any]]) -> list[Any]:
    with stdout_aside():
        return list(check())


def _line(name: str, told: Any) -> tuple[str, str, str]:
    subject, state, text = told
    if state not in STATES or not isinstance(subject, str) or not isinstance(text, str):
        raise ValueError(
            f"{told!r} is no (subject, state, text); the state is one of {', '.join(STATES)}"
        )
    return f"{name.removeprefix('context-bench-')} {subject}", state, " ".join(text.split())
