"""What a run can be asked for: how one parameter is declared, and the kinds of values, specs of systems and datasets among them.

A field of a :class:`~context_bench.plan.run_config.RunConfig` is declared with :func:`parameter`, once. Flags, the project file,
``--set``, the signature of ``evaluate()`` and the reference pages are made from that, and so is what a run file keeps.

A system is ``[label=]name[:key=value[,key=value...]]``. A dataset is ``[label=]name[:config][,key=value...]``, or the path
of a file in place of the name. In both, a comma does for the colon where nothing but options follows: ``needle,length=8000``.
Values cannot hold a comma; the project file can say anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from functools import partial
from itertools import count
from os import environ
from sys import float_info, maxsize
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from attrs import Factory, asdict, evolve, field, fields_dict, frozen

from context_bench.errors import (
    BadValueError,
    ConfigurationError,
    ContextBenchError,
    UnknownNameError,
    message_of,
)
from context_bench.plugins.options import written_options
from context_bench.plugins.settings import PROJECT_FILE
from context_bench.redaction import Redactor, secret_values, secrets_in, without_secrets

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig
    from context_bench.plugins.catalog import Catalog

PLANNED = ("run", "plan")
"""The commands that plan a run: ``run`` itself, and all that look at what it would do."""
_END_OF_NAME = re.compile(r":|,(?=[A-Za-z_][\w.-]*=)")


def _same(value: Any, *beside: Any) -> Any:
    return value


@frozen
class Kind:
    """A kind of values: how they are written, checked and kept. ``where`` is what a value is called in errors.

    Attributes:
        written: What the reference pages call it.
        check: Returns a value as the request holds it, ``(value, where)``; raises ConfigurationError for any other.
        of_text: Returns the value of a text, ``(text, where)``: of a flag or of ``--set``; None where no text can say it.
        of_file: Returns the value of what TOML gave, ``(value, where)``; ``check`` unless it is said.
        stored: Returns a value as JSON-like values without secrets, ``(value, catalog)``.
        restored: Returns the value that ``stored`` wrote.
        is_repeated: Whether its flag can be given several times; then ``of_text`` takes all texts.
        is_switch: Whether its flag takes no value.
        python: Its type in the signature of ``evaluate()``.
    """

    written: str
    check: Callable[[Any, str], Any]
    of_text: Callable[[Any, str], Any] | None = None
    of_file: Callable[[Any, str], Any] = Factory(lambda self: self.check, takes_self=True)
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
        default: Its value when nobody says anything; that of its kind, unless it says otherwise.
        help: What it means, in a sentence or two without the name.
        flags: Its flags; empty where the command line has none.
        metavar: What the flag's value is called in help.
        unset: What help says of the default; the value itself, where there is one and nothing else is said.
        key: Its place in the project file; ``run.`` and its name, unless it says otherwise; None where the file has none.
        python: Its name in ``evaluate()``; None where that has another way to say it.
        told: What ``evaluate()`` says of it; empty takes ``help``.
        commands: The commands that take its flags.
        keyed: Whether the key of a response or score depends on it: with another value a row is asked or scored anew.
        stored: Whether a run file keeps it; its kind takes secrets out of what is kept.
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
    stored: bool = True
    usual: Any = None
    name: str = ""

    def click_option(self) -> Callable[[Any], Any]:
        """Return the option of a command, whose value is None (or nothing, where it is repeated) unless it is given."""
        import click

        words = self.help + (f"  [default: {self.unset}]" if self.unset else "")
        if self.kind.is_switch:
            off: dict[str, Any] = (
                {"flag_value": False} if self.default is True and "/" not in self.flags[0] else {}
            )
            return click.option(
                *self.flags, self.name, is_flag=True, default=None, help=words, **off
            )
        more = "; repeatable" if self.kind.is_repeated and "repeatable" not in words else ""
        words = f"{words.rstrip('.')}{more}." if more else words
        callback = None if self.kind.is_repeated else _only_one
        return click.option(
            *self.flags,
            self.name,
            multiple=True,
            metavar=self.metavar,
            help=words,
            type=str,
            callback=callback,
        )

    def of_flag(self, given: Any) -> Any:
        """Return the value of the flag.

        Raises:
            ConfigurationError: It is none of its kind.
        """
        return (
            given
            if self.kind.of_text is None or self.kind.is_switch
            else self.kind.of_text(given, self.flags[0])
        )


def _only_one(context: Any, option: Any, given: tuple[str, ...]) -> str | None:
    """Return the one value of a flag that is given once; a second one would drop the first in silence."""
    if len(given) > 1:
        raise ConfigurationError(
            f"{option.opts[-1]} is given {len(given)} times ({', '.join(given)}), but takes one value."
        )
    return given[0] if given else None


def parameter(kind: Kind, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002 - as attrs calls it
    """Declare a field of a request; see :class:`Parameter` for what can be said of it.

    A flag is written as in help, with what its value is called: ``"--limit N"``.
    """
    default = more.pop("default", _EMPTY.get(kind.written))
    words = [flag.split() for flag in flags]
    metavar = next((word[1] for word in words if len(word) > 1), None)
    declared = Parameter(kind, default, help, tuple(word[0] for word in words), metavar, **more)
    return field(
        default=Factory(default) if callable(default) else default, metadata={"parameter": declared}
    )


_EMPTY: Mapping[str, Any] = {"bool": False, "list": (), "list of str": (), "table": dict}
"""The value of a parameter that nobody says anything of, by what its kind is called; None for any other kind."""


def named(request: type, attributes: list[Any]) -> list[Any]:
    """Give each parameter the name of its field, and each field what checks its values; attrs calls this."""
    return [_checked(one) for one in attributes]


def _checked(attribute: Any) -> Any:
    declared: Parameter = attribute.metadata["parameter"]
    default, name = declared.default, attribute.name
    python = name if declared.python == "" else declared.python
    key = f"run.{name.replace('_', '-')}" if declared.key == "" else declared.key
    is_value = isinstance(default, str | int | float) and not isinstance(default, bool)
    unset = declared.unset or (str(default) if is_value else "")

    def convert(value: Any) -> Any:
        if value is None or (type(value) is type(default) and value == default):  # nobody gave it
            return default() if callable(default) else default
        return declared.kind.check(value, python or name)

    named = evolve(declared, name=name, python=python, key=key, unset=unset)
    return attribute.evolve(converter=convert, metadata={"parameter": named})


def held(
    is_right: Callable[[Any], bool], wanted: str, made: Callable[[Any], Any] = _same
) -> Callable[[Any, str], Any]:
    """Return what refuses a value that is not right, and says what it must be.

    Args:
        is_right: Whether a value is right.
        wanted: What it must be.
        made: Returns what the request holds of a right value.
    """

    def check(value: Any, where: str) -> Any:
        if not is_right(value):
            raise BadValueError(where, wanted, value)
        return made(value)

    return check


def text(*choices: str, about: str = "value") -> Kind:
    """Return the kind of texts, of some choices where there are any."""
    is_text = held(_is_text, "a text")

    def check(value: Any, where: str) -> Any:
        if choices and is_text(value, where) not in choices:
            raise UnknownNameError(about, value, choices)
        return is_text(value, where)

    return Kind("str", check, check, python="str")


def path() -> Kind:
    """Return the kind of paths."""
    check = held(
        lambda one: isinstance(one, str | bytes | os.PathLike) and one not in ("", b""),
        "a path",
        os.fsdecode,
    )
    return Kind("path", check, check, python="str | os.PathLike[str]")


def whole(least: int | None = 1) -> Kind:
    """Return the kind of whole numbers, above zero unless said otherwise."""
    wanted = "a whole number above zero" if least == 1 else "a whole number"
    check = held(
        lambda value: _is_number(value, int) and (least is None or value >= least),
        wanted,
        lambda value: (
            value if least is None else min(value, maxsize)
        ),  # which nothing ever counts up to
    )
    return Kind("int", check, _converting(int, check, wanted), python="int")


def number(least: float = 5e-324) -> Kind:
    """Return the kind of finite numbers, above zero unless said otherwise."""
    wanted = "a number" + (
        " above zero" if 0 < least < 1e-9 else f", {least:g} at least" if least > 0 else ""
    )
    check = held(
        lambda value: _is_number(value) and abs(value) <= float_info.max and value >= least, wanted
    )
    return Kind("number", check, _converting(float, check, wanted), python="float")


def share() -> Kind:
    """Return the kind of shares: a number from 0 to 1, or a text in percent such as ``1%``."""

    def check(value: Any, where: str) -> float:
        number = _share_of(value)
        if number is None or not 0 <= number <= 1:
            raise BadValueError(where, "a share such as 1% or 0.01", value)
        return number

    return Kind("share", check, check, python="float | str")


def _share_of(value: Any) -> float | None:
    """Return the number that a share means; None for what is not a number."""
    if not isinstance(value, str):
        return value if _is_number(value) else None
    text = value.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    if text.endswith("%"):
        return number / 100
    return None if number == 1 else number  # a bare 1 could mean all rows or one percent


def _is_number(value: Any, kind: type | UnionType = int | float) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def switch() -> Kind:
    """Return the kind of things that are so or not."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    check = held(lambda value: isinstance(value, bool), "true or false")
    return Kind(
        "bool",
        check,
        lambda text, where: check(words.get(text.lower(), text), where),
        is_switch=True,
        python="bool",
    )


