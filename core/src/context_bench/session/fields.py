"""Take the fields of examples from other columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench.errors import DatasetError, did_you_mean

_ABSENT = object()


def rename_fields(
    examples: Iterable[Mapping[str, Any]], fields: Mapping[str, str], name: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the examples with fields taken from other places.

    A source is a column, or a dotted path into one (``outputs.0.text``). A column that is taken
    whole is renamed: it does not stay under its old name. A later row without the source has no
    such field.

    Raises:
        DatasetError: The first row has no such source; the message lists the columns there are.
    """
    for position, example in enumerate(examples):
        if not isinstance(example, Mapping):  # the job source reports it, with its position
            yield example  # type: ignore[unreachable]
            continue
        values = {target: _look_up(example, source) for target, source in fields.items()}
        if position == 0:
            _check(example, fields, values, name)
        sources = set(fields.values())
        renamed = {column: value for column, value in example.items() if column not in sources}
        renamed.update({name: value for name, value in values.items() if value is not _ABSENT})
        yield renamed


def _look_up(example: Mapping[str, Any], path: str) -> Any:
    if path in example:
        return example[path]
    value: Any = example
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and _is_index(part, len(value)):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _is_index(text: str, length: int) -> bool:
    return text.lstrip("-").isdecimal() and -length <= int(text) < length


def _check(
    example: Mapping[str, Any],
    fields: Mapping[str, str],
    values: Mapping[str, Any],
    name: str,
) -> None:
    """Check that the first row has every source."""
    for target, source in fields.items():
        if values[target] is not _ABSENT:
            continue
        columns = list(example)
        sentences = [f"--field {target}={source}: the first row of {name} has no {source!r}."]
        hint = did_you_mean(source, columns)
        if hint.startswith("Did"):
            sentences.append(hint)
        sentences.append(f"Its columns are: {', '.join(columns)}.")
        raise DatasetError(" ".join(sentences))
