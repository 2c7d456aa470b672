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

_NOTHING = {"d": math.nan, "q": -(1 << 63), "b": -1}


class Packed(Sequence[Any]):
    """Numbers, and ``None`` where there is none.

    Args:
        kind: Type code of :mod:`array`: ``"d"`` for numbers, ``"q"`` for whole ones, ``"b"`` for truth values.
    """

    def __init__(self, kind: str = "d") -> None:
        self._numbers: array[Any] = array(kind)
        self._nothing: array[Any] = array(kind, [_NOTHING[kind]])

    def put(self, line: int, value: float | None) -> None:
        """Take the value of a line."""
        self.fill(line + 1)
        self._numbers[line] = self._nothing[0] if value is None else value

    def fill(self, lines: int) -> None:
        """Make it as long as there are lines."""
        missing = lines - len(self._numbers)
        if missing == 1:
            self._numbers.append(self._nothing[0])
        elif missing > 1:
            self._numbers.extend(self._nothing * missing)

    def floats(self) -> NDArray[np.float64]:
        """Return the numbers as an array, with nan where there is none."""
        numbers = np.array(self._numbers, dtype=np.float64)
        if self._numbers.typecode != "d":
            numbers[numbers == self._nothing[0]] = np.nan
        return numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        number = self._numbers[index]
        return None if number != number or number == self._nothing[0] else number


@frozen(eq=False)
class Line:
    """What a line is of.

    Attributes:
        identity: Number of the dataset, position and repetition.
        id: Id of the example.
        dataset: Label of its dataset.
    """

    identity: tuple[int, int, int]
    id: str
    dataset: str


class Lines(Sequence[Line]):
    """What all lines are of, in canonical order."""

    def __init__(self) -> None:
        self._places = array("q")
        self._labels: dict[str, int] = {}
        self._datasets = array("i")
        self._ids = bytearray()
        self._ends = array("q", [0])

    def append(self, line: Line) -> None:
        """Add a line."""
        self._places.append(place_of(*line.identity))
        self._datasets.append(self._labels.setdefault(line.dataset, len(self._labels)))
        self._ids += line.id.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._ids))

    @property
    def places(self) -> NDArray[np.int64]:
        """The packed places of all lines."""
        return np.array(self._places, dtype=np.int64)

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
        text = self._ids[self._ends[at] : self._ends[at + 1]].decode("utf-8", "surrogatepass")
        return Line(identity, text, list(self._labels)[self._datasets[index]])
