"""Identities: where a row stands in its run, as one integer whose bits nobody else takes apart."""

from __future__ import annotations

from typing import NamedTuple

from context_bench.errors import ConfigurationError

_SAMPLE_BITS = 10
_SLOT_BITS = 10
_POSITION_BITS = 33
_DATASET_BITS = 10

MAX_DATASETS = 1 << _DATASET_BITS
MAX_POSITIONS = 1 << _POSITION_BITS
MAX_SLOTS = 1 << _SLOT_BITS
MAX_SAMPLES = 1 << _SAMPLE_BITS

_REPETITION = (1 << _SLOT_BITS + _SAMPLE_BITS) - 1
"""The bits of slot and sample: without them, an identity is that of its example."""


class RowId(NamedTuple):
    """The identity of a row.

    Attributes:
        dataset: Number of the dataset in this run, counted from 0 in the order of the plan.
        position: Place of the example in its dataset's stream, counted from 0.
        slot: Number of the system in this run, counted from 0.
        sample: Number of the repetition of this example with this system, counted from 0.
    """

    dataset: int
    position: int
    slot: int = 0
    sample: int = 0

    def pack(self) -> int:
        """Return the identity as one non-negative 63-bit integer that sorts as the tuple does.

        Raises:
            ConfigurationError: A part is out of its range (1,024 datasets, slots and samples; 2**33 positions).
        """
        dataset, position, slot, sample = self
        if dataset >> _DATASET_BITS or position >> _POSITION_BITS or slot >> _SLOT_BITS or sample >> _SAMPLE_BITS:
            raise ConfigurationError(
                f"{self} is out of range: a run holds at most {MAX_DATASETS} datasets of {MAX_POSITIONS} examples, "
                f"{MAX_SLOTS} systems and {MAX_SAMPLES} samples. Split it into several runs."
            )
        return ((dataset << _POSITION_BITS | position) << _SLOT_BITS | slot) << _SAMPLE_BITS | sample

    @classmethod
    def unpack(cls, number: int) -> RowId:
        """Return the identity that :meth:`pack` wrote."""
        sample = number & (MAX_SAMPLES - 1)
        number >>= _SAMPLE_BITS
        slot = number & (MAX_SLOTS - 1)
        number >>= _SLOT_BITS
        return cls(number >> _POSITION_BITS, number & (MAX_POSITIONS - 1), slot, sample)


def example_of(number: int) -> int:
    """Return the packed identity of a row's example, which is also that of its first row."""
    return number & ~_REPETITION


def last_of(example: int) -> int:
    """Return the last packed identity that a row of an example can have."""
    return example | _REPETITION


def sample_of(number: int) -> int:
    """Return the sample of a packed identity."""
    return number & (MAX_SAMPLES - 1)


def sql_example_of(column: str) -> str:
    """Return the SQL expression of :func:`example_of`."""
    return f"{column} & ~{_REPETITION}"


def sql_slot_of(column: str) -> str:
    """Return the SQL expression of a packed identity's slot."""
    return f"({column} >> {_SAMPLE_BITS}) & {MAX_SLOTS - 1}"
