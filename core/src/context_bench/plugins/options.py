"""Options: what a component declares that it takes, and how their values are read.

A value comes from a spec, a flag, the project file or the environment, as a text or as a value; its
type reads both.
"""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from attrs import Factory, frozen

from context_bench.errors import BadValueError, ConfigurationError, UnknownNameError
from context_bench.plugins.manifest_reader import Checked, Pattern, entry, table_name
from context_bench.plugins.values import OPTION_TYPES
from context_bench.redaction import REDACTED, bad_value, is_secret_name

_FLAG = Pattern(r"--[a-z0-9][a-z0-9-]*", "a flag such as --judge-url")


@frozen
class Option(Checked):
    """One declared option: a keyword argument of the component.

    Attributes:
        name: Keyword, in snake_case.
        type: One of ``str int float bool path list words tables``; a list holds texts, numbers
            where they read as numbers; words are the arguments of a program; tables are a list of
            TOML tables, later ones laid over earlier ones by the component: a path stands for the
            table of the option's name in that file.
        default: Value when none is given; None when the component decides.
        help: One line for ``--help``.
        secret: Whether the value must never be shown or stored.
        choices: The only values allowed; empty when any is.
        flag: A command-line flag of its own (``--judge-url``), or None.
        env: Environment variable that gives the value when nothing else does, or None.
        required: Whether the component cannot be built without it.
        key: Its place in the project file beside ``[extensions.NAME]``, for an extension:
            ``prices`` or ``run.max-cost``.
        group: Id of the option group that it comes from; None when the component itself declares
            it.
        bare: Value of its flag when the flag is given without one; None where it needs one.
        needs_trust: Whether a value can weaken a sandbox or a limit, or names a model that is
            downloaded, so that no file of somebody else sets it.
    """

    name: str = table_name()
    type: str = entry("str", choices=tuple(OPTION_TYPES))
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

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield a default and choices that do not fit to the type."""
        for index, choice in enumerate(self.choices):
            problem = self._problem_of(choice)
            if problem:
                yield f"choices.[{index}]", problem
        if self.default is None:
            return
        problem = self._problem_of(self.default)
        if problem:
            yield "default", problem
        elif self.choices and self.default not in self.choices:
            choices = ", ".join(map(str, self.choices))
            yield "default", f"expected one of its choices ({choices}), got {self.default!r}"

    def doubts(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield that an option with the name of a secret is declared to be none."""
        if not self.secret and self.name != "key" and is_secret_name(self.name):
            yield "secret", f"false, but only secrets are called {self.name}: choose another name"

    def _problem_of(self, value: object) -> str | None:
        """Return what is wrong with a value of the manifest; None when it fits."""
        is_text_type = self.type in ("str", "path")
        if isinstance(value, str) != is_text_type:
            return f"expected a value of type {self.type}, got {value!r}"
        try:
            OPTION_TYPES[self.type].check(value, "it")
        except ConfigurationError:
            return f"expected a value of type {self.type}, got {value!r}"
        return None


def written_options(parts: Sequence[str], owner: str) -> dict[str, str]:
    """Return the options that a spec writes as ``key=value``, by key.

    Raises:
        ConfigurationError: A part has another form, or a key stands twice.
    """
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key:
            subject = repr(part)
            if options:  # a later part is not repeated: it may be the rest of a secret with a comma
                subject = f"what stands behind {next(reversed(options))!r}"
            raise _not_an_option(owner, subject)
        if key in options:
            raise ConfigurationError(f"In the {owner}, the option {key!r} is given twice.")
        options[key] = value
    return options


def _not_an_option(owner: str, subject: str) -> ConfigurationError:
    return ConfigurationError(
        f"In the {owner}, {subject} is no option: write key=value. A value with a comma "
        "is written in quotation marks: key='one, two'."
    )


def read_options(
    declared: Mapping[str, Option],
    given: Mapping[str, Any],
    where: str,
    environ: Mapping[str, str] | None = None,
    *,
    accepts_any: bool = False,
) -> dict[str, Any]:
    """Return the keyword arguments for a component: what was given, then its environment variables.

    Options that were not given are left out, so that the component's own defaults hold.

    Args:
        declared: The component's options by name.
        given: Values by option name; ``-`` and ``_`` are the same.
        where: What the options belong to, for messages, such as ``"system bm25"``.
        environ: Environment to read; None reads none.
        accepts_any: Whether options that are not declared are passed on as they were given.

    Raises:
        UnknownNameError: An option that the component does not declare.
        ConfigurationError: A value of the wrong kind, or a required option that is missing.
    """
    values = {}
    for raw_name, value in given.items():
        name = raw_name.replace("-", "_")
        if name in declared:
            values[name] = read_option(declared[name], value, where)
        elif accepts_any:
            values[name] = value
        elif name == "config":  # a spec writes it without its name
            raise _not_an_option(where, repr(value))
        else:
            hint = "It takes no options."
            if declared:
                hint = f"It takes {', '.join(sorted(declared))}."
            raise UnknownNameError(f"option of {where}", raw_name, declared, hint)
    for option in declared.values():
        if option.name not in values:
            text = environ.get(option.env) if environ and option.env else None
            if text:
                values[option.name] = read_option(option, text, where)
            elif option.required:
                raise _missing(option, where)
    return values


def _missing(option: Option, where: str) -> ConfigurationError:
    purpose = (option.help or "it has no default").rstrip(".")
    env = f" or set the environment variable {option.env}" if option.env else ""
    return ConfigurationError(f"{where} needs {option.name}: {purpose}. Give it{env}.")


def read_option(option: Option, value: object, where: str) -> Any:
    """Return ``value`` as an option's type; texts, as they come from a command line, are converted.

    Raises:
        ConfigurationError: The value does not fit; the message names ``where``.
    """
    given = value
    if option.type == "tables":
        entries = value if isinstance(value, list | tuple) else [value]
        given = [_table(option, entry) for entry in entries]
    name = f"{where}: {option.name}"
    try:
        converted = OPTION_TYPES[option.type].read(given, name)
    except BadValueError as error:
        shown = REDACTED if option.secret else value
        raise bad_value(name, error.wanted, shown) from None
    if option.choices and converted not in option.choices:
        choices = ", ".join(map(str, option.choices))
        raise ConfigurationError(f"{name} must be one of {choices}.")
    return converted


def _table(option: Option, value: object) -> Any:
    """Return the table that a path stands for; anything else as it is.

    Raises:
        ConfigurationError: There is no such file, it is no TOML, or has no such table.
    """
    if not isinstance(value, str | PathLike):
        return value
    import tomli

    try:
        with open(value, "rb") as file:
            document = tomli.load(file)
    except OSError as error:
        raise ConfigurationError(f"The {option.name} {value} cannot be read: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{value} is not valid TOML: {error}") from error
    if option.name not in document:
        raise ConfigurationError(f"{value} has no table [{option.name}]. It takes: {option.help}")
    return document[option.name]
