"""Which plugins may be used: the command line beats the environment, which beats the project file.

Each layer switches names on or off and may hold an allow-list; a later layer decides only the names that it mentions. A
name is a short name (``rouge``), a canonical id (``context-bench-rouge/rouge``) or a distribution. An allow-list is about
plugins: what core itself brings can only be switched off by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.installed import UnreadableFileError, read_small_file, read_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

DISABLE_VARIABLE = "CONTEXT_BENCH_DISABLE_PLUGINS"
ALLOW_VARIABLE = "CONTEXT_BENCH_PLUGINS"
CURRENT_DIRECTORY_VARIABLE = "CONTEXT_BENCH_ALLOW_CURRENT_DIRECTORY"
CORE = "context-bench"

_PROJECT_KEYS = ("disable", "allow", "prefer", "allow-current-directory")
_PROJECT = "context-bench.toml"
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


class Block(NamedTuple):
    """Why a component may not be used, and how to change that."""

    reason: str
    remedy: str


class PluginSettings(NamedTuple):
    """Everything that decides which discovered plugins may be used.

    Attributes:
        layers: From the weakest (project file) to the strongest (command line).
        preferred: Distribution that a contested short name means, by short name.
        allow_current_directory: Whether distributions found in the current directory may be used.
    """

    layers: tuple[Layer, ...] = ()
    preferred: Mapping[str, str] = {}
    allow_current_directory: bool = False

    @classmethod
    def read(
        cls,
        project: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        arguments: Iterable[str] = (),
    ) -> PluginSettings:
        """Put the layers together.

        Args:
            project: The ``[plugins]`` table of the project file: ``disable``, ``allow``, ``prefer``,
                ``allow-current-directory``.
            environ: Environment variables.
            arguments: Values of ``-p``: ``NAME`` switches on, ``no:NAME`` switches off.

        Raises:
            ConfigurationError: The table holds an unknown key or a value of the wrong kind.
        """
        project, environ = project or {}, environ or {}
        _check(project)
        layers = (
            Layer(
                _off(_names(project.get("disable"))),
                f"plugins.disable in {_PROJECT}",
                "`context-bench plugins enable {name}` takes it out there; -p {name} uses it this once",
                None if project.get("allow") is None else frozenset(_names(project.get("allow"))),
                f"plugins.allow in {_PROJECT}",
                "add {name} there, or give -p {name} to use it this once",
            ),
            Layer(
                _off(_names(environ.get(DISABLE_VARIABLE))),
                f"the environment variable {DISABLE_VARIABLE}",
                "take {name} out there, or give -p {name}",
                frozenset(_names(environ[ALLOW_VARIABLE])) if environ.get(ALLOW_VARIABLE) else None,
                f"the environment variable {ALLOW_VARIABLE}",
                "add {name} there, or give -p {name}",
            ),
            Layer(
                tuple((name.removeprefix("no:"), not name.startswith("no:")) for name in arguments),
                _COMMAND_LINE,
                "leave out -p no:{name} and --without {name}",
            ),
        )
        allow_here = project.get("allow-current-directory") is True or _is_yes(environ.get(CURRENT_DIRECTORY_VARIABLE))
        preferred = project.get("prefer")
        return cls(layers, dict(preferred) if isinstance(preferred, Mapping) else {}, allow_here)

    def blocked_by(self, names: frozenset[str]) -> Block | None:
        """Return what switches off a component that answers to ``names``, or None when nothing does."""
        blocker = None
        for layer in self.layers:
            said = [(name, on) for name, on in layer.switches if name in names]
            if said:
                name, on = said[-1]
                blocker = None if on else Block(f"switched off by {layer.off}", layer.undo.format(name=name))
            elif layer.allowed is not None and CORE not in names:
                shortest = min(names, key=len)
                listed = bool(names & layer.allowed)
                blocker = None if listed else Block(f"not in {layer.list}", layer.admit.format(name=shortest))
        return blocker

    def require_known(self, installed: Iterable[frozenset[str]], without: Iterable[str] = ()) -> None:
        """Refuse names that mean nothing: a misspelt one would leave on what somebody meant to switch off.

        The environment and the project may speak of plugins of ours that are not installed here, the command line may not.

        Args:
            installed: The names of every component that is installed.
            without: Names that are switched off by another flag, which looks at them itself.

        Raises:
            UnknownNameError: A switch, the project's allow-list or its preference names what nobody has heard of.
        """
        here = frozenset[str]().union(*installed)
        names = [(name, layer.off) for layer in self.layers for name, _ in layer.switches]
        names += [(name, layer.list) for layer in self.layers[:1] for name in layer.allowed or ()]
        names += [(name, f"plugins.prefer in {_PROJECT}") for name in self.preferred.values()]
        here |= frozenset(without)
        for name, where in names:
            known = here if where == _COMMAND_LINE or name in here else here | _ours()
            if name not in known:
                hint = f"It stands in {where}. `context-bench plugins list` shows what is installed."
                raise UnknownNameError("plugin", name, known, hint)


def _ours() -> frozenset[str]:
    from context_bench.plugins.first_party import COMPONENTS

    ours = [(name, home) for kind in COMPONENTS.values() for name, (_, home) in kind.items()]
    return frozenset(known for name, home in ours for known in (name, home, f"{home}/{name}"))


def _check(project: Mapping[str, object]) -> None:
    for key, value in project.items():
        where = f"{_PROJECT}: plugins.{key}"
        if key not in _PROJECT_KEYS:
            raise UnknownNameError(f"key of [plugins] in {_PROJECT}", key, _PROJECT_KEYS)
        if key == "allow-current-directory":
            if not isinstance(value, bool):
                raise ConfigurationError(f"{where} is {value!r}, but must be true or false.")
        elif key == "prefer":
            if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value.values()):
                raise ConfigurationError(
                    f"{where} is {value!r}, but must be a table of distributions by short name: rouge = "
                    '"context-bench-rouge".'
                )
        elif not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ConfigurationError(f'{where} is {value!r}, but must be a list of names: ["rouge"].')


def _off(names: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    return tuple((name, False) for name in names)


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [str(name) for name in value] if isinstance(value, Iterable) else []


def _is_yes(value: str | None) -> bool:
    return (value or "").strip().lower() not in ("", "0", "false", "no", "off")


PROJECT_FILE = "context-bench.toml"
LOCK_FILE = "context-bench.lock"


def load_project(path: Path | None = None) -> Mapping[str, Any]:
    """Return the project file as a table.

    Args:
        path: Where it is; None looks in the current directory and is content with none.

    Raises:
        ConfigurationError: It is not there, or is no TOML.
    """
    import os

    if path is None and not os.path.isfile(PROJECT_FILE):
        return {}
    place = str(path or PROJECT_FILE)
    try:
        content = read_small_file(place)
    except UnreadableFileError as error:
        raise ConfigurationError(f"The project file {place} cannot be read: {error}.") from error
    if content is None:
        raise ConfigurationError(f"The project file {place} cannot be read: there is no such file.")
    return project_of(place, content)


def project_of(path: object, content: bytes) -> dict[str, Any]:
    """Return the table that a project file holds.

    Raises:
        ConfigurationError: It is no TOML.
    """
    try:
        return read_toml(content)
    except UnreadableFileError as error:
        raise ConfigurationError(f"The project file {path} is {error}.") from error
