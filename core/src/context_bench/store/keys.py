"""Identities and keys: where a row stands in its run, and what it contains.

A **row** is (dataset, position, system number, repetition): its place in the run, never what it
contains. :class:`RowId` is one integer whose bits no other module takes apart.

A **key** is a content hash: it says that two rows, in one run or in two, must have the same
outcome. Keys are indexes for reuse and change detection, not identities: an A/A test has two
systems with one key, and the same example may stand twice in a dataset. Display names, concurrency,
timeouts, retries and secrets are in no key.

The definitions are normative: ``docs/reference/keys.md`` states them, and tests pin their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from context_bench.errors import ConfigurationError
from context_bench.store.encoding import canonical_bytes

DIGEST_SIZE = 16
"""Bytes in a digest: 128 bits of BLAKE2b."""

_REPETITION_BITS = 10
_SYSTEM_BITS = 10
_POSITION_BITS = 33
_DATASET_BITS = 10

MAX_DATASETS = 1 << _DATASET_BITS
MAX_POSITIONS = 1 << _POSITION_BITS
MAX_SYSTEMS = 1 << _SYSTEM_BITS
MAX_REPETITIONS = 1 << _REPETITION_BITS

_LIMITS = {
    "datasets": MAX_DATASETS,
    "systems": MAX_SYSTEMS,
    "repetitions of each example": MAX_REPETITIONS,
}
_OF_SYSTEM = (1 << _SYSTEM_BITS + _REPETITION_BITS) - 1
"""The bits of system and repetition: without them, an identity is that of its example."""

_EXAMPLE_SHIFT = _SYSTEM_BITS + _REPETITION_BITS
COMPUTED_OF_EXAMPLE = {
    "dataset": f"id >> {_EXAMPLE_SHIFT + _POSITION_BITS}",
    "position": f"(id >> {_EXAMPLE_SHIFT}) & {MAX_POSITIONS - 1}",
}
"""SQL expressions of the parts of a packed identity of an example, by name."""
COMPUTED_OF_ROW = {
    **COMPUTED_OF_EXAMPLE,
    "system_number": f"(id >> {_REPETITION_BITS}) & {MAX_SYSTEMS - 1}",
    "repetition": f"id & {MAX_REPETITIONS - 1}",
}
"""SQL expressions of the parts of a packed identity of a row, by name."""


class RowId(NamedTuple):
    """The identity of a row.

    Attributes:
        dataset: Number of the dataset in this run, counted from 0 in the order of the plan.
        position: Position of the example in its dataset's stream, counted from 0.
        system_number: Number of the system in this run, counted from 0.
        repetition: Number of the repetition of this example with this system, counted from 0.
    """

    dataset: int
    position: int
    system_number: int = 0
    repetition: int = 0

    def pack(self) -> int:
        """Return the identity as one non-negative 63-bit integer that sorts as the tuple does.

        Raises:
            ConfigurationError: A part is out of its range (1,024 datasets, systems and repetitions;
                2**33 positions).
        """
        dataset, position, system_number, repetition = self
        if (
            dataset >> _DATASET_BITS
            or position >> _POSITION_BITS
            or system_number >> _SYSTEM_BITS
            or repetition >> _REPETITION_BITS
        ):
            raise ConfigurationError(
                f"{self} is out of range: no run numbers so many (examples: {MAX_POSITIONS:,})."
            )
        example = (dataset << _POSITION_BITS) | position
        return (((example << _SYSTEM_BITS) | system_number) << _REPETITION_BITS) | repetition

    @classmethod
    def unpack(cls, number: int) -> RowId:
        """Return the identity that :meth:`pack` wrote."""
        example = number >> _EXAMPLE_SHIFT
        return cls(
            dataset=example >> _POSITION_BITS,
            position=example & (MAX_POSITIONS - 1),
            system_number=(number >> _REPETITION_BITS) & (MAX_SYSTEMS - 1),
            repetition=number & (MAX_REPETITIONS - 1),
        )


def require_room(*counts: int) -> None:
    """Refuse more datasets, systems (those that are derived among them) and repetitions, in this
    order, than a run can number.

    Raises:
        ConfigurationError: There are more.
    """
    for (noun, limit), count in zip(_LIMITS.items(), counts):
        if count > limit:
            raise ConfigurationError(
                f"A run holds at most {limit:,} {noun}, not {count:,}. Split it into several runs."
            )


def packed(identities: Iterable[RowId]) -> list[int]:
    """Return packed identities."""
    return [identity.pack() for identity in identities]


def example_of(number: int) -> int:
    """Return the packed identity of a row's example, which is also that of its first row."""
    return number & ~_OF_SYSTEM


def last_of(example: int) -> int:
    """Return the last packed identity that a row of an example can have."""
    return example | _OF_SYSTEM


