"""What a user asks for, in the words of the command line and the project file; and fields that are named by a path.

A system is ``[label=]name[:key=value[,key=value...]]``. A dataset is ``[label=]name[:config][,key=value...]``, or the path
of a file in place of the name. In both, a comma does for the colon where nothing but options follows: ``needle,length=8000``.
Values cannot hold a comma; the project file can say anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import Factory, asdict, frozen

from context_bench.errors import ConfigurationError, DatasetError, did_you_mean

_END_OF_NAME = re.compile(r":|,(?=[A-Za-z_][\w.-]*=)")


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

    @property
    def text(self) -> str:
        """The spec as it would be written, without its label."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return "+".join([f"{self.name}:{options}" if options else self.name, *(step.text for step in self.steps)])


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


def parse_system(text: str) -> SystemSpec:
    """Read a system spec.

    >>> parse_system("short=bm25:ratio=0.3").options
    {'ratio': '0.3'}

    Raises:
        ConfigurationError: The text is no spec.
    """
    label, name, rest = _split(text, "system")
    if rest == [""]:
        raise ConfigurationError(f"The system {text!r} ends with a colon, but gives no option.")
    options = {}
    for number, part in enumerate(rest):
        key, equals, value = part.partition("=")
        if not equals or not key:  # a later part is not repeated: it may be the rest of a secret that holds a comma
            told = repr(part) if number == 0 else f"part {number + 1}"
            raise ConfigurationError(f"In the system {name!r}, {told} is no option: write key=value.")
        options[key] = value
    return SystemSpec(name, options, label)


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
    config = None
    options = {}
    for number, part in enumerate(rest):
        key, equals, value = part.partition("=")
        if equals and key:
            options[key] = value
        elif number == 0 and part:
            config = part
        else:
            raise ConfigurationError(f"In the dataset {text!r}, {part!r} is no option: write key=value.")
    split = options.pop("split", None)
    return DatasetSpec(name, config, options, label, split)


def spec_to_dict(spec: SystemSpec | DatasetSpec) -> dict[str, Any]:
    """Return a spec as JSON-like values, as run files keep it."""
    return asdict(spec, recurse=True)


def system_from_dict(found: Mapping[str, Any]) -> SystemSpec:
    """Return the system spec that :func:`spec_to_dict` wrote."""
    steps = tuple(system_from_dict(step) for step in found.get("steps", ()))
    return SystemSpec(found["name"], found.get("options", {}), found.get("label"), steps)


def dataset_from_dict(found: Mapping[str, Any]) -> DatasetSpec:
    """Return the dataset spec that :func:`spec_to_dict` wrote."""
    return DatasetSpec(
        found["name"],
        found.get("config"),
        found.get("options", {}),
        found.get("label"),
        found.get("split"),
        found.get("fields", {}),
    )


def _split(text: str, what: str) -> tuple[str | None, str, list[str]]:
    """Return label, name and the parts behind it. A comma ends the name only where ``key=`` follows: paths may hold some."""
    end = _END_OF_NAME.search(text)
    head, tail = (text, None) if end is None else (text[: end.start()], text[end.end() :])
    label, equals, name = head.rpartition("=")
    name = name.strip()
    if not name or (equals and not label.strip()):
        raise ConfigurationError(f"{text!r} names no {what}. Write [label=]name[:key=value,...].")
    return label.strip() or None, name, [] if tail is None else tail.split(",")


_ABSENT = object()


def rename_fields(
    examples: Iterable[Mapping[str, Any]], fields: Mapping[str, str], name: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the examples with fields taken from other places.

    A source is a column, or a dotted path into one (``outputs.0.text``). A column that is taken whole is renamed: it
    does not stay under its old name. A later row without the source has no such field.

    Raises:
        DatasetError: The first row has no such source; the message lists the columns there are.
    """
    for position, example in enumerate(examples):
        if not isinstance(example, Mapping):  # told by the feed, with its position
            yield example  # type: ignore[unreachable]
            continue
        found = {target: _look_up(example, source) for target, source in fields.items()}
        if position == 0:
            _check(example, fields, found, name)
        renamed = {source for source in fields.values() if source in example}
        kept = {column: value for column, value in example.items() if column not in renamed}
        yield {**kept, **{target: value for target, value in found.items() if value is not _ABSENT}}


def _look_up(example: Mapping[str, Any], path: str) -> Any:
    if path in example:
        return example[path]
    value: Any = example
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.lstrip("-").isdecimal() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _check(example: Mapping[str, Any], fields: Mapping[str, str], found: Mapping[str, Any], name: str) -> None:
    for target, source in fields.items():
        if found[target] is _ABSENT:
            columns = list(example)
            hint = did_you_mean(source, columns)
            raise DatasetError(
                f"--field {target}={source}: the first row of {name} has no {source!r}. "
                f"{hint + ' ' if hint.startswith('Did') else ''}Its columns are: {', '.join(columns)}."
            )
