"""Where a record stands, and what else its dataset holds: the second argument of a definition's ``example`` function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, frozen


@frozen
class Row:
    """The place of a record.

    Attributes:
        number: How many records stand before it in its split, over all parts.
        config: The configuration that it comes from; empty when the dataset has one only.
        split: The split that it comes from.
        tables: The definition's tables by name, each its records by key.
        together: The records that share the value of the definition's ``group_by``; empty where it is not set.
    """

    number: int = 0
    config: str = ""
    split: str = ""
    tables: Mapping[str, Mapping[str, Any]] = Factory(dict)
    together: Sequence[Mapping[str, Any]] = ()


FIRST = Row()
"""The first row of a dataset without configurations."""


def together(
    records: Iterable[Mapping[str, Any]], field: str | None
) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the records that are one: those behind each other with one value of a field; each alone without a field or a value.

    >>> [len(found) for found in together([{"id": 1}, {"id": 1}, {"id": 2}, {}, {}], "id")]
    [2, 1, 1, 1]
    """
    found: list[Mapping[str, Any]] = []
    last: Any = None
    for record in records:
        value = record.get(field) if field is not None else None
        if found and (value is None or value != last):
            yield found
            found = []
        found.append(record)
        last = value
    if found:
        yield found
