"""Take the fields of examples from other columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from context_bench.errors import (
    DatasetError,
    did_you_mean,
)

if TYPE_CHECKING:
    pass


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
        elif (
            isinstance(value, list | tuple)
            and part.lstrip("-").isdecimal()
            and -len(value) <= int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _check(
    example: Mapping[str, Any], fields: Mapping[str, str], found: Mapping[str, Any], name: str
) -> None:
    for target, source in fields.items():
        if found[target] is _ABSENT:
            columns = list(example)
            hint = did_you_mean(source, columns)
            raise DatasetError(
                f"--field {target}={source}: the first row of {name} has no {source!r}. "
                f"{hint + ' ' if hint.startswith('Did') else ''}Its columns are: "
                f"{', '.join(columns)}."
            )
