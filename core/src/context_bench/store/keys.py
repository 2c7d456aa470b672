"""Identities and keys: where a row stands in its run, and what it contains.

A **row** is (dataset, position, system slot, sample): where it stands in the run, never what it contains. :class:`RowId` is
one integer whose bits nobody else takes apart.

A **key** is a content hash: it says that two rows, in one run or in two, must have the same outcome. Keys are indexes
for reuse and change detection, not identities: an A/A test has two slots with one key, and the same example may stand
twice in a dataset. Display names, concurrency, timeouts, retries and secrets are in no key.

The definitions are normative: ``docs/reference/keys.md`` states them, and tests pin their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from context_bench.errors import ConfigurationError
from context_bench.store.encoding import DIGEST_SIZE, canonical_bytes, digest, hashed

_SAMPLE_BITS = 10
_SLOT_BITS = 10
_POSITION_BITS = 33
_DATASET_BITS = 10

MAX_DATASETS = 1 << _DATASET_BITS
MAX_POSITIONS = 1 << _POSITION_BITS
MAX_SLOTS = 1 << _SLOT_BITS
MAX_SAMPLES = 1 << _SAMPLE_BITS

_MOST = {"datasets": MAX_DATASETS, "systems": MAX_SLOTS, "samples of each example": MAX_SAMPLES}
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
        if (
            dataset >> _DATASET_BITS
            or position >> _POSITION_BITS
            or slot >> _SLOT_BITS
            or sample >> _SAMPLE_BITS
        ):
            raise ConfigurationError(
                f"{self} is out of range: no run numbers so many (examples: {MAX_POSITIONS:,})."
            )
        return (
            (dataset << _POSITION_BITS | position) << _SLOT_BITS | slot
        ) << _SAMPLE_BITS | sample

    @classmethod
    def unpack(cls, number: int) -> RowId:
        """Return the identity that :meth:`pack` wrote."""
        sample = number & (MAX_SAMPLES - 1)
        number >>= _SAMPLE_BITS
        slot = number & (MAX_SLOTS - 1)
        number >>= _SLOT_BITS
        return cls(number >> _POSITION_BITS, number & (MAX_POSITIONS - 1), slot, sample)


def require_room(*counts: int) -> None:
    """Refuse more datasets, systems (those that are derived among them) and samples, in this order, than a run can number.

    Raises:
        ConfigurationError: There are more.
    """
    for (what, most), count in zip(_MOST.items(), counts):
        if count > most:
            raise ConfigurationError(
                f"A run holds at most {most:,} {what}, not {count:,}. Split it into several runs."
            )


def packed_example(dataset: int, position: int) -> int:
    """Return the packed identity of an example, of which a row is in its range."""
    return (dataset << _POSITION_BITS | position) << _SLOT_BITS + _SAMPLE_BITS


def example_of(number: int) -> int:
    """Return the packed identity of a row's example, which is also that of its first row."""
    return number & ~_REPETITION


def last_of(example: int) -> int:
    """Return the last packed identity that a row of an example can have."""
    return example | _REPETITION


def sql_example_of(column: str) -> str:
    """Return the SQL expression of :func:`example_of`."""
    return f"{column} & ~{_REPETITION}"


def sql_slot_of(column: str) -> str:
    """Return the SQL expression of a packed identity's slot."""
    return f"({column} >> {_SAMPLE_BITS}) & {MAX_SLOTS - 1}"


_EXAMPLE = canonical_bytes("context-bench example 1")
_OUTPUT = canonical_bytes("context-bench output 1")


def system_key(adapter: str, version: str, fingerprint: Mapping[str, Any]) -> bytes:
    """Return the key of a configured system.

    Args:
        adapter: Canonical id of the adapter (``distribution/name``), or the dotted name of a class of the user's.
        version: The adapter's own version; it is raised when the adapter's behaviour changes.
        fingerprint: Every parameter that can change an output: model, endpoint without secrets, prompts, layout.
    """
    return digest("context-bench system 1", adapter, version, fingerprint)


def unshared_key(run: str, slot: int) -> bytes:
    """Return the key of a system without a fingerprint: it is valid inside its own run only."""
    return digest("context-bench unshared system 1", run, slot)


def chain_key(steps: Sequence[bytes]) -> bytes:
    """Return the key of a system made of steps (a context transformer followed by a reader)."""
    return steps[0] if len(steps) == 1 else digest("context-bench chain 1", list(steps))


def example_key(example: Mapping[str, Any], reads: Iterable[str] | None = None) -> bytes:
    """Return the key of an example as a system sees it.

    Args:
        example: The example.
        reads: The fields that the system declares to read; None means all of them. An absent field is not the same as
            a field that is None.
    """
    seen = example if reads is None else {name: example[name] for name in reads if name in example}
    return hashed(_EXAMPLE, canonical_bytes(seen))


def response_key(
    system: bytes, example: bytes, sample: int = 0, history: Sequence[Any] = ()
) -> bytes:
    """Return the key of a response.

    Args:
        system: :func:`system_key` or :func:`unshared_key` of the system, or :func:`chain_key` of its steps.
        example: :func:`example_key`.
        sample: Number of the repetition.
        history: For the answer to one turn of a conversation, everything that was said up to it: the turn itself, and the
            system's own replies before it.
    """
    if history:
        return digest("context-bench response 1", system, example, sample, list(history))
    return hashed(b"context-bench response 1", system, example, sample.to_bytes(8, "big"))


def derived_key(example: bytes, response: bytes, output: bytes) -> bytes:
    """Return what stands for the example in the key of a response that is derived from another one.

    Args:
        example: :func:`example_key` of the whole example.
        response: :func:`response_key` of the other response; empty where there is none.
        output: :func:`output_key` of it; empty where there is none.
    """
    return digest("context-bench derived 1", example, response, output)


def dataset_hash() -> Any:
    """Return a hash to update with :func:`example_key` of every example in turn: its digest is the dataset's content."""
    return blake2b(b"context-bench dataset 1", digest_size=DIGEST_SIZE)


def output_key(output: Mapping[str, Any]) -> bytes:
    """Return the content hash of what a system returned."""
    return hashed(_OUTPUT, canonical_bytes(output))


def evaluator_key(evaluator: str, version: str, parameters: Mapping[str, Any]) -> bytes:
    """Return the key of a configured evaluator.

    Args:
        evaluator: Canonical id (``distribution/name``), or the dotted name of a class of the user's.
        version: The evaluator's own version; it is raised when a score can change.
        parameters: Every parameter that can change a score.
    """
    return digest("context-bench evaluator 1", evaluator, version, parameters)


def agreement_key(gold: bytes) -> bytes:
    """Return what stands for the gold of a score that was given against another system's response.

    Args:
        gold: :func:`example_key` with that response in the place of the answer.
    """
    return hashed(b"context-bench agreement 1", gold)


def score_key(response: bytes, output: bytes, evaluator: bytes, gold: bytes) -> bytes:
    """Return the key of the scores that one evaluator gives to one output.

    Args:
        response: :func:`response_key`.
        output: :func:`output_key`.
        evaluator: :func:`evaluator_key`.
        gold: :func:`example_key` over the fields that the evaluator reads; :func:`agreement_key` of it where another
            system's response stood in for the answer.
    """
    return hashed(b"context-bench score 2", response, output, evaluator, gold)
