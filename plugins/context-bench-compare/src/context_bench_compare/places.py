"""Places: where a row stands whatever its system, as one number, so that a million of them fit into an array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_REPETITIONS = 1 << 10
_POSITIONS = 1 << 33

CONTENT_BITS = 53
"""Bits of the number that stands for an example's content: with the repetition it fills a signed number of 64 bits."""


def place_of(dataset: int, position: int, repetition: int = 0) -> int:
    """Return the place of a row, or of an example, as a number that sorts as dataset, position and repetition do."""
    return (dataset * _POSITIONS + position) * _REPETITIONS + repetition


def example_at(identity: Sequence[int]) -> int:
    """Return the place of an example by its identity in a run: dataset and position."""
    return place_of(identity[0], identity[1])


def example_place(place: int) -> int:
    """Return the place of a row's example."""
    return place - place % _REPETITIONS


def example_places(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of rows' examples."""
    return places - places % _REPETITIONS


def identity_of(place: int) -> tuple[int, int]:
    """Return dataset and position of a place."""
    return place // _REPETITIONS // _POSITIONS, place // _REPETITIONS % _POSITIONS


def place_of_content(number: int, repetition: int) -> int:
    """Return one number for the content of an example, of which :data:`CONTENT_BITS` bits count, and the repetition of a row."""
    return number % (1 << CONTENT_BITS) * _REPETITIONS + repetition


def dataset_at(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each place's dataset."""
    return places // (_REPETITIONS * _POSITIONS)


def sample_at(place: int) -> int:
    """Return the repetition of a row, counted from 0."""
    return place % _REPETITIONS
