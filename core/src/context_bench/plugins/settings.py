"""Which plugins may be used: the command line beats the environment, which beats the project file.

Each layer switches names on or off and may hold an allow-list; a later layer decides only the names
that it mentions. A name is a short name (``rouge``), a canonical id (``context-bench-rouge/rouge``)
or a distribution. An allow-list is about plugins: what core itself brings can only be switched off
by its name.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.component import BLOCKED, Component, State

DISABLE_VARIABLE = "CONTEXT_BENCH_DISABLE_PLUGINS"
ALLOW_VARIABLE = "CONTEXT_BENCH_PLUGINS"
CORE = "context-bench"

PROJECT_FILE = "context-bench.toml"
LOCK_FILE = "context-bench.lock"

_PROJECT_KEYS = ("disable", "allow", "prefer")
_COMMAND_LINE = "the command line"


class Layer(NamedTuple):
    """What one source says.

    Attributes:
        switches: Names switched off (False) and on (True); of several that fit, the last counts.
        off: Where a name is switched off, for the reason of a blocked plugin.
        undo: How to undo that; ``{name}`` is replaced.
        allowed: The only names that may be used, or None when all may.
        list: Where the allow-list stands.
        admit: How to get onto it; ``{name}`` is replaced.
    """

    switches: tuple[tuple[str, bool], ...]
    off: str
    undo: str
    allowed: frozenset[str] | None = None
    list: str = ""
    admit: str = ""


class PluginSettings(NamedTuple):
    """Everything that decides which discovered plugins may be used.

    Attributes:
        layers: From the weakest (project file) to the strongest (command line).
        preferred: Distribution that a contested short name means, by short name.
    """

    layers: tuple[Layer, ...] = ()
    preferred: Mapping[str, str] = {}

    @classmethod
    def read(
        cls,
        project: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        arguments: Iterable[str] = (),
    ) -> PluginSettings:
        """Put the layers together.

        Args:
            project: The ``[plugins]`` table of the project file: ``disable``, ``allow``,
                ``prefer``.
            environ: Environment variables.
            arguments: Values of ``-p``: ``NAME`` switches on, ``no:NAME`` switches off.

        Raises:
            ConfigurationError: The table holds an unknown key or a value of the wrong kind.
        """
        if project is None:
            project = {}
        _check(project)
        file_name = file_name_of(project)
        environ = environ or {}
        layers = (
            Layer(
                switches=tuple((name, False) for name in project.get("disable", ())),
                off=f"plugins.disable in {file_name}",
                undo="`context-bench plugins enable {name}` takes it out there; -p {name} uses it "
                "this once",
                allowed=frozenset(project["allow"]) if "allow" in project else None,
                list=f"plugins.allow in {file_name}",
                admit="add {name} there, or give -p {name} to use it this once",
            ),
            Layer(
                switches=tuple((name, False) for name in _names(environ.get(DISABLE_VARIABLE))),
                off=f"the environment variable {DISABLE_VARIABLE}",
                undo="take {name} out there, or give -p {name}",
                allowed=frozenset(_names(environ.get(ALLOW_VARIABLE))) or None,
                list=f"the environment variable {ALLOW_VARIABLE}",
                admit="add {name} there, or give -p {name}",
            ),
            Layer(
                tuple((name.removeprefix("no:"), not name.startswith("no:")) for name in arguments),
                _COMMAND_LINE,
                "leave out -p no:{name} and --exclude {name}",
            ),
        )
        return cls(layers, dict(project.get("prefer", {})))

    def blocked_by(self, names: frozenset[str]) -> State | None:
        """Return the state of a component that answers to ``names`` and may not be used; None when
        it may."""
        blocked: State | None = None
        for layer in self.layers:
            switches = [switch for switch in layer.switches if switch[0] in names]
            if switches:
                name, is_on = switches[-1]
                undo = layer.undo.format(name=name)
                blocked = None if is_on else State(BLOCKED, f"switched off by {layer.off}", undo)
            elif layer.allowed is not None and CORE not in names:
                admit = layer.admit.format(name=min(names, key=len))
                is_allowed = bool(names & layer.allowed)
                blocked = None if is_allowed else State(BLOCKED, f"not in {layer.list}", admit)
        return blocked

    def require_known(self, installed: Iterable[Component], without: Iterable[str] = ()) -> None:
        """Refuse names that mean nothing: a misspelt one would leave on what somebody meant to
        switch off.

        The environment and the project may speak of plugins of ours that are not installed here,
        the command line may not.

        Args:
            installed: Every component that is installed.
            without: Names that are switched off by another flag, which looks at them itself.

        Raises:
            UnknownNameError: A switch, the project's allow-list or its preference names what nobody
                has heard of.
        """
        installed_names = set(without)
        for component in installed:
            installed_names |= switches(component)
        for name, source in self._names():
            known = installed_names
            if name not in known and source != _COMMAND_LINE:
                known = known | _first_party_names()
            if name not in known:
                # An option group goes by its id: its short name suggests the id.
                suggestions = [other for other in known if other.endswith(f"/{name}")] or known
                hint = (
                    f"It stands in {source}. `context-bench plugins list` shows what is installed."
                )
                raise UnknownNameError("plugin", name, suggestions, hint)

    def _names(self) -> Iterator[tuple[str, str]]:
        """Yield each name that a setting uses, and where it is set."""
        for layer in self.layers:
            for name, _ in layer.switches:
                yield name, layer.off
        for layer in self.layers[:1]:
            for name in layer.allowed or ():
                yield name, layer.list
        for name in self.preferred.values():
            yield name, f"plugins.prefer in {PROJECT_FILE}"


def switches(component: Component) -> frozenset[str]:
    """Return the names that switch a component: not the short one of an option group, which a
    component may have."""
    if component.kind == "flags":
        return component.names - {component.name} | {CORE}
    return component.names


def _first_party_names() -> set[str]:
    from context_bench.plugins.first_party import COMPONENTS

    names: set[str] = set()
    for components in COMPONENTS.values():
        for name, component in components.items():
            distribution = component.distribution
            names.update([name, distribution, f"{distribution}/{name}"])
    return names


def _check(project: object) -> None:
    if not isinstance(project, Mapping):
        raise ConfigurationError(f"{PROJECT_FILE}: plugins must be a table.")
    file_name = file_name_of(project)
    for key, value in project.items():
        if key not in _PROJECT_KEYS:
            raise UnknownNameError(f"key of [plugins] in {file_name}", key, _PROJECT_KEYS)
        if key == "prefer":
            fits = isinstance(value, Mapping) and all(
                isinstance(name, str) for name in value.values()
            )
            expected = 'a table of distributions by short name: rouge = "context-bench-rouge"'
        else:
            fits = isinstance(value, list) and all(isinstance(name, str) for name in value)
            expected = 'a list of names: ["rouge"]'
        if not fits:
            raise ConfigurationError(
                f"{file_name}: plugins.{key} must be {expected}, got {value!r}."
            )


def _names(value: str | None) -> list[str]:
    return [name.strip() for name in (value or "").split(",") if name.strip()]


def load_project(
    project: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Return the project file as a table.

    Args:
        project: Where it is, or what it holds; None looks in the current directory and is content
            with none.

    Raises:
        ConfigurationError: It is not there, or is no TOML.
    """
    if isinstance(project, Mapping):
        return project
    if project is None and not os.path.isfile(PROJECT_FILE):
        return {}
    path = str(project or PROJECT_FILE)
    import tomli

    try:
        with open(path, "rb") as file:
            content = file.read()
        table = tomli.loads(content.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(f"The project file {path} does not exist.") from error
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"The project file {path} cannot be read: {reason}.") from error
    except (ValueError, RecursionError) as error:  # of tomli, or of the encoding
        raise ConfigurationError(f"The project file {path} is not valid TOML: {error}") from error
    if isinstance(table.get("plugins"), dict):
        table["plugins"] = ProjectTable(table["plugins"], path)
    return ProjectTable(table, path)


def file_name_of(table: object) -> str:
    """Return what the file is called that a table is from."""
    return table.file_name if isinstance(table, ProjectTable) else PROJECT_FILE


class ProjectTable(dict[str, Any]):
    """What a project file contains, and what the file is called.

    Attributes:
        file_name: The path as the user gave it; messages name it.
    """

    def __init__(self, values: Mapping[str, Any], file_name: str) -> None:
        super().__init__(values)
        self.file_name = file_name