def names(is_repeated: bool = False, thing: str | None = None) -> Kind:
    """Return the kind of several names, written with commas between.

    Args:
        is_repeated: Whether the flag is given once for each.
        thing: What an object may be that ``evaluate()`` takes in place of a name; None takes names alone.
    """

    wanted = "a list of names"
    is_list = held(lambda value: isinstance(value, list) and _are_texts(value), wanted)

    def check(value: Any, where: str) -> Any:
        found = (
            tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        )
        if not thing and not _are_texts(found):
            raise BadValueError(where, wanted, value)
        if not (found or thing or is_repeated):  # which would take everything, in place of nothing
            raise ConfigurationError(f"{where} names nothing.")
        return found

    def parse(given: Any, where: str) -> Any:
        texts = (given,) if isinstance(given, str) else given
        found = tuple(name for text in texts for name in _split_names(text))
        if texts and not found:
            raise ConfigurationError(f"{where} names nothing.")
        return found

    return Kind(
        "list of str",
        check,
        parse,
        lambda value, where: check(is_list(value, where), where),
        stored=lambda value, catalog: [recorded(one) for one in value],
        restored=lambda value: tuple(restored_object(one) for one in value),
        is_repeated=is_repeated,
        python=f"Sequence[{thing} | str]" if thing else "Sequence[str]",
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(values: Iterable[Any]) -> bool:
    return all(map(_is_text, values))


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
    check = held(
        lambda value: isinstance(value, Mapping),
        "a table of options",
        lambda value: {str(name).replace("-", "_"): one for name, one in value.items()},
    )
    return Kind("table", check, python="Mapping[str, Any]")


def pairs(form: str) -> Kind:
    """Return the kind of texts by text; errors tell in which form they are written."""
    check = held(
        lambda value: isinstance(value, Mapping) and _are_texts(value.values()),
        "a table of texts",
        dict,
    )
    return Kind(
        "table",
        check,
        partial(parse_pairs, form=form),
        is_repeated=True,
        python="Mapping[str, str]",
    )


def parse_pairs(texts: str | tuple[str, ...], what: str, form: str) -> dict[str, str]:
    """Read one ``key=value`` text, or several, whose form errors tell.

    Raises:
        ConfigurationError: One of them has another form, or a key stands twice.
    """
    found: dict[str, str] = {}
    for one in (texts,) if isinstance(texts, str) else texts:
        key, equals, value = one.partition("=")
        if not equals or not key or not value:
            raise ConfigurationError(f"{what} {one!r} has the wrong form: write it as {form}.")
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
    """Return what a run file keeps of an object; of a name, the name."""
    if isinstance(thing, str):
        return thing
    if not isinstance(thing, AbsentObject):
        kind = (
            thing
            if hasattr(thing, "__qualname__") and hasattr(thing, "__module__")
            else type(thing)
        )
        name = getattr(thing, "name", None) or getattr(thing, "__name__", "")
        thing = AbsentObject(str(name), f"{kind.__module__}.{kind.__qualname__}")
    return {"object": asdict(thing)}


def restored_object(found: Any) -> Any:
    """Return the object that :func:`recorded` remembers, as absent; anything else as it is."""
    if isinstance(found, Mapping) and isinstance(found.get("object"), Mapping):
        return AbsentObject(
            str(found["object"].get("name", "")), str(found["object"].get("type", ""))
        )
    return found


def _converting(
    convert: Callable[[str], Any], check: Callable[[Any, str], Any], wanted: str
) -> Callable[[Any, str], Any]:
    def parse(given: str, where: str) -> Any:
        try:
            value = convert(given)
        except ValueError:
            raise BadValueError(where, wanted, given) from None
        return check(value, where)

    return parse


@frozen
class SystemSpec:
    """A system as it was asked for.

    Attributes:
        name: Name of its component.
        options: Options by name.
        label: Its label in the run; None takes the name.
        steps: Further systems that it feeds, in order.
    """

    name: str
    options: Mapping[str, Any] = Factory(dict)
    label: str | None = None
    steps: tuple[SystemSpec, ...] = ()
    group: ClassVar[str] = "systems"

    @property
    def plain_label(self) -> str:
        """Its label; else the names of its component and of those that it feeds."""
        return self.label or "+".join((self.name, *(step.name for step in self.steps)))

    @property
    def text(self) -> str:
        """The spec as it would be written, without its label."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return "+".join(
            [
                f"{self.name}:{options}" if options else self.name,
                *(step.text for step in self.steps),
            ]
        )


@frozen
class DatasetSpec:
    """A dataset as it was asked for.

    Attributes:
        name: Name of its component, or the path of a file.
        config: Its configuration; None takes the default.
        options: Options by name.
        label: Its label in the run; None takes the name and configuration.
        split: Its split; None takes the default.
        fields: Source path of a field, by the field's name.
    """

    name: str
    config: str | None = None
    options: Mapping[str, Any] = Factory(dict)
    label: str | None = None
    split: str | None = None
    fields: Mapping[str, str] = Factory(dict)
    group: ClassVar[str] = "datasets"


Spec = TypeVar("Spec", bound=SystemSpec | DatasetSpec)


def numbered(label: str, mark: str) -> Iterator[str]:
    """Yield a label, and then the label with numbers behind a mark: ``a``, ``a#2``, ``a#3`` and so on."""
    yield label
    yield from (f"{label}{mark}{number}" for number in count(2))


def parse_system(text: str) -> SystemSpec:
    """Read a system spec.

    >>> parse_system("short=bm25:ratio=0.3").options
    {'ratio': '0.3'}

    Raises:
        ConfigurationError: The text is no spec.
    """
    label, name, rest = _split(text, "system")
    return SystemSpec(name, written_options(rest, f"system {name!r}"), label)


def parse_dataset(text: str) -> DatasetSpec:
    """Read a dataset spec.

    >>> spec = parse_dataset("needle:multi-key,length=8000")
    >>> spec.config, spec.options
    ('multi-key', {'length': '8000'})
    >>> parse_dataset("tickets,seed=4").options
    {'seed': '4'}

    Raises:
        ConfigurationError: The text is no spec.
    """
    label, name, rest = _split(text, "dataset")
    config = rest.pop(0) if rest and rest[0] and "=" not in rest[0] else None
    options = written_options(rest, f"dataset {name!r}")
    return DatasetSpec(name, config, options, label, options.pop("split", None))


def spec_of(kind: type[Spec], found: Mapping[str, Any]) -> Spec:
    """Return the spec that a run file keeps as a table."""
    values = {name: found[name] for name in fields_dict(kind) if name in found}
    if "steps" in values:
        values["steps"] = tuple(spec_of(SystemSpec, step) for step in values["steps"])
    return kind(**values)


def _split(text: str, what: str) -> tuple[str | None, str, list[str]]:
    """Return label, name and the parts behind it. A comma ends the name only where ``key=`` follows: paths may hold some."""
    end = _END_OF_NAME.search(text)
    head, tail = (text, None) if end is None else (text[: end.start()], text[end.end() :])
    label, equals, name = head.rpartition("=")
    name = name.strip()
    faults = {
        f"names no {what}": not name,
        "has no label before the equals sign": equals and not label.strip(),
    }
    faults["ends with a colon, but has nothing behind it"] = tail == ""
    for fault in (told for told, is_so in faults.items() if is_so):
        form = "[:key=value,...]" if what == "system" else "[:config][,key=value...]"
        raise ConfigurationError(f"The {what} {text!r} {fault}. Write [label=]name{form}.")
    return label.strip() or None, name, [] if tail is None else tail.split(",")


@frozen(eq=False)
class Examples:
    """Examples that were given as an object.

    Attributes:
        label: Their label; None where each row has its own.
        source: The examples.
    """

    label: str | None
    source: Iterable[Mapping[str, Any]]

    def count(self) -> int | None:
        """Return how many there are, or None when nobody knows before the end."""
        return len(self.source) if isinstance(self.source, Sized) else None


def one_system() -> Kind:
    """Return the kind of one system: a spec, or a table."""

    def check(value: Any, where: str) -> Any:
        found = _parsed(value)
        if not isinstance(found, SystemSpec):
            raise ConfigurationError(
                f"{where} is {value!r}, but must name a system: an object follows no other."
            )
        return found

    read = partial(_entry, SystemSpec)
    return Kind(
        "spec or table",
        check,
        check,
        read,
        stored=_keep,
        restored=_system_again,
        python="str | SystemSpec",
    )


def label_or_system() -> Kind:
    """Return the kind of what is the label of a system of the run, or one more system: a spec as a text, or an object."""
    return Kind(
        "str", _same, _same, held(_is_text, "a label"), stored=_keep, restored=_system_again
    )


def several_systems() -> Kind:
    """Return the kind of the systems of a run."""

    def check(value: Any, where: str) -> Any:
        return tuple(map(_parsed, value if isinstance(value, list | tuple) else [value]))

    return _several(SystemSpec, check)


def several_datasets() -> Kind:
    """Return the kind of the datasets of a run."""

    def check(value: Any, where: str) -> Any:
        if isinstance(value, Mapping):
            return tuple(_given(one, label) for label, one in value.items())
        return tuple(_given(one) for one in ((value,) if isinstance(value, str) else value))

    return _several(
        DatasetSpec,
        check,
        "Sequence[str | DatasetSpec] | Mapping[str, Iterable[Mapping[str, Any]]]",
    )


def _several(kind: type[Spec], check: Callable[[Any, str], Any], python: str = "Any") -> Kind:
    def read(value: Any, where: str) -> Any:
        return tuple(
            _entry(kind, entry, f"{where}[{place}]")
            for place, entry in enumerate(_a_list(value, where))
        )

    return Kind(
        "list",
        check,
        lambda texts, where: tuple(map(_PARSERS[kind], texts)),
        read,
        stored=lambda value, catalog: [_keep(one, catalog) for one in value],
        restored=lambda value: tuple(_again(kind, one) for one in value),
        is_repeated=True,
        python=python,
    )


def evaluator_options(kind: str = "evaluators") -> Kind:
    """Return the kind of options of evaluators, or of another kind of component, by the component's name."""
    plural = "extensions" if kind == "hooks" else kind

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping) or not all(
            isinstance(given, Mapping) for given in value.values()
        ):
            raise BadValueError(where, f"a table with a table for each of the {plural}", value)
        return {name: dict(given) for name, given in value.items()}

    def keep(value: Any, catalog: Any) -> Any:
        return {
            name: without_secrets(catalog.named(kind, name), given) for name, given in value.items()
        }

    return Kind("table", check, stored=keep, python="Mapping[str, Mapping[str, Any]]")


