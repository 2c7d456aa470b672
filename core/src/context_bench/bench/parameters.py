"""What a run can be asked for: how one parameter is declared, and the kinds of values that parameters have.

A field of a :class:`~context_bench.bench.requests.Request` is declared with :func:`parameter`, once. Flags, the project file,
``--set``, the signature of ``evaluate()`` and the reference pages are made from that, and so is what a run file keeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

from attrs import Factory, evolve, field, fields, frozen

from context_bench.errors import ConfigurationError, UnknownNameError

PLANNED = ("run", "plan")
"""The commands that plan a run: ``run`` itself, and all that look at what it would do."""


def _same(value: Any, *beside: Any) -> Any:
    return value


@frozen
class Kind:
    """A kind of values: how they are written, checked and kept. ``where`` is what a value is called in errors.

    Attributes:
        written: What the reference pages call it.
        check: Returns a value as the request holds it, ``(value, where)``; raises ConfigurationError for any other.
        of_text: Returns the value of a text, ``(text, where)``: of a flag or of ``--set``; None where no text can say it.
        of_file: Returns the value of what TOML gave, ``(value, where)``; None checks it.
        over: Returns the value of a flag laid over that of the project file, ``(value, before)``.
        stored: Returns a value as JSON-like values without secrets, ``(value, catalog)``.
        restored: Returns the value that ``stored`` wrote.
        is_repeated: Whether its flag can be given several times; then ``of_text`` takes all texts.
        is_switch: Whether its flag takes no value.
        python: Its type in the signature of ``evaluate()``.
    """

    written: str
    check: Callable[[Any, str], Any]
    of_text: Callable[[Any, str], Any] | None = None
    of_file: Callable[[Any, str], Any] | None = None
    over: Callable[[Any, Any], Any] = _same
    stored: Callable[[Any, Any], Any] = _same
    restored: Callable[[Any], Any] = _same
    is_repeated: bool = False
    is_switch: bool = False
    python: str = "Any"


@frozen
class Parameter:
    """One parameter of a run.

    Attributes:
        name: Its field of the request.
        kind: What values it has.
        default: Its value when nobody says anything.
        help: What it means, in a sentence or two without the name.
        flags: Its flags; empty where the command line has none.
        metavar: What the flag's value is called in help.
        unset: What help says of the default; the value itself, where there is one and nothing else is said.
        key: Its place in the project file; ``run.`` and its flag, unless it says otherwise; None where the file has none.
        python: Its name in ``evaluate()``; None where that has another way to say it.
        told: What ``evaluate()`` says of it; empty takes ``help``.
        commands: The commands that take its flags.
        keyed: Whether a response key or score key depends on it.
        secret: Whether parts of it may be secret; its kind takes them out of what is stored.
        stored: Whether a run file keeps it.
        usual: What the command line takes where nobody says anything; None for the default.
    """

    kind: Kind
    default: Any
    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    unset: str = ""
    key: str | None = ""
    python: str | None = ""
    told: str = ""
    commands: tuple[str, ...] = PLANNED
    keyed: bool = False
    secret: bool = False
    stored: bool = True
    usual: Any = None
    name: str = ""

    def click_option(self) -> Callable[[Any], Any]:
        """Return the option of a command, whose value is None (or nothing, where it is repeated) unless it is given."""
        import click

        words = self.help + (f"  [default: {self.unset}]" if self.unset else "")
        if self.kind.is_switch:
            off: dict[str, Any] = {"flag_value": False} if self.default is True and "/" not in self.flags[0] else {}
            return click.option(*self.flags, self.name, is_flag=True, default=None, help=words, **off)
        more = "; repeatable" if self.kind.is_repeated and "repeatable" not in words else ""
        words = f"{words.rstrip('.')}{more}." if more else words
        callback = None if self.kind.is_repeated else _only_one
        return click.option(
            *self.flags, self.name, multiple=True, metavar=self.metavar, help=words, type=str, callback=callback
        )

    def of_flag(self, given: Any, before: Any) -> Any:
        """Return the value of the flag, laid over what the project file says.

        Raises:
            ConfigurationError: It is none of its kind.
        """
        if self.kind.is_switch or self.kind.of_text is None:
            return given
        return self.kind.over(self.kind.of_text(given, self.flags[0]), before)

    def of_file(self, value: Any, where: str) -> Any:
        """Return the value of what stands in the project file.

        Raises:
            ConfigurationError: It is none of its kind.
        """
        return (self.kind.of_file or self.kind.check)(value, where)


def _only_one(context: Any, option: Any, given: tuple[str, ...]) -> str | None:
    """Return the one value of a flag that is given once; a second one would drop the first in silence."""
    if len(given) > 1:
        raise ConfigurationError(
            f"{option.opts[-1]} is given {len(given)} times ({', '.join(given)}), but takes one value."
        )
    return given[0] if given else None


def parameter(kind: Kind, default: Any, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002 - as attrs calls it
    """Declare a field of a request; see :class:`Parameter` for what can be said of it.

    A flag is written as in help, with what its value is called: ``"--limit N"``.
    """
    words = [flag.split() for flag in flags]
    metavar = next((word[1] for word in words if len(word) > 1), None)
    declared = Parameter(kind, default, help, tuple(word[0] for word in words), metavar, **more)
    return field(default=Factory(default) if callable(default) else default, metadata={"parameter": declared})


def named(request: type, attributes: list[Any]) -> list[Any]:
    """Give each parameter the name of its field, and each field what checks its values; attrs calls this."""
    return [_checked(one) for one in attributes]


def _checked(attribute: Any) -> Any:
    declared: Parameter = attribute.metadata["parameter"]
    python = attribute.name if declared.python == "" else declared.python
    default, where = declared.default, python or attribute.name
    long = next((flag for flag in declared.flags if flag.startswith("--")), None)
    key = declared.key or (f"run.{long[2:]}" if declared.key == "" and long else None)
    is_value = isinstance(default, str | int | float) and not isinstance(default, bool)
    unset = declared.unset or (str(default) if is_value else "")
    declared = evolve(declared, name=attribute.name, python=python, key=key, unset=unset)

    def convert(value: Any) -> Any:
        if value is None or value is default:  # nobody gave it
            return default() if callable(default) else default
        return declared.kind.check(value, where)

    return attribute.evolve(converter=convert, metadata={"parameter": declared})


def called_here(parameters: Iterable[Parameter], name: str, here: Callable[[Parameter], str | None]) -> str:
    """Return a sentence with what a parameter is called here that is called ``name`` elsewhere; empty when there is none.

    Args:
        parameters: All of them.
        name: What it was called: its flag without dashes, its argument of ``evaluate()``, or its key.
        here: Returns the name of a parameter here; None where it has none.
    """
    wanted = name.replace("-", "_")
    for one in parameters:
        elsewhere = [one.name, one.python, (one.key or "").rpartition(".")[2]]
        elsewhere += [flag.lstrip("-") for flags in one.flags for flag in flags.split("/")]
        if wanted in [each.replace("-", "_") for each in elsewhere if each] and (found := here(one)):
            return f"Here it is {found}."
    return ""


def declared_in(request: type) -> dict[str, Parameter]:
    """Return the parameters of a request by the names of their fields, in the order of their declaration."""
    return {one.name: one.metadata["parameter"] for one in fields(request)}


def text(*choices: str, about: str = "value") -> Kind:
    """Return the kind of texts, of some choices where there are any."""

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, str):
            raise ConfigurationError(f"{where} is {value!r}, but must be a text.")
        if choices and value not in choices:
            raise UnknownNameError(about, value, choices)
        return value

    return Kind("str", check, check, python="str")


def path() -> Kind:
    """Return the kind of paths."""

    def check(value: Any, where: str) -> Any:
        try:
            return os.fspath(value)
        except TypeError:
            raise ConfigurationError(f"{where} is {value!r}, but must be a path.") from None

    return Kind("path", check, check, python="str | os.PathLike[str]")


def whole(least: int | None = 1) -> Kind:
    """Return the kind of whole numbers, above zero unless said otherwise."""
    wanted = "a whole number above zero" if least == 1 else "a whole number"

    def check(value: Any, where: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            raise ConfigurationError(f"{where} is {value!r}, but must be {wanted}.")
        return value

    return Kind("int", check, _converting(int, check, wanted), python="int")


def number(is_positive: bool = True) -> Kind:
    """Return the kind of finite numbers, above zero unless said otherwise."""
    wanted = "a number above zero" if is_positive else "a number"

    def check(value: Any, where: str) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if not is_number or (is_positive and value <= 0):
            raise ConfigurationError(f"{where} is {value!r}, but must be {wanted}.")
        return value

    return Kind("number", check, _converting(float, check, wanted), python="float")


def share() -> Kind:
    """Return the kind of shares, 0 to 1; flags and the project file write them in percent."""

    def check(value: Any, where: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ConfigurationError(f"{where} is {value!r}, but must be a share between 0 and 1.")
        return value

    def percent(value: Any, where: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
            raise ConfigurationError(f"{where} is {value!r}, but must be between 0 and 100 percent.")
        return value / 100

    return Kind("percent", check, _converting(float, percent, "a number of percent"), percent, python="float")


def switch() -> Kind:
    """Return the kind of things that are so or not."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, bool):
            raise ConfigurationError(f"{where} is {value!r}, but must be true or false.")
        return value

    def parse(text: str, where: str) -> Any:
        return check(words.get(text.lower(), text), where)

    return Kind("bool", check, parse, is_switch=True, python="bool")


