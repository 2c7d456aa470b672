"""Judgements in a file of the user's, whose columns the command names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_validation.judgements import Answer, Judgements, Preference, Rating
from context_bench_validation.layouts import vote_of
from context_bench_validation.records import Record


@frozen
class Columns:
    """Which column holds what.

    Attributes:
        response: The response, in a file of ratings.
        ratings: A dimension each.
        response_a: The first response, in a file of preferences.
        response_b: The second.
        preferred: The vote.
        item: What rows share that are not independent; None if each row is independent.
        system: The system that wrote the response.
        fields: Column by the field of the example that it fills.
    """

    response: str | None = None
    ratings: tuple[str, ...] = ()
    response_a: str | None = None
    response_b: str | None = None
    preferred: str | None = None
    item: str | None = None
    system: str | None = None
    fields: Mapping[str, str] = {}

    @property
    def used(self) -> list[str]:
        """The columns that the user named."""
        named = (
            self.response,
            self.response_a,
            self.response_b,
            self.preferred,
            self.item,
            self.system,
        )
        return [name for name in (*named, *self.ratings, *self.fields.values()) if name is not None]

    def check(self, records: Sequence[Record]) -> None:
        """Check that the file has the named columns, and that they make up one kind of judgement.

        Raises:
            ConfigurationError: A column is missing, or the columns do not fit together.
        """
        is_rating = self.response is not None and bool(self.ratings)
        is_vote = None not in (self.response_a, self.response_b, self.preferred)
        any_of_votes = any((self.response_a, self.response_b, self.preferred))
        if is_rating == is_vote or (is_rating and any_of_votes):
            raise ConfigurationError(
                "The file is in no published layout. Name its columns: --response and --rating for ratings, or "
                "--response-a, --response-b and --preferred for votes. "
                f"It has: {', '.join(map(str, records[0]))}."
            )
        for number, record in enumerate(records, start=1):
            missing = [name for name in self.used if name not in record]
            if missing:
                raise ConfigurationError(
                    f"Row {number} has no column {missing[0]!r}. It has: {', '.join(map(str, record))}."
                )


def read_columns(records: Sequence[Record], columns: Columns) -> Judgements:
    """Return the judgements of the user's own records.

    Rows with one item, system and response are ratings of one response by several people.

    Raises:
        ConfigurationError: The columns do not fit the file.
        DatasetError: A cell is not a rating or a vote.
    """
    columns.check(records)
    if columns.preferred is not None:
        return Judgements("own columns", preferences=tuple(_votes(records, columns)))
    return Judgements("own columns", ratings=tuple(_ratings(records, columns)))


def _votes(records: Sequence[Record], columns: Columns) -> list[Preference]:
    preferences = []
    for number, record in enumerate(records, start=1):
        item = _item(record, columns, number)
        first = str(record[str(columns.response_a)])
        second = str(record[str(columns.response_b)])
        example = _example(record, columns)
        preferences.append(
            Preference(
                item=item,
                label=item,
                first=Answer({**example, "other": second}, first),
                second=Answer({**example, "other": first}, second),
                vote=vote_of(record[str(columns.preferred)], f"Row {number}: {columns.preferred}"),
            )
        )
    return preferences


def _ratings(records: Sequence[Record], columns: Columns) -> list[Rating]:
    groups: dict[tuple[str, str | None, str], list[Record]] = {}
    for number, record in enumerate(records, start=1):
        system = None if columns.system is None else str(record[columns.system])
        response = str(record[str(columns.response)])
        groups.setdefault((_item(record, columns, number), system, response), []).append(
            {**record, _ROW: number}
        )
    ratings = []
    for (item, system, response), group in groups.items():
        by_dimension = {}
        for name in columns.ratings:
            values = [_rating(record[name], name, record[_ROW]) for record in group]
            known = tuple(value for value in values if value is not None)
            if known:
                by_dimension[name] = known
        answer = Answer(_example(group[0], columns), response)
        label = item if system is None else f"{item} {system}"
        ratings.append(Rating(item, label, system, answer, by_dimension))
    return ratings


_ROW = "\0row"
"""Under this name a record carries its number; no column can have it."""


def _item(record: Record, columns: Columns, number: int) -> str:
    return f"row {number}" if columns.item is None else str(record[columns.item])


def _example(record: Record, columns: Columns) -> dict[str, Any]:
    """Return the fields of an example: the named ones, and every column that has no other use under its own name."""
    used = {*columns.used, _ROW, "dataset"}
    example = {name: value for name, value in record.items() if name not in used}
    example |= {field: record[column] for field, column in columns.fields.items()}
    return example


def _rating(value: Any, name: str, number: int) -> float | None:
    """Return a rating; None for an empty cell."""
    if value is None or str(value).strip() == "":
        return None
    try:
        rating = float(value)
    except (TypeError, ValueError):
        rating = float("nan")
    if not isfinite(rating):
        raise DatasetError(f"Row {number}: {name} must be a number, got {value!r}.")
    return rating
