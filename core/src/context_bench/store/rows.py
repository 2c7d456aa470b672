"""Rows as the tuples that the tables of a run file hold: written, and read back.

Every tuple ends with a check sum over the others, so that a value which was damaged is found when it is read. Rows are read
as five sorted streams of tuples, merged by identity into :class:`~context_bench.records.EvalRow`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from marshal import dumps
from typing import TYPE_CHECKING, Any
from zlib import crc32

from attrs import Factory, define, frozen

from context_bench.answers import text_of
from context_bench.errors import StoreError
from context_bench.records import BaselineRow, EvalRow, Failure, KeyMeaning, Usage
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId, example_of, last_of, packed_example
from context_bench.store.schema import Values, column_types

if TYPE_CHECKING:
    from context_bench.store.reader import RunReader

_END = 1 << 63


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

    def values(self) -> Values:
        """Return what table ``examples`` holds of it."""
        number, name = packed_example(self.dataset, self.position), storable(self.example_id)
        return _summed(
            (number, self.dataset, self.position, name, self.label, self.hash, self.body)
        )


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

    def scored(self, number: int) -> list[Values]:
        """Return what table ``scores`` holds of it, on the row with this packed identity."""
        scores = sorted(self.scores.items())
        return [
            (number, self.evaluator, name, value, int(name not in self.hidden))
            for name, value in scores
        ]

    def values(self, number: int, scored: Iterable[Values]) -> Values:
        """Return what table ``evaluations`` holds of it; its check sum covers the scores, which have none of their own."""
        return _summed(
            (
                number,
                self.evaluator,
                self.key,
                self.unscored and storable(self.unscored),
                self.details,
            ),
            scored,
        )


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

    def values(self, number: int) -> Values:
        """Return what table ``responses`` holds of it, given its packed identity."""
        dataset, position, slot, sample = self.id
        return _summed(  # each by its name: `attrgetter` takes three times as long
            (
                *(
                    number,
                    dataset,
                    position,
                    slot,
                    sample,
                    self.key,
                    self.output,
                    self.output_hash,
                    self.input_tokens,
                ),
                *(
                    self.prompt_tokens,
                    self.response_tokens,
                    self.context_tokens,
                    self.cached_tokens,
                    self.cost,
                ),
                *(
                    self.cost_source,
                    self.latency,
                    self.system_latency,
                    self.attempts,
                    self.measured,
                    int(self.reused),
                ),
            )
        )

    def failed(self, number: int) -> Iterator[Values]:
        """Yield what table ``failures`` holds of it."""
        for evaluator, failure in self.failures:
            message, traceback = storable(failure.message), storable(failure.traceback)
            told = failure.stage, evaluator, failure.kind, message, failure.attempts
            yield _summed((number, *told, self.latency, self.input_tokens, traceback))


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

    def values(self) -> Values:
        """Return what table ``turns`` holds of it."""
        call = self.key, self.output, self.latency, self.attempts, self.measured
        return _summed((self.row.pack(), self.turn, *call))


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


def _summed(values: Values, covered: Iterable[Values] = ()) -> Values:
    """Return values with their check sum, which covers others too.

    It is the CRC-32 of the values in version 2 of Python's marshal format. That version writes each value as its type and
    its bytes, without references between them, and is the same in every Python. It takes a fifth of the time of ``repr``.
    """
    try:
        return (*values, crc32(dumps((*values, *covered) if covered else values, 2)))
    except ValueError as error:
        raise StoreError(f"A row cannot be written: {error}.") from error


def verify(values: Values, covered: Iterable[Values] = ()) -> None:
    """Hold a tuple against its check sum, its last value.

    Raises:
        StoreError: They differ.
    """
    if _summed(values[:-1], covered) != values:
        raise StoreError(
            f"The run file is damaged at {RowId.unpack(values[0])}: what it holds has another check sum."
        )


def storable(text: str) -> str:
    """Return text that SQLite can hold: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