def names(is_repeated: bool = False, thing: str | None = None) -> Kind:
    """Return the kind of several names, written with commas between.

    Args:
        is_repeated: Whether the flag is given once for each.
        thing: What an object may be that ``evaluate()`` takes in place of a name; None takes names alone.
    """

    def check(value: Any, where: str) -> Any:
        found = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        if not thing and not all(isinstance(name, str) for name in found):
            raise ConfigurationError(f"{where} is {value!r}, but must be a list of names.")
        return found

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ConfigurationError(f"{where} is {value!r}, but must be a list of names.")
        return tuple(value)

    def parse(given: Any, where: str) -> Any:
        texts = (given,) if isinstance(given, str) else given
        return tuple(name for text in texts for name in _split_names(text))

    python = f"Sequence[{thing} | str]" if thing else "Sequence[str]"
    return Kind(
        "list of str",
        check,
        parse,
        read,
        stored=lambda value, catalog: [recorded(one) if not isinstance(one, str) else one for one in value],
        restored=lambda value: tuple(restored_object(one) for one in value),
        is_repeated=is_repeated,
        python=python,
    )


def _split_names(text: str) -> list[str]:
    """Return the names of a list with commas; ``name:option=value,option=value`` stays together."""
    found: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def table() -> Kind:
    """Return the kind of tables of options, by name."""

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise ConfigurationError(f"{where} is {value!r}, but must be a table of options.")
        return {str(name).replace("-", "_"): one for name, one in value.items()}

    return Kind("table", check, python="Mapping[str, Any]")


