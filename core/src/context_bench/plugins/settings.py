"""Which plugins may be used: the command line beats the environment, which beats the project file.

Each layer switches names on or off and may hold an allow-list; a later layer decides only the names that it mentions. A
name is a short name (``rouge``), a canonical id (``context-bench-rouge/rouge``) or a distribution. An allow-list is about
plugins: what core itself brings can only be switched off by its name.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping
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
            project: The ``[plugins]`` table of the project file: ``disable``, ``allow``, ``prefer``.
            environ: Environment variables.
            arguments: Values of ``-p``: ``NAME`` switches on, ``no:NAME`` switches off.

        Raises:
            ConfigurationError: The table holds an unknown key or a value of the wrong kind.
        """
        project, environ = {} if project is None else project, environ or {}
        _check(project)
        layers = (
            Layer(
                tuple((name, False) for name in project.get("disable", ())),
                f"plugins.disable in {PROJECT_FILE}",
                "`context-bench plugins enable {name}` takes it out there; -p {name} uses it this once",
                frozenset(project["allow"]) if "allow" in project else None,
                f"plugins.allow in {PROJECT_FILE}",
                "add {name} there, or give -p {name} to use it this once",
            ),
            Layer(
                tuple((name, False) for name in _names(environ.get(DISABLE_VARIABLE))),
                f"the environment variable {DISABLE_VARIABLE}",
                "take {name} out there, or give -p {name}",
                frozenset(_names(environ[ALLOW_VARIABLE])) if environ.get(ALLOW_VARIABLE) else None,
                f"the environment variable {ALLOW_VARIABLE}",
                "add {name} there, or give -p {name}",
            ),
            Layer(
                tuple((name.removeprefix("no:"), not name.startswith("no:")) for name in arguments),
                _COMMAND_LINE,
                "leave out -p no:{name} and --exclude {name}",
            ),
        )
        return cls(layers, dict(project.get("prefer", {})))

    def blocked_by(self, names: frozenset[str]) -> State | None:
        """Return the state of a component that answers to ``names`` and may not be used; None when it may."""
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
        """Refuse names that mean nothing: a misspelt one would leave on what somebody meant to switch off.

        The environment and the project may speak of plugins of ours that are not installed here, the command line may not.

        Args:
            installed: Every component that is installed.
            without: Names that are switched off by another flag, which looks at them itself.

        Raises:
            UnknownNameError: A switch, the project's allow-list or its preference names what nobody has heard of.
        """
        here = frozenset(without).union(*map(switches, installed))
        names = [(name, layer.off) for layer in self.layers for name, _ in layer.switches]
        names += [(name, layer.list) for layer in self.layers[:1] for name in layer.allowed or ()]
        names += [(name, f"plugins.prefer in {PROJECT_FILE}") for name in self.preferred.values()]
        for name, where in names:
            known = here if where == _COMMAND_LINE or name in here else here | _ours()
            if name not in known:
                hint = (
                    f"It stands in {where}. `context-bench plugins list` shows what is installed."
                )
                whole = [
                    one for one in known if one.endswith(f"/{name}")
                ]  # of a option group, which goes by its id
                raise UnknownNameError("plugin", name, whole or known, hint)


def switches(component: Component) -> frozenset[str]:
    """Return the names that switch a component: not the short one of an option group, which a component may have."""
    if component.kind == "flags":
        return component.names - {component.name} | {CORE}
    return component.names


def _ours() -> frozenset[str]:
    from context_bench.plugins.first_party import COMPONENTS

    ours = [(name, home) for kind in COMPONENTS.values() for name, (_, home) in kind.items()]
    return frozenset(known for name, home in ours for known in (name, home, f"{home}/{name}"))


def _check(project: Any) -> None:
    if not isinstance(project, Mapping):
        raise ConfigurationError(f"{PROJECT_FILE}: plugins must be a table.")
    for key, value in project.items():
        if key not in _PROJECT_KEYS:
            raise UnknownNameError(f"key of [plugins] in {PROJECT_FILE}", key, _PROJECT_KEYS)
        if key == "prefer":
            fits = isinstance(value, Mapping) and all(
                isinstance(name, str) for name in value.values()
            )
            wanted = 'a table of distributions by short name: rouge = "context-bench-rouge"'
        else:
            fits = isinstance(value, list) and all(isinstance(name, str) for name in value)
            wanted = 'a list of names: ["rouge"]'
        if not fits:
            raise ConfigurationError(
                f"{PROJECT_FILE}: plugins.{key} must be {wanted}, got {value!r}."
            )


def _names(value: str | None) -> list[str]:
    return [name.strip() for name in (value or "").split(",") if name.strip()]


def load_project(
    project: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Return the project file as a table.

    Args:
        project: Where it is, or what it holds; None looks in the current directory and is content with none.

    Raises:
        ConfigurationError: It is not there, or is no TOML.
    """
    if isinstance(project, Mapping):
        return project
    if project is None and not os.path.isfile(PROJECT_FILE):
        return {}
    place = str(project or PROJECT_FILE)
    import tomli

    try:
        with open(place, "rb") as file:
            content = file.read()
        return tomli.loads(content.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(f"The project file {place} does not exist.") from error
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"The project file {place} cannot be read: {reason}.") from error
    except (ValueError, RecursionError) as error:  # of tomli, or of the encoding
        raise ConfigurationError(f"The project file {place} is not valid TOML: {error}") from error