def sql_example_of(column: str) -> str:
    """Return the SQL expression of :func:`example_of`."""
    return f"{column} & ~{_OF_SYSTEM}"


def sql_system_of(column: str) -> str:
    """Return the SQL expression of a packed identity's system number."""
    return f"({column} >> {_REPETITION_BITS}) & {MAX_SYSTEMS - 1}"


def digest(*values: Any) -> bytes:
    """Return the 16-byte BLAKE2b digest of the canonical bytes of ``values``.

    Raises:
        UnstorableError: A value has no written form; the message names its path.
    """
    return hashed(*map(canonical_bytes, values))


def hashed(*parts: bytes) -> bytes:
    """Return the digest of bytes: canonical ones, or such whose lengths nobody can mistake. It is
    made for every row."""
    whole = b"".join(parts)
    if len(whole) <= _HASHED_AT_ONCE:
        return blake2b(whole, digest_size=DIGEST_SIZE).digest()
    digest = blake2b(digest_size=DIGEST_SIZE)
    view = memoryview(whole)
    for start in range(0, len(whole), _HASHED_AT_ONCE):
        digest.update(view[start : start + _HASHED_AT_ONCE])
    return digest.digest()


_HASHED_AT_ONCE = 2047
"""Bytes for which a hash does not release Python's lock. To get it back among the threads of a run
takes longer than to hash a long text."""


_EXAMPLE = canonical_bytes("context-bench example 1")
_OUTPUT = canonical_bytes("context-bench output 1")


def system_key(adapter: str, version: str, fingerprint: Mapping[str, Any]) -> bytes:
    """Return the key of a configured system.

    Args:
        adapter: Canonical id of the adapter (``distribution/name``), or the dotted name of a class
            of the user's.
        version: The adapter's own version; it is raised when the adapter's behaviour changes.
        fingerprint: Every parameter that can change an output: model, endpoint without secrets,
            prompts, layout.
    """
    return digest("context-bench system 1", adapter, version, fingerprint)


def unshared_key(run: str, system_number: int) -> bytes:
    """Return the key of a system without a fingerprint: it is valid inside its own run only."""
    return digest("context-bench unshared system 1", run, system_number)


def chain_key(steps: Sequence[bytes]) -> bytes:
    """Return the key of a system made of steps (a context transformer followed by a reader)."""
    return steps[0] if len(steps) == 1 else digest("context-bench chain 1", list(steps))


def example_key(example: Mapping[str, Any], reads: Iterable[str] | None = None) -> bytes:
    """Return the key of an example as a system sees it.

    Args:
        example: The example.
        reads: The fields that the system declares to read; None means all of them. An absent field
            is not the same as a field that is None.
    """
    visible = example
    if reads is not None:
        visible = {name: example[name] for name in reads if name in example}
    return hashed(_EXAMPLE, canonical_bytes(visible))


def response_key(
    system: bytes, example: bytes, repetition: int = 0, history: Sequence[Any] = ()
) -> bytes:
    """Return the key of a response.

    Args:
        system: :func:`system_key` or :func:`unshared_key` of the system, or :func:`chain_key` of
            its steps.
        example: :func:`example_key`.
        repetition: Number of the repetition.
        history: For the answer to one turn of a conversation, everything that was said up to it:
            the turn itself, and the system's own replies before it.
    """
    if history:
        return digest("context-bench response 1", system, example, repetition, list(history))
    return hashed(b"context-bench response 1", system, example, repetition.to_bytes(8, "big"))


def derived_key(example: bytes, response: bytes, output: bytes) -> bytes:
    """Return what stands for the example in the key of a response that is derived from another one.

    Args:
        example: :func:`example_key` of the whole example.
        response: :func:`response_key` of the other response; empty where there is none.
        output: :func:`output_key` of it; empty where there is none.
    """
    return digest("context-bench derived 1", example, response, output)


def dataset_hash() -> Any:
    """Return a hash to update with :func:`example_key` of every example in turn: its digest is the
    dataset's content."""
    return blake2b(b"context-bench dataset 1", digest_size=DIGEST_SIZE)


def output_key(output: Mapping[str, Any]) -> bytes:
    """Return the content hash of what a system returned."""
    return hashed(_OUTPUT, canonical_bytes(output))


def evaluator_key(evaluator: str, version: str, parameters: Mapping[str, Any]) -> bytes:
    """Return the key of a configured evaluator.

    Args:
        evaluator: Canonical id (``distribution/name``), or the dotted name of a class of the
            user's.
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
        gold: :func:`example_key` over the fields that the evaluator reads; :func:`agreement_key` of
            it where another system's response stood in for the answer.
    """
    return hashed(b"context-bench score 2", response, output, evaluator, gold)
