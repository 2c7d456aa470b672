"""Columns of numbers, and the lines that they belong to, of so many rows as a run has: packed, as a million objects fit into no small memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from context_bench_compare.places import identity_of, place_of, sample_at

_NOTHING = {"d": math.nan, "i": -(1 << 31), "b": -1}


class Packed(Sequence[Any]):
    """Numbers, and ``None`` where there is none; what no line has takes no memory.

    Args:
        kind: Type code of :mod:`array`: ``"d"`` for numbers, ``"i"`` for whole ones, ``"b"`` for truth values.
    """

    def __init__(self, kind: str = "d") -> None:
        self._numbers: array[Any] = array(kind)  # up to the last line that has one
        self._nothing: array[Any] = array(kind, [_NOTHING[kind]])
        self._lines = 0

    def put(self, line: int, value: float | None) -> None:
        """Take the value of a line."""
        self._lines = max(self._lines, line + 1)
        missing = line - len(self._numbers)
        if value is None:
            if missing < 0:
                self._numbers[line] = self._nothing[0]
            return
        if missing >= 0:
            self._numbers.extend(self._nothing * (missing + 1))
        try:
            self._numbers[line] = value
        except (OverflowError, TypeError):  # larger than a file of ours has it, or no whole number
            self._numbers, self._nothing = array("d", self._present()), array("d", [math.nan])
            self._numbers[line] = value

    def fill(self, lines: int) -> None:
        """Make it as long as there are lines."""
        self._lines = max(self._lines, lines)

    @property
    def is_empty(self) -> bool:
        """Whether no line has a number."""
        return not self._numbers

    def is_equal(self, other: Packed) -> bool:
        """Return whether another column holds the same, bit by bit."""
        mine, theirs = self._numbers, other._numbers
        return (len(self), len(mine), mine.typecode) == (
            len(other),
            len(theirs),
            theirs.typecode,
        ) and not (mine and memoryview(mine).cast("B") != memoryview(theirs).cast("B"))

    def floats(self) -> NDArray[np.float64]:
        """Return the numbers as an array that is only read, with nan where there is none."""
        numbers = self._present()
        missing = len(self) - len(numbers)
        return np.pad(numbers, (0, missing), constant_values=np.nan) if missing else numbers

    def _present(self) -> NDArray[np.float64]:
        if self._numbers.typecode == "d" and self._numbers:  # not copied
            numbers: NDArray[np.float64] = np.frombuffer(self._numbers, dtype=np.float64)
            numbers.flags.writeable = False
            return numbers
        numbers = np.array(self._numbers, dtype=np.float64)
        numbers[numbers == self._nothing[0]] = np.nan
        return numbers

    def __len__(self) -> int:
        return self._lines

    def __getitem__(self, index: Any) -> Any:
        if len(self._numbers) <= index < self._lines:
            return None
        number = self._numbers[index]
        return None if number != number or number == self._nothing[0] else number


@frozen(eq=False)
class Line:
    """What a line is of.

    Attributes:
        identity: Number of the dataset, position and repetition.
        id: Id of the example; empty where ids are not kept.
        dataset: Label of its dataset.
    """

    identity: tuple[int, int, int]
    id: str
    dataset: str

    @property
    def name(self) -> str:
        """Its identity as a text, such as ``0-17-0``; a server has the rows of the line under it."""
        return "-".join(map(str, self.identity))


class Lines(Sequence[Line]):
    """What all lines are of, in canonical order.

    Args:
        keeps_ids: Whether the ids of their examples are kept.
    """

    def __init__(self, keeps_ids: bool = True) -> None:
        self._keeps_ids = keeps_ids
        self._places = array("q")
        self._labels: dict[str, int] = {}
        self._datasets = array("i")
        self._ids = bytearray()
        self._ends = array("q", [0])

    def append(self, line: Line) -> None:
        """Add a line."""
        self._places.append(place_of(*line.identity))
        self._datasets.append(self._labels.setdefault(line.dataset, len(self._labels)))
        if self._keeps_ids:
            self._ids += line.id.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._ids))

    @property
    def places(self) -> NDArray[np.int64]:
        """The packed places of all lines; an array that is only read."""
        if not self._places:
            return np.zeros(0, dtype=np.int64)
        places: NDArray[np.int64] = np.frombuffer(self._places, dtype=np.int64)
        places.flags.writeable = False
        return places

    @property
    def datasets(self) -> list[str]:
        """Labels of the datasets, in order."""
        return list(self._labels)

    def are_of(self, dataset: str) -> NDArray[np.bool_]:
        """Return which lines are of a dataset, by its label."""
        numbers = np.array(self._datasets, dtype=np.int32)
        return np.equal(numbers, self._labels[dataset])

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        place = self._places[index]
        at = index % len(self._places)
        identity = (*identity_of(place), sample_at(place))
        ends = self._ends[at : at + 2] if self._keeps_ids else (0, 0)
        name = self._ids[slice(*ends)].decode("utf-8", "surrogatepass")
        return Line(identity, name, list(self._labels)[self._datasets[index]])