def safe_spec(catalog: Catalog, spec: Spec) -> Spec:
    """Return a spec, the steps of a system included, without secrets."""
    changes: dict[str, Any] = {
        "options": without_secrets(catalog.named(spec.group, spec.name), spec.options)
    }
    if isinstance(spec, SystemSpec):
        changes["steps"] = tuple(safe_spec(catalog, step) for step in spec.steps)
    return evolve(spec, **changes)


def redactor_of(catalog: Catalog, request: RunConfig) -> Redactor:
    """Return what takes the secrets of a run out of texts.

    Known are the values of options that a manifest calls secret, the environment variables that such options name, and the
    credentials in addresses. What an object keeps to itself is known to nobody else.
    """
    asked = [*request.systems, request.reader, *request.datasets]
    given = [(spec.group, spec.name, spec.options) for one in asked for spec in specs_in(one)]
    given += [("evaluators", name, options) for name, options in request.options.items()]
    given += [("hooks", name, options) for name, options in request.extension_options.items()]
    found = [
        secret
        for kind, name, options in given
        for secret in secret_values(catalog.named(kind, name), options)
    ]
    for component in catalog:
        for option in component.manifest.options.values():
            if option.secret and option.env:
                found += secrets_in(environ.get(option.env))
    return Redactor(found)


