"""The rows of several run files as those of one: their lines in canonical order, and which
positions are missing or there twice.

The files are read side by side, each in the order of its rows, so memory does not grow with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from attrs import define, field

from context_bench.store.keys import RowId, example_of
from context_bench.store.reader import RunReader
from context_bench.store.tables import EVALUATIONS, ROW_TABLES, Record, Table, Values, of_types

_AT_ONCE = 2_000
"""How many lines are written in one transaction."""
_SHOWN = 12
"""How many ranges of positions a sentence lists."""


def merged_lines(readers: Sequence[RunReader]) -> Iterator[tuple[Table[Any], list[Values]]]:
    """Yield the lines of all tables of rows, a table after the other, in groups.

    Each line is checked as it is when a row is read: no value has another type, and the checksum is
    that of its values. A line of ``evaluations`` is covered together with its scores, which readers
    of the new file check.

    Raises:
        StoreError: A line is damaged.
    """
    for table in ROW_TABLES:
        streams = [_checked_lines(reader, table) for reader in readers]
        group: list[Values] = []
        for line in merge(*streams, key=itemgetter(0)):
            group.append(line)
            if len(group) == _AT_ONCE:
                yield table, group
                group = []
        if group:
            yield table, group


def _checked_lines(reader: RunReader, table: Table[Record]) -> Iterator[Values]:
    order = ", ".join((table.identity, *table.within))
    query = table.select_statement(f"ORDER BY {order}")
    has_own_checksum = table.has_checksum and table is not EVALUATIONS
    for lines in reader.lists(query):
        if has_own_checksum:
            for number, record, check_sum in table.read(lines):
                table.verify(number, record, check_sum)
            yield from lines
        else:
            yield from of_types(table.allowed, lines, table.name)


@define
class Coverage:
    """Which rows of a run several files have together.

    Attributes:
        rows: Number of rows.
        examples: Number of examples of each dataset that have all of their rows, by its number.
        missing: Ranges of positions that lack a row, by number of the dataset; whole only where the
            positions of a dataset leave no gap.
        twice: Ranges of positions of which two files have the same row, by number of the dataset.
    """

    rows: int = 0
    examples: Counter[int] = field(factory=Counter)
    missing: dict[int, list[range]] = field(factory=dict)
    twice: dict[int, list[range]] = field(factory=dict)


def coverage(
    readers: Sequence[RunReader], rows_each: int, lengths: Mapping[int, int | None]
) -> Coverage:
    """Return which rows several run files have together.

    Args:
        readers: The run files.
        rows_each: How many rows each example has at least.
        lengths: Number of examples by number of the dataset; None where positions may leave gaps.
    """
    result = Coverage()
    expected = dict.fromkeys(lengths, 0)
    identities = merge(*(reader.row_ids() for reader in readers))
    for example, numbers in groupby(identities, key=example_of):
        rows = list(numbers)
        dataset, position, *_ = RowId.unpack(example)
        if lengths.get(dataset) is not None:
            _extend(result.missing, dataset, expected[dataset], position)
            expected[dataset] = position + 1
        distinct = len(set(rows))
        result.rows += distinct
        if distinct < len(rows):
            _extend(result.twice, dataset, position, position + 1)
        if distinct < rows_each:
            _extend(result.missing, dataset, position, position + 1)
        else:
            result.examples[dataset] += 1
    for dataset, length in lengths.items():
        if length is not None:
            _extend(result.missing, dataset, expected[dataset], length)
    return result


def _extend(ranges: dict[int, list[range]], dataset: int, start: int, end: int) -> None:
    """Add positions to the ranges of a dataset; those come in order."""
    if start >= end:
        return
    known = ranges.setdefault(dataset, [])
    if known and known[-1].stop == start:
        start = known.pop().start
    known.append(range(start, end))


def positions_text(ranges: Sequence[range]) -> str:
    """Return positions for a sentence.

    >>> positions_text([range(0, 1), range(4, 7)])
    'positions 0, 4-6'
    """
    parts = [
        str(part.start) if len(part) == 1 else f"{part.start}-{part.stop - 1}"
        for part in ranges[:_SHOWN]
    ]
    count = sum(map(len, ranges))
    rest = count - sum(map(len, ranges[:_SHOWN]))
    if rest:
        parts.append(f"and {rest} more")
    noun = "position" if count == 1 else "positions"
    return f"{noun} {', '.join(parts)}"
