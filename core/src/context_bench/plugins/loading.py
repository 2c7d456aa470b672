"""Loading: one component is imported, and what goes wrong with it becomes a state with a remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import date, time
from importlib import import_module
from math import isfinite
from os import PathLike
from threading import Timer
from typing import Any

from context_bench.console import echo_err
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    PluginError,
    UnknownNameError,
    message_of,
)
from context_bench.plugins.catalog import FAILED, MISSING_DEPENDENCY, OK, Component, install_line
from context_bench.plugins.component_metadata import Option
from context_bench.redaction import Redactor, secrets_in


def load(component: Component) -> Any:
    """Return the object that a component's entry point names.

    Raises:
        PluginError: The component is in no state to be loaded, or loading it failed; the message says why and what to
            do, and the cause is chained.
    """
    loaded, value, cause = try_load(component.require_ok())
    try:
        loaded.require_ok()
    except PluginError as error:
        raise error from cause
    return value


def try_load(component: Component) -> tuple[Component, Any, BaseException | None]:
    """Load a component and return it with the state that loading it leaves it in, its object, and what it raised."""
    module_name, _, attribute = component.target.partition(":")
    module_name, attribute = module_name.strip(), attribute.partition("[")[0].strip()
    name = component.distribution.name
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            value: Any = sys.modules.get(module_name) or _imported(component, module_name)
            for part in filter(None, attribute.split(".")):
                value = getattr(value, part)
            value = _bind(value, component)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything at import, SystemExit and its like too
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and missing.partition(".")[0] != module_name.partition(".")[0]:
            broken = component.with_state(
                MISSING_DEPENDENCY,
                f"it needs the module {missing!r}, which is not installed",
                f"reinstall {name} with its dependencies, or install what provides {missing!r}",
            )
            return broken, None, error
        return _failed(component, error), None, error
    return component, value, None


def _imported(component: Component, module: str) -> Any:
    """Import a module; one that takes long is named meanwhile."""
    text = f"Importing {component.id} (module {module}) takes more than {_LONG:g} s."
    watch = Timer(_LONG, echo_err, [text])
    watch.daemon = True
    watch.start()
    try:
        return import_module(module)
    finally:
        watch.cancel()


_LONG = 5.0
_LONGEST = 1000


def _bind(loader: Any, component: Component) -> Any:
    """Return what loads a component: the loader itself, or what it makes of the component's card.

    Raises:
        TypeError: The loader reads no cards.
    """
    facts = component.manifest
    if not facts.definition:
        return loader
    make = getattr(loader, "from_definition", None)
    if make is None:
        raise TypeError(f"{component.target} reads no cards: it has no from_definition(name, card)")
    return make(component.name, {"default_config": facts.default_config, **facts.definition})


def build(
    component: Component, options: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> Any:
    """Return a configured instance of a component (for a dataset: see :mod:`context_bench.datasets`).

    Args:
        component: What to load.
        options: Values by option name, as text or typed.
        environ: Where options that name an environment variable find it.

    Raises:
        PluginError: It cannot be loaded, or its constructor failed.
        ConfigurationError: An option is unknown or has a value that does not fit.
    """
    factory = load(component)
    where = f"{component.noun} {component.name}"
    declared = component.manifest.options
    more = component.facts is None or component.facts.extra_options
    arguments = read_options(declared, options, where, environ, more=more)
    if not callable(factory):
        if arguments:
            raise ConfigurationError(
                f"{where} takes no options: its entry point names an object, not a class."
            )
        return factory
    secret = [name for name, option in declared.items() if option.secret]
    hide = Redactor(found for name in secret for found in secrets_in(arguments.get(name))).of
    try:
        return factory(**arguments)
    except ContextBenchError:
        raise
    except (TypeError, ValueError, OSError) as error:
        raise ConfigurationError(hide(f"{where} cannot be set up: {message_of(error)}")) from error
    except (Exception, SystemExit, GeneratorExit) as error:
        text = f"{where} ({component.id}) cannot be set up: {type(error).__name__}: {message_of(error)}"
        raise PluginError(hide(text)) from error


def unfit(component: Component, lacks: str, promised: str = "") -> PluginError:
    """Return the error for what a component made that is not what its kind promises."""
    return PluginError(
        f"The {component.noun} {component.id} is no {promised or component.noun}: {lacks}. "
        f"Tell the authors of {component.distribution.name}, or leave it out."
    )


def attempted(who: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a function of a package returns.

    Raises:
        PluginError: It raised something that no one raises on purpose; the message says whose function it is.
    """
    try:
        return function(*arguments, **options)
    except ContextBenchError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise PluginError(f"{who} failed: {type(error).__name__}: {message_of(error)}") from error