class RowReader:
    """Reads rows of a run file, of which it knows the systems, evaluators and labels: make one for each state of the file."""

    def __init__(self, run: RunReader) -> None:
        self._systems, self._evaluators = run.names()
        self._labels = {label.number: label for label in run.labels()}
        self._baseline, self._paired, self._reference = (
            run.baseline(),
            run.paired(),
            run.reference(),
        )

    def read(self, connection: sqlite3.Connection, first: int, last: int) -> Iterator[EvalRow]:
        """Yield the rows between two packed identities, in canonical order.

        Raises:
            StoreError: A value does not match its check sum, or something is missing.
        """

        def stream(table: str, column: str, order: str, start: int = first) -> _Merge:
            query = f"SELECT * FROM {table} WHERE {column} BETWEEN ? AND ? ORDER BY {order}"
            return _Merge(
                of_types(column_types()[table], connection.execute(query, (start, last)), table)
            )

        responses = stream("responses", "id", "id")
        failures = stream("failures", "response", "response, stage DESC, evaluator")
        evaluations = stream("evaluations", "response", "response, evaluator")
        scores = stream("scores", "response", "response, evaluator, name")
        examples = stream("examples", "id", "id", example_of(first))
        baselines = (
            None
            if self._baseline is None
            else Baselines(connection, self._baseline, self._paired, first, last)
        )
        while (number := min(responses.next_id, failures.next_id)) != _END:
            example = examples.seek(example_of(number))
            if example is None:
                raise StoreError(
                    f"The run file has no example for {RowId.unpack(number)}: it is damaged."
                )
            yield self._row(
                RowId.unpack(number),
                example,
                responses.take(number),
                failures.take(number),
                evaluations.take(number),
                scores.take(number),
                None if baselines is None else baselines.of(number),
            )

    def _row(
        self,
        identity: RowId,
        example: Values,
        responses: list[Values],
        failures: list[Values],
        evaluations: list[Values],
        scores: list[Values],
        baseline: BaselineRow | None,
    ) -> EvalRow:
        for values in (example, *responses, *failures):
            verify(values)
        for values in evaluations:
            verify(values, [score for score in scores if score[1] == values[1]])
        label, call = self._labels[example[4]], _NO_CALL
        output: dict[str, Any] = {}
        if responses:
            output, call = from_json(responses[0][6]), responses[0][8:20]
        input_tokens, prompt_tokens, response_tokens, context_tokens, _, cost, cost_source = call[
            :7
        ]
        latency, system_latency, attempts, measured, reused = call[7:]
        if failures and not responses:
            attempts, latency, input_tokens = failures[0][5:8]
        usage = Usage.read(output)
        return EvalRow(
            system=self._systems[identity.slot],
            example_id=example[3],
            scores={values[2]: values[3] for values in scores if values[4]},
            input_tokens=input_tokens,
            prompt_tokens=context_tokens if prompt_tokens is None else prompt_tokens,
            response_tokens=response_tokens,
            metadata=_metadata(attempts, usage, reused, measured, output),
            latency=latency,
            dataset=label.dataset,
            response=text_of(output.get("response")),
            output=output,
            errors=tuple(
                Failure(stage, kind, message, self._evaluators.get(evaluator), attempts, traceback)
                for _, stage, evaluator, kind, message, attempts, _, _, traceback, _ in failures
            ),
            unscored={
                self._evaluators[values[1]]: values[3]
                for values in evaluations
                if values[3] is not None
            },
            details={
                self._evaluators[values[1]]: from_json(values[4])
                for values in evaluations
                if values[4] is not None
            },
            headline=label.headline,
            keys=label.keys,
            position=identity.position,
            sample=identity.sample,
            slot=identity.slot,
            dataset_number=identity.dataset,
            usage=usage,
            context_tokens=context_tokens,
            cost=cost,
            cost_source=cost_source,
            system_latency=system_latency,
            baseline=baseline,
            reference=label.reference,
            is_extra=self._reference is not None
            and identity.slot == self._reference[0]
            and identity.sample >= self._reference[1],
        )