@contextmanager
def redact_errors(catalog: Catalog, request: RunConfig) -> Iterator[None]:
    """Take the secrets of a run out of what goes wrong meanwhile, as somebody else's code may repeat its own."""
    try:
        yield
    except ContextBenchError as error:
        error.args = (redactor_of(catalog, request).of(message_of(error)),)
        raise


def specs_in(asked: Any) -> Iterator[Any]:
    """Yield a spec, and those of the systems that a system feeds; nothing of what is no spec."""
    if isinstance(asked, SystemSpec | DatasetSpec):
        yield asked
        for step in asked.steps if isinstance(asked, SystemSpec) else ():
            yield from specs_in(step)


def _parsed(system: Any) -> Any:
    return parse_system(system) if isinstance(system, str) else system


def _given(one: Any, label: str | None = None) -> DatasetSpec | Examples | AbsentObject:
    if isinstance(one, Examples | AbsentObject):
        return one
    if isinstance(one, str | DatasetSpec):
        spec = parse_dataset(one) if isinstance(one, str) else one
        return spec if label is None else evolve(spec, label=label)
    return Examples(label, one)


def _keep(asked: Any, catalog: Any) -> Any:
    if isinstance(asked, SystemSpec | DatasetSpec):
        return asdict(safe_spec(catalog, asked), recurse=True)
    if not isinstance(asked, Examples):
        return recorded(asked)
    kept = recorded(asked.source)
    kept["object"]["name"] = asked.label or kept["object"]["name"]
    return kept