def _failed(component: Component, error: BaseException) -> Component:
    text = " ".join(message_of(error).split())[:_LONGEST] or "no message"
    return component.with_state(
        FAILED,
        f"loading it raised {type(error).__name__}: {text}",
        f"upgrade {component.distribution.name}, uninstall it, or leave it out with --exclude {component.name}",
    )


def written_options(parts: Sequence[str], owner: str) -> dict[str, str]:
    """Return the options that a spec writes as ``key=value``, by key.

    Raises:
        ConfigurationError: A part has another form, or a key stands twice.
    """
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if (
            not equals or not key
        ):  # a later part is not repeated: it may be the rest of a secret that holds a comma
            told = f"what stands behind {next(reversed(options))!r}" if options else repr(part)
            raise ConfigurationError(f"In the {owner}, {told} is no option: write key=value.")
        if key in options:
            raise ConfigurationError(f"In the {owner}, the option {key!r} is given twice.")
        options[key] = value
    return options


def read_options(
    declared: Mapping[str, Option],
    given: Mapping[str, Any],
    where: str,
    environ: Mapping[str, str] | None = None,
    *,
    more: bool = False,
) -> dict[str, Any]:
    """Return the keyword arguments for a component: what was given, then its environment variables.

    Options that were not given are left out, so that the component's own defaults hold.

    Args:
        declared: The component's options by name.
        given: Values by option name; ``-`` and ``_`` are the same.
        where: What the options belong to, for messages, such as ``"system bm25"``.
        environ: Environment to read; None reads none.
        more: Whether options that are not declared are passed on as they were given.

    Raises:
        UnknownNameError: An option that the component does not declare.
        ConfigurationError: A value of the wrong kind, or a required option that is missing.
    """
    values = {}
    for raw_name, value in given.items():
        name = raw_name.replace("-", "_")
        if name not in declared and more:
            values[name] = value
            continue
        if name not in declared:
            hint = (
                f"It takes {', '.join(sorted(declared))}." if declared else "It takes no options."
            )
            raise UnknownNameError(f"option of {where}", raw_name, declared, hint)
        values[name] = read_option(declared[name], value, where)
    for option in declared.values():
        if option.name not in values and option.env and environ and environ.get(option.env):
            values[option.name] = read_option(option, environ[option.env], where)
        if option.required and option.name not in values:
            env = f" or set the environment variable {option.env}" if option.env else ""
            raise ConfigurationError(
                f"{where} needs {option.name}: {(option.help or 'it has no default').rstrip('.')}. Give it{env}."
            )
    return values


def read_option(option: Option, value: Any, where: str) -> Any:
    """Return ``value`` as an option's type; texts, as they come from a command line, are converted.

    Raises:
        ConfigurationError: The value does not fit; the message names ``where``.
    """
    found = value
    if option.type == "words" and isinstance(value, str):
        found = _words(option, value, where)
    elif option.type == "tables":
        found = [
            _table(option, one) for one in (value if isinstance(value, list | tuple) else [value])
        ]
    try:
        converted = _CONVERTERS[option.type](found)
    except (TypeError, ValueError, OverflowError):
        expected = _EXPECTED.get(option.type, option.type)
        raise ConfigurationError(
            f"{where}: {option.name} must be {expected}, got {_shown(option, value)}."
        ) from None
    if option.choices and converted not in option.choices:
        raise ConfigurationError(
            f"{where}: {option.name} must be one of {', '.join(map(str, option.choices))}."
        )
    return converted