_NO_CALL: Values = (0, None, 0, None, None, None, None, 0.0, None, 1, None, False)
"""What a row holds that nobody answered, from ``input_tokens`` to ``reused``."""


def _metadata(
    attempts: int,
    usage: Usage | None,
    reused: bool,
    measured: str | None,
    output: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what a row says of its call beside what has a field of its own."""
    metadata: dict[str, Any] = {"attempts": attempts}
    if usage is not None:
        metadata["usage"] = usage.to_dict()
    if reused:
        metadata["reused"] = True
    if measured is not None:
        metadata |= from_json(measured)
    return metadata | {name: output[name] for name in ("finish_reason", "model") if name in output}


class Baselines:
    """The baselines' rows, read beside rows in canonical order, those of one example at a time.

    Args:
        connection: Reads a snapshot of the file.
        slot: Slot of the baseline.
        paired: Slots that are held against another baseline, and that one's slot.
        first, last: Packed identities between which rows are asked for.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        slot: int,
        paired: Mapping[int, int],
        first: int = 0,
        last: int = _END - 1,
    ) -> None:
        slots = sorted({slot, *paired.values()})
        query = (
            "SELECT id, prompt_tokens, cost FROM responses WHERE id BETWEEN ? AND ? "
            f"AND slot IN ({','.join('?' * len(slots))}) ORDER BY id"
        )
        self._merge = _Merge(connection.execute(query, (example_of(first), last_of(last), *slots)))
        self._place = -1
        self._slot, self._paired = slot, paired
        self._rows: dict[tuple[int, int], BaselineRow] = {}

    def of(self, number: int) -> BaselineRow | None:
        """Return the baseline's row beside a packed identity; identities must come in order."""
        place = example_of(number)
        if place != self._place:
            self._place = place
            self._merge.seek(place)
            found = self._merge.take_until(last_of(place))
            self._rows = {RowId.unpack(values[0])[2:]: BaselineRow(*values[1:]) for values in found}
        slot, sample = RowId.unpack(number)[2:]
        return self._rows.get((self._paired.get(slot, self._slot), sample))


class _Merge:
    """A stream of tuples sorted by their first item, taken apart id by id."""

    def __init__(self, stream: Iterator[Values]) -> None:
        self._stream = stream
        self._head: Values | None = None
        self.next_id = -1
        self._advance()

    def _advance(self) -> None:
        before = self.next_id
        self._head = next(self._stream, None)
        self.next_id = _END if self._head is None else self._head[0]
        if self.next_id < before:  # pages that refer to one another in a circle would never end
            raise StoreError("The run file is damaged: its rows are out of order.")

    def take(self, number: int) -> list[Values]:
        found = []
        while self.next_id == number:
            assert self._head is not None
            found.append(self._head)
            self._advance()
        return found

    def take_until(self, number: int) -> list[Values]:
        found = []
        while self.next_id <= number:
            found += self.take(self.next_id)
        return found

    def seek(self, number: int) -> Values | None:
        while self.next_id < number:
            self._advance()
        return self._head if self.next_id == number else None


def of_types(allowed: Sequence[Any], lines: Iterable[Values], where: str) -> Iterator[Values]:
    """Yield lines whose values are of the allowed types, column by column: SQLite lets any value stand in any column.

    Raises:
        StoreError: A value has another type.
    """
    known: set[tuple[type, ...]] = set()
    for values in lines:
        shape = tuple(map(type, values))
        if shape not in known:
            if not all(map(isinstance, values, allowed)):
                raise _of_no_type(where)
            known.add(shape)
        yield values


def lists_of_types(
    allowed: Sequence[frozenset[type]], lists: Iterable[list[Values]], where: str
) -> Iterator[Values]:
    """Yield lines as :func:`of_types` does, from lists of them, in half the time."""
    for lines in lists:
        if not all(
            map(frozenset.issuperset, allowed, (map(type, column) for column in zip(*lines)))
        ):
            raise _of_no_type(where)
        yield from lines


def _of_no_type(where: str) -> StoreError:
    return StoreError(
        f"The run file is damaged: a value in {where} has a type that it cannot have."
    )