def _again(kind: type[Spec], found: Any) -> Any:
    again = restored_object(found)
    return spec_of(kind, found) if again is found and isinstance(found, Mapping) else again


_system_again = partial(_again, SystemSpec)


def _entry(kind: type[Spec], entry: Any, where: str) -> Any:
    """Return what the project file says of a system or dataset, as a text or as a table."""
    if isinstance(entry, str):
        return _PARSERS[kind](entry)
    values = dict(_table(kind, entry, where.rpartition(" ")[2]))
    if "steps" in values:
        steps = enumerate(values["steps"])
        values["steps"] = tuple(
            _entry(SystemSpec, step, f"{where}.steps[{place}]") for place, step in steps
        )
    spec = _PARSERS[kind](values.pop("spec")) if "spec" in values else kind(values.pop("name"))
    return evolve(spec, **values)


_PARSERS: Mapping[Any, Callable[[str], Any]] = {
    SystemSpec: parse_system,
    DatasetSpec: parse_dataset,
}
_BESIDE = ("label", "steps", "fields")
"""What may stand beside a spec in a table of the project file: it cannot say that itself."""


def _table(kind: type[Spec], entry: Any, where: str) -> Mapping[str, Any]:
    """Return a table of the project file: of a spec and what stands beside it, or of what it would hold as well."""
    if not isinstance(entry, Mapping):
        raise BadValueError(f"{PROJECT_FILE}: {where}", "a spec or a table", entry)
    known = ("spec", *fields_dict(kind))
    for key, value in entry.items():
        if key not in known:
            raise UnknownNameError(f"key of {where} in {PROJECT_FILE}", key, known)
        _OF_AN_ENTRY.get(key, _a_text)(value, f"{PROJECT_FILE}: {where}.{key}")
    if ("spec" in entry) == ("name" in entry):
        raise ConfigurationError(f"{PROJECT_FILE}: {where} needs either name or spec.")
    for key in entry:
        if "spec" in entry and key not in ("spec", *_BESIDE):
            raise ConfigurationError(
                f"{PROJECT_FILE}: {where} has a spec, so {key} must stand inside of it."
            )
    return entry


_a_text, _a_list = held(_is_text, "a text"), held(lambda value: isinstance(value, list), "a list")
_OF_AN_ENTRY = {
    "options": held(lambda value: isinstance(value, Mapping), "a table"),
    "fields": held(
        lambda value: isinstance(value, Mapping) and _are_texts(value.values()), "a table of texts"
    ),
    "steps": _a_list,
}
"""What the keys of a system or dataset in the project file hold, where it is no text."""
