"""The columns of a row, each declared once: a field of an attrs class, with its type and its
description.

:class:`RowColumns` holds what is measured about an answer. Table ``responses`` of the run file, how
it is written, read and protected by a checksum, :class:`~context_bench.records.EvalRow`, what
metrics read, the JSON export and the columns of CSV and Parquet files follow from its fields.
``docs/reference/run-file.md`` says how to add one.
"""

from __future__ import annotations

from typing import Any

import attrs
from attrs import define, field, frozen

_METADATA = "context_bench.column"


@frozen
class Column:
    """What a field is used for as a column.

    Attributes:
        description: What it holds, as the documentation of the run file says it.
        exported: Whether the JSON export holds it.
        tabular: Whether CSV and Parquet files hold it.
        aggregated: Whether metrics read it.
        canonical: Whether it is equal in equal runs.
    """

    description: str
    exported: bool = True
    tabular: bool = False
    aggregated: bool = True
    canonical: bool = True


def column(
    description: str,
    *,
    exported: bool = True,
    tabular: bool = False,
    aggregated: bool = True,
    canonical: bool = True,
) -> dict[str, Column]:
    """Return the metadata that makes an attrs field a column; see :class:`Column`."""
    return {
        _METADATA: Column(
            description=description,
            exported=exported,
            tabular=tabular,
            aggregated=aggregated,
            canonical=canonical,
        )
    }


def columns_of(record: type[Any]) -> dict[str, Column]:
    """Return the columns that an attrs class declares, by name, in their order."""
    return {
        attribute.name: attribute.metadata[_METADATA]
        for attribute in attrs.fields(record)
        if _METADATA in attribute.metadata
    }


def types_of(record: type[Any]) -> dict[str, Any]:
    """Return the types of the columns that an attrs class declares, by name."""
    attrs.resolve_types(record)
    types = {attribute.name: attribute.type for attribute in attrs.fields(record)}
    return {name: types[name] for name in columns_of(record)}


def positive_count(count: float | None) -> int | None:
    """Return a count of prompt tokens. No prompt has 0 tokens: an endpoint that reports 0 does not
    count."""
    return int(count) if count is not None and count >= 1 else None


@define(eq=False, kw_only=True)
class RowColumns:
    """What is measured about one answer: the columns that a stored row, a row that is read, and
    metrics share."""

    input_tokens: int = field(
        default=0,
        metadata=column("tokens of the text that the system was given", tabular=True),
    )
    reported_tokens: int | None = field(
        default=None,
        converter=positive_count,
        metadata=column(
            "prompt tokens that the model's endpoint reported; null when it reported none",
            tabular=True,
        ),
    )
    response_tokens: int = field(
        default=0,
        metadata=column("tokens of the response: reported, or counted", tabular=True),
    )
    context_tokens: int | None = field(
        default=None,
        metadata=column(
            "tokens of the text that went on to the model, counted as `input_tokens` are; "
            "null when the system returned none of it"
        ),
    )
    cached_tokens: int | None = field(
        default=None,
        metadata=column(
            "those of `reported_tokens` that the provider read from its cache; null when unknown"
        ),
    )
    cost: float | None = field(
        default=None,
        metadata=column(
            "price of the response, in the currency of the run; null when unknown", tabular=True
        ),
    )
    cost_source: str | None = field(
        default=None,
        metadata=column(
            "`reported` by the endpoint, or computed from `prices`; null without a cost",
            aggregated=False,
        ),
    )
    outcome: str | None = field(
        default=None,
        metadata=column(
            "how the reply ended: `cut` or `cut-empty` at a token limit, `filtered`, `refused` or "
            "`empty`; null for a complete answer",
            tabular=True,
        ),
    )
    usage_problem: str | None = field(
        default=None,
        metadata=column(
            "why a token count that the endpoint reported is unknown; null when none is"
        ),
    )
    latency: float = field(
        default=0.0,
        metadata=column(
            "seconds: measured by the system, or by the clock", tabular=True, canonical=False
        ),
    )
    system_latency: float | None = field(
        default=None,
        metadata=column(
            "seconds of `latency` that the system took without its model; null when unknown",
            canonical=False,
        ),
    )
    attempts: int = field(
        default=1,
        metadata=column("how often the system was called", tabular=True, canonical=False),
    )
    reused: bool = field(
        default=False,
        converter=bool,
        metadata=column(
            "1 when the response was taken from an earlier run", tabular=True, canonical=False
        ),
    )
    recorded: bool = field(
        default=False,
        converter=bool,
        metadata=column(
            "1 when the system passed on a response that was recorded before, and called nothing"
        ),
    )

    @property
    def is_called(self) -> bool:
        """Whether the run made a call for this row, which took time and perhaps money."""
        return not (self.reused or self.recorded)


ROW_COLUMNS = columns_of(RowColumns)
"""The declared columns of :class:`RowColumns`, by name."""
