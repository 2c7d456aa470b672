"""Rows as sequences: read from a run file when they are asked for, and some of those."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import overload

from context_bench.records import EvalRow
from context_bench.runs import Run
from context_bench.store.reader import RunReader


class StoredRows(Sequence[EvalRow]):
    """The rows of a run file, read when they are asked for. ``owner`` is kept alive with them."""

    def __init__(self, reader: RunReader, owner: object = None) -> None:
        self.reader = reader
        self._run = Run(reader)
        self._owner = owner

    def __len__(self) -> int:
        return len(self._run)

    def __iter__(self) -> Iterator[EvalRow]:
        yield from self._run.rows()  # a generator of its own keeps the file's owner alive while it runs

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | Sequence[EvalRow]:
        if isinstance(index, slice):
            return [self._run[place] for place in range(*index.indices(len(self)))]
        return self._run[index]


class ChosenRows(Sequence[EvalRow]):
    """Those of some rows that a function keeps, each read when it is asked for."""

    def __init__(self, rows: Sequence[EvalRow], keep: Callable[[EvalRow], bool]) -> None:
        self._rows, self._keep = rows, keep

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[EvalRow]:
        yield from filter(self._keep, self._rows)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | Sequence[EvalRow]:
        if isinstance(index, slice):
            return list(self)[index]
        if index < 0:
            index += len(self)
        for row in islice(self, index, None) if index >= 0 else ():
            return row
        raise IndexError(f"there are {len(self)} rows, and none at {index}")