def _table(option: Option, value: Any) -> Any:
    """Return the table that a path stands for; anything else as it is.

    Raises:
        ConfigurationError: There is no such file, it is no TOML, or has no such table.
    """
    if not isinstance(value, str | PathLike):
        return value
    import tomli

    try:
        with open(value, "rb") as file:
            found = tomli.load(file)
    except OSError as error:
        raise ConfigurationError(f"The {option.name} {value} cannot be read: {error}.") from error
    except ValueError as error:
        raise ConfigurationError(f"{value} is not valid TOML: {error}") from error
    if option.name not in found:
        raise ConfigurationError(f"{value} has no table [{option.name}]. It takes: {option.help}")
    return found[option.name]


def _shown(option: Option, value: Any) -> str:
    return "***" if option.secret else repr(value)


def _words(option: Option, text: str, where: str) -> list[str]:
    """Split a text at white space outside of quotes. No shell sees it: nothing is expanded or substituted."""
    import shlex

    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    if os.sep == "\\":
        words.escape = ""  # a path keeps its backslashes
    try:
        return list(words)
    except ValueError as error:
        raise ConfigurationError(
            f"{where}: {option.name} is {_shown(option, text)}: {str(error).lower()}."
        ) from None


_EXPECTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a finite number",
    "list": "a list (a/b/c on the command line)",
    "tables": "a table, or the path of a TOML file with one",
    "words": "a list of texts, or one text with white space between them",
}
_BOOLEANS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def _one_of(value: Any, *kinds: type) -> Any:
    """Return a value of one of some types; true is no number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value.replace("_", ""))
    if isinstance(value, bool) or int(value) != value:
        raise TypeError
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isfinite(found := float(value)):
        raise TypeError
    return found


def _truth(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in _BOOLEANS:
        return _BOOLEANS[value.lower()]
    return bool(_one_of(value, bool))


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [_number_or_text(part) for part in value.split("/")]
    return list(value) if isinstance(value, list | tuple) else [_one_of(value, int, float)]


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _plain(value: Any) -> Any:
    """Return a TOML value as JSON can hold it: dates as ISO 8601."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, date | time) else value


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("str", "path"),
        lambda value: value if isinstance(value, str) else str(_one_of(value, int, float)),
    ),
    "int": _whole,
    "float": _real,
    "bool": _truth,
    "list": _items,
    "words": lambda value: [_one_of(word, str) for word in _one_of(value, list, tuple)],
    "tables": lambda value: [_plain(_one_of(table, Mapping)) for table in value],
}


def facade(
    kind: str, module: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module that exports what installed plugins of a kind do, by its namespace."""

    def find(name: str) -> Any:
        module[name] = value = resolve(kind, module["__name__"], name)
        return value

    def names() -> list[str]:
        from context_bench.plugins.discovery import discover

        usable = {
            component.manifest.class_name
            for component in discover().of_kind(kind)
            if component.state == OK
        }
        return sorted(filter(None, usable))

    return find, names


def resolve(kind: str, module: str, name: str) -> Any:
    """Return what an installed plugin exports as ``name``.

    Args:
        kind: Kind of component that the facade is for.
        module: Name of the facade, for messages.
        name: Attribute that was asked for.

    Raises:
        ImportError: The name is one of the project's own, and its plugin is not installed or cannot be used. An
            ImportError inside the plugin is the cause of a PluginError and never hidden.
        AttributeError: Nobody exports such a name.
        PluginError: The plugin is there and cannot be loaded.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.first_party import COMPONENTS

    ours = dict(COMPONENTS.get(kind, {}).values())
    found = [c for c in discover().of_kind(kind) if c.manifest.class_name == name]
    usable = [component for component in found if component.state == OK] or found
    if len(usable) > 1 and name in ours:
        usable = [
            component for component in usable if component.distribution.name == ours[name]
        ] or usable
    if len(usable) > 1:
        ids = ", ".join(component.id for component in usable)
        raise ImportError(f"{name} is exported by {ids}. Import it from the package that you mean.")
    if usable:
        return load(usable[0])
    if name in ours:
        raise not_installed(name, ours[name])
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}: no installed plugin exports it. "
        "`context-bench plugins list` shows what is installed."
    )


def not_installed(name: str, distribution: str) -> ImportError:
    """Return the error for what a package of the project's own exports that is not installed."""
    return ImportError(
        f"{name} comes with {distribution}, which is not installed. From a checkout: {install_line(distribution)}",
        name=distribution.replace("-", "_"),
    )
