"""Keys: what a row contains, as a content hash.

A **row** is (dataset, position, system slot, sample): where it stands in the run, never what it contains
(:class:`~context_bench.store.identity.RowId`).

A **key** is a content hash: it says that two rows, in one run or in two, must have the same outcome. Keys are indexes
for reuse and change detection, not identities: an A/A test has two slots with one key, and the same example may stand
twice in a dataset. Display names, concurrency, timeouts, retries and secrets are in no key.

The definitions are normative: ``docs/reference/keys.md`` states them, and tests pin their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from context_bench.store.encoding import DIGEST_SIZE, canonical_bytes, digest, tagged_digest

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
    if reads is None:
        return tagged_digest(_EXAMPLE, example)
    return tagged_digest(_EXAMPLE, {name: example[name] for name in reads if name in example})


def response_key(system: bytes, example: bytes, sample: int = 0, history: Sequence[Any] = ()) -> bytes:
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
    return _short(b"context-bench response 1", system, example, sample.to_bytes(8, "big"))


def derived_key(example: bytes, response: bytes, output: bytes) -> bytes:
    """Return what stands for the example in the key of a response that is derived from another one.

    Args:
        example: :func:`example_key` of the whole example.
        response: :func:`response_key` of the other response; empty where there is none.
        output: :func:`output_key` of it; empty where there is none.
    """
    return digest("context-bench derived 1", example, response, output)


def output_key(output: Mapping[str, Any]) -> bytes:
    """Return the content hash of what a system returned."""
    return tagged_digest(_OUTPUT, output)


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
    return _short(b"context-bench agreement 1", gold)


def score_key(response: bytes, output: bytes, evaluator: bytes, gold: bytes) -> bytes:
    """Return the key of the scores that one evaluator gives to one output.

    Args:
        response: :func:`response_key`.
        output: :func:`output_key`.
        evaluator: :func:`evaluator_key`.
        gold: :func:`example_key` over the fields that the evaluator reads; :func:`agreement_key` of it where another
            system's response stood in for the answer.
    """
    return _short(b"context-bench score 2", response, output, evaluator, gold)


def _short(name: bytes, *parts: bytes) -> bytes:
    """Hash parts of fixed length, which need no length prefixes: these keys are made for every row."""
    return blake2b(name + b"".join(parts), digest_size=DIGEST_SIZE).digest()