def pairs() -> Kind:
    """Return the kind of texts by text, written as ``target=source``."""

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value.values()):
            raise ConfigurationError(f"{where} is {value!r}, but must be a table of texts.")
        return dict(value)

    def parse(given: Any, where: str) -> Any:
        return parse_pairs((given,) if isinstance(given, str) else given, where)

    return Kind("table", check, parse, is_repeated=True, python="Mapping[str, str]")


def parse_pairs(texts: tuple[str, ...], what: str) -> dict[str, str]:
    """Read ``key=value`` texts.

    Raises:
        ConfigurationError: One of them has another form, or a key stands twice.
    """
    found: dict[str, str] = {}
    for one in texts:
        key, equals, value = one.partition("=")
        if not equals or not key or not value:
            raise ConfigurationError(f"{what} {one!r} has the wrong form: write it as target=source.")
        if key in found:
            raise ConfigurationError(f"{what} {key!r} is given twice.")
        found[key] = value
    return found


@frozen
class AbsentObject:
    """An object that was given to ``evaluate()``, as a run file remembers it: it cannot be made again from the file.

    Attributes:
        name: What it called itself.
        type: Its class, with the module.
    """

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name} ({self.type})" if self.name else self.type


def recorded(thing: Any) -> Any:
    """Return what a run file keeps of an object."""
    if isinstance(thing, AbsentObject):
        return {"object": {"name": thing.name, "type": thing.type}}
    kind = thing if hasattr(thing, "__qualname__") and hasattr(thing, "__module__") else type(thing)
    name = getattr(thing, "name", None) or getattr(thing, "__name__", "")
    return {"object": {"name": str(name), "type": f"{kind.__module__}.{kind.__qualname__}"}}


def restored_object(found: Any) -> Any:
    """Return the object that :func:`recorded` remembers, as absent; anything else as it is."""
    if isinstance(found, Mapping) and isinstance(found.get("object"), Mapping):
        return AbsentObject(str(found["object"].get("name", "")), str(found["object"].get("type", "")))
    return found


def _converting(
    convert: Callable[[str], Any], check: Callable[[Any, str], Any], wanted: str
) -> Callable[[Any, str], Any]:
    def parse(given: str, where: str) -> Any:
        try:
            value = convert(given)
        except ValueError:
            raise ConfigurationError(f"{where} is {given!r}, but must be {wanted}.") from None
        return check(value, where)

    return parse
