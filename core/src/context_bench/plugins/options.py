"""Options: what a component declares that it takes, and how their values are read.

A value comes from a spec, a flag, the project file or the environment, as text or typed; each type has one converter.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from math import isfinite
from os import PathLike
from typing import Any

from attrs import Factory, frozen

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.manifest_reader import Checked, Pattern, entry, table_name
from context_bench.redaction import is_secret_name

_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,)}
_TYPES |= {
    **dict.fromkeys(("str", "path"), (str,)),
    **dict.fromkeys(("list", "words", "tables"), (list,)),
}

OPTION_TYPES = ("str", "int", "float", "bool", "path", "list", "words", "tables")
_FLAG = Pattern(r"--[a-z0-9][a-z0-9-]*", "a flag such as --judge-url")


@frozen
class Option(Checked):
    """One declared option: a keyword argument of the component.

    Attributes:
        name: Keyword, in snake_case.
        type: One of ``str int float bool path list words tables``; a list holds texts, numbers where they read as numbers;
            words are the arguments of a program; tables are a list of TOML tables, later ones laid over earlier ones
            by the component: a path stands for the table of the option's name in that file.
        default: Value when none is given; None when the component decides.
        help: One line for ``--help``.
        secret: Whether the value must never be shown or stored.
        choices: The only values allowed; empty when any is.
        flag: A command-line flag of its own (``--judge-url``), or None.
        env: Environment variable that gives the value when nothing else does, or None.
        required: Whether the component cannot be built without it.
        key: Its place in the project file beside ``[extensions.NAME]``, for an extension: ``prices`` or ``run.max-cost``.
        group: Id of the option group that it comes from; None when the component itself declares it.
        bare: Value of its flag when the flag is given without one; None where it needs one.
        needs_trust: Whether a value can weaken a sandbox or a limit, so that no file of somebody else sets it.
    """

    name: str = table_name()
    type: str = entry("str", choices=OPTION_TYPES)
    default: Any = entry(None)
    help: str = entry("", required=True)
    secret: bool = entry(Factory(lambda self: is_secret_name(self.name), takes_self=True))
    choices: tuple[Any, ...] = entry(())
    flag: str | None = entry(None, pattern=_FLAG)
    env: str | None = entry(None)
    required: bool = entry(False)
    key: str | None = entry(None)
    bare: str | None = entry(None)
    needs_trust: bool = entry(False)
    group: str | None = None

    def contradictions(self, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield a default and choices that do not fit to the type."""
        for place, choice in enumerate(self.choices):
            if problem := self._problem_of(choice):
                yield f"choices.[{place}]", problem
        if self.default is None:
            return
        if problem := self._problem_of(self.default):
            yield "default", problem
        elif self.choices and self.default not in self.choices:
            choices = ", ".join(map(str, self.choices))
            yield "default", f"expected one of its choices ({choices}), got {self.default!r}"

    def doubts(self, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield that an option with the name of a secret is declared to be none."""
        if not self.secret and self.name != "key" and is_secret_name(self.name):
            yield "secret", f"false, but only secrets are called {self.name}: choose another name"

    def _problem_of(self, value: Any) -> str | None:
        """Return what is wrong with a value of the manifest, which is not converted; None when it fits."""
        expected = _TYPES[self.type]
        if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
            return f"expected a value of type {self.type}, got {value!r}"
        if isinstance(value, float) and not isfinite(value):
            return f"expected a finite number, got {value!r}"
        return None


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
    except (ValueError, RecursionError) as error:
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
