"""What is written into a run file, and the tuples that its tables hold.

Every tuple ends with a check sum over the others, so that a value which was damaged is found when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from marshal import dumps
from typing import Any
from zlib import crc32

from attrs import Factory, define, frozen

from context_bench.errors import StoreError
from context_bench.records import Failure, KeyMeaning
from context_bench.store.keys import RowId


@define(eq=False)  # one for every row: a frozen one takes three times as long to make
class StoredExample:
    """An example as it is written, once for all systems.

    Attributes:
        dataset, position: Where it stands.
        example_id: Its ``id``, or the one made for it.
        label: Number of its dataset label.
        hash: Key of the whole example.
        body: The example as JSON; None when bodies are not kept.
    """

    dataset: int
    position: int
    example_id: str
    label: int
    hash: bytes
    body: str | None


@define(eq=False)  # one for every row: a frozen one takes three times as long to make
class StoredEvaluation:
    """What one evaluator said about one output.

    Attributes:
        evaluator: Number of the evaluator.
        key: Score key.
        scores: Values by key, as the evaluator returned them.
        hidden: Keys that it leaves to another evaluator.
        unscored: Why it had nothing to say, or None.
        details: JSON of its details, or None.
    """

    evaluator: int
    key: bytes
    scores: Mapping[str, float]
    hidden: frozenset[str] = frozenset()
    unscored: str | None = None
    details: str | None = None


@define(eq=False)  # one for every row: a frozen one takes three times as long to make
class StoredRow:
    """A finished row as it is written.

    Attributes:
        id: Its identity.
        key: Response key.
        output: JSON of what the system returned; None when it failed.
        output_hash: Content hash of the output.
        input_tokens, response_tokens, context_tokens, latency, system_latency, cost, cost_source: See
            :class:`~context_bench.records.EvalRow`.
        prompt_tokens: Prompt tokens that the model's endpoint reported; None when it reported none.
        cached_tokens: Those of them that were read from the provider's cache; None when it said nothing of that.
        attempts: How often the system was asked.
        measured: JSON of what else was measured about the call, such as response headers, or None.
        reused: Whether the response was taken from an earlier run.
        evaluations: What each evaluator said.
        failures: What went wrong, with the number of the evaluator (-1 for the system).
        again: Whether the response is stored already, and only what evaluators say of it is written.
        turns: How many turns of its conversation are kept; what an earlier session kept beyond them goes.
    """

    id: RowId
    key: bytes
    output: str | None
    output_hash: bytes = b""
    input_tokens: int = 0
    prompt_tokens: int | None = None
    response_tokens: int = 0
    context_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    cost_source: str | None = None
    latency: float = 0.0
    system_latency: float | None = None
    attempts: int = 1
    measured: str | None = None
    reused: bool = False
    evaluations: Sequence[StoredEvaluation] = ()
    failures: Sequence[tuple[int, Failure]] = ()
    again: bool = False
    turns: int = 0


@define(eq=False)
class StoredTurn:
    """The answer to one turn of a conversation as it is written.

    Attributes:
        row: Identity of the row.
        turn: Number of the turn among those that are asked, counted from 0.
        key: Response key, with the history of the turn.
        output: JSON of what the system returned.
        latency: Seconds.
        attempts: How often the system was asked.
        measured: JSON of what else was measured about the call, or None.
    """

    row: RowId
    turn: int
    key: bytes
    output: str
    latency: float
    attempts: int
    measured: str | None


@frozen(eq=False)
class Label:
    """The wiring of one dataset label as it was stored.

    Attributes:
        number: Its number in this run.
        label: The label; empty for rows without one.
        headline: Key of the headline score; None until it is known.
        keys: What the keys of these rows mean.
        plan: The whole plan.
    """

    number: int
    label: str
    headline: str | None
    keys: Mapping[str, KeyMeaning] = Factory(dict)
    plan: Mapping[str, Any] = Factory(dict)

    @property
    def dataset(self) -> str:
        """What people call it: rows without a gold answer have a label of their own, beside that of their dataset."""
        return str(self.plan["agreement"]["of"]) if "agreement" in self.plan else self.label

    @property
    def reference(self) -> str | None:
        """Label of the system whose responses stand in for gold answers on these rows; None elsewhere."""
        return str(self.plan["agreement"]["reference"]) if "agreement" in self.plan else None


def example_values(example: StoredExample) -> tuple[Any, ...]:
    """Return the values of table ``examples``."""
    identity = RowId(example.dataset, example.position).pack()
    values = (
        identity,
        example.dataset,
        example.position,
        _text(example.example_id),
        example.label,
        example.hash,
        example.body,
    )
    return (*values, _check_sum(values))


def response_values(number: int, row: StoredRow) -> tuple[Any, ...]:
    """Return the values of table ``responses``."""
    values = (
        number,
        row.id.dataset,
        row.id.position,
        row.id.slot,
        row.id.sample,
        row.key,
        row.output,
        row.output_hash,
        row.input_tokens,
        row.prompt_tokens,
        row.response_tokens,
        row.context_tokens,
        row.cached_tokens,
        row.cost,
        row.cost_source,
        row.latency,
        row.system_latency,
        row.attempts,
        row.measured,
        int(row.reused),
    )
    return (*values, _check_sum(values))


def turn_values(turn: StoredTurn) -> tuple[Any, ...]:
    """Return the values of table ``turns``."""
    values = (turn.row.pack(), turn.turn, turn.key, turn.output, turn.latency, turn.attempts, turn.measured)
    return (*values, _check_sum(values))


def evaluation_values(number: int, evaluation: StoredEvaluation) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return the values of table ``evaluations``, and those of table ``scores``, which its check sum covers too."""
    values = (number, evaluation.evaluator, evaluation.key, evaluation.unscored, evaluation.details)
    scores = [
        (number, evaluation.evaluator, name, value, int(name not in evaluation.hidden))
        for name, value in sorted(evaluation.scores.items())
    ]
    return (*values, _check_sum((*values, *scores))), scores


def failure_values(number: int, evaluator: int, failure: Failure, row: StoredRow) -> tuple[Any, ...]:
    """Return the values of table ``failures``; ``evaluator`` is -1 for the system."""
    values = (
        number,
        failure.stage,
        evaluator,
        failure.kind,
        _text(failure.message),
        failure.attempts,
        row.latency,
        row.input_tokens,
        _text(failure.traceback),
    )
    return (*values, _check_sum(values))


def _check_sum(values: tuple[Any, ...]) -> int:
    """Return the CRC-32 of the values in version 2 of Python's marshal format.

    That version writes each value as its type and its bytes, without references between them, and is the same in every
    Python. It takes a fifth of the time of ``repr``.
    """
    try:
        return crc32(dumps(values, 2))
    except ValueError as error:
        raise StoreError(f"A row cannot be written: {error}.") from error


def verify(values: tuple[Any, ...], covered: Iterable[tuple[Any, ...]] = ()) -> None:
    """Hold a tuple against its check sum, its last value.

    Raises:
        StoreError: They differ.
    """
    if _check_sum((*values[:-1], *covered)) != values[-1]:
        raise StoreError(f"The run file is damaged at {RowId.unpack(values[0])}: what it holds has another check sum.")


def _text(text: str) -> str:
    """Return text that SQLite can hold: lone surrogates become escapes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
