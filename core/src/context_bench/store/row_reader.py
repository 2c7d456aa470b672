"""Reading rows: five sorted streams of tuples, merged by identity into :class:`~context_bench.records.EvalRow`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, frozen

from context_bench.errors import StoreError
from context_bench.records import BaselineRow, EvalRow, Failure, Usage
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId, example_of, last_of
from context_bench.store.schema import column_types
from context_bench.store.stored_rows import Label, verify

_END = 1 << 63

Values = tuple[Any, ...]


@frozen(eq=False)
class RowReader:
    """Reads rows from one snapshot of a run file.

    Attributes:
        systems: Label by slot.
        labels: Wiring by number.
        evaluators: Id by number.
        baseline: Slot of the baseline; None when the run has none.
        paired: Slots that are held against another baseline, and that one's slot.
        reference: Slot of the system whose responses stand in for gold answers, and how often the run gives it each
            example beside what shows how far it agrees with itself; None without one.
    """

    systems: Mapping[int, str]
    labels: Mapping[int, Label]
    evaluators: Mapping[int, str]
    baseline: int | None = None
    reference: tuple[int, int] | None = None
    paired: Mapping[int, int] = Factory(dict)

    def read(self, connection: sqlite3.Connection, first: int, last: int) -> Iterator[EvalRow]:
        """Yield the rows between two packed identities, in canonical order.

        Raises:
            StoreError: A value does not match its check sum, or something is missing.
        """

        def stream(table: str, column: str, order: str, start: int = first) -> _Merge:
            query = f"SELECT * FROM {table} WHERE {column} BETWEEN ? AND ? ORDER BY {order}"
            return _Merge(checked(table, connection.execute(query, (start, last))))

        responses = stream("responses", "id", "id")
        failures = stream("failures", "response", "response, stage DESC, evaluator")
        evaluations = stream("evaluations", "response", "response, evaluator")
        scores = stream("scores", "response", "response, evaluator, name")
        examples = stream("examples", "id", "id", example_of(first))
        baselines = None if self.baseline is None else Baselines(connection, self.baseline, self.paired, first, last)
        while (number := min(responses.next_id, failures.next_id)) != _END:
            example = examples.seek(example_of(number))
            found = responses.take(number)
            yield self._row(
                number, found, failures.take(number), evaluations.take(number), scores.take(number), example,
                None if baselines is None else baselines.of(number),
            )  # fmt: skip

    def _row(
        self,
        number: int,
        responses: list[Values],
        failures: list[Values],
        evaluations: list[Values],
        scores: list[Values],
        example: Values | None,
        baseline: BaselineRow | None,
    ) -> EvalRow:
        identity = RowId.unpack(number)
        if example is None:
            raise StoreError(f"The run file has no example for {identity}: it is damaged.")
        verify(example)
        example_id, label = example[3], self.labels[example[4]]
        output: dict[str, Any] = {}
        usage, latency, system_latency, input_tokens, prompt_tokens, response_tokens = None, 0.0, None, 0, None, 0
        context_tokens, cost, cost_source = None, None, None
        attempts, measured, reused = 1, None, False
        for values in responses:
            verify(values)
            output = from_json(values[6])
            input_tokens, prompt_tokens, response_tokens, context_tokens, _, cost, cost_source = values[8:15]
            latency, system_latency, attempts, measured, reused = values[15:20]
            usage = Usage.read(output)
        _verify(failures, evaluations, scores)
        if failures and not responses:
            latency, input_tokens, attempts = failures[0][6], failures[0][7], failures[0][5]
        response = output.get("response")
        return EvalRow(
            system=self.systems[identity.slot],
            example_id=example_id,
            scores={values[2]: values[3] for values in scores if values[4]},
            input_tokens=input_tokens,
            prompt_tokens=context_tokens if prompt_tokens is None else prompt_tokens,
            response_tokens=response_tokens,
            metadata=_metadata(attempts, usage, reused, measured, output),
            latency=latency,
            dataset=label.dataset,
            response=response if isinstance(response, str) else None,
            output=output,
            errors=tuple(self._failure(values) for values in failures),
            unscored={self.evaluators[values[1]]: values[3] for values in evaluations if values[3] is not None},
            details=self._details(evaluations),
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
            is_extra=self._is_extra(identity),
        )

    def _is_extra(self, identity: RowId) -> bool:
        """Whether a row says only how far the reference agrees with itself."""
        if self.reference is None:
            return False
        slot, samples = self.reference[0], self.reference[1]
        return identity.slot == slot and identity.sample >= samples

    def _details(self, evaluations: list[Values]) -> dict[str, Any]:
        return {self.evaluators[values[1]]: from_json(values[4]) for values in evaluations if values[4] is not None}

    def _failure(self, values: Values) -> Failure:
        _, stage, evaluator, kind, message, attempts, _, _, traceback, _ = values
        return Failure(stage, kind, message, self.evaluators.get(evaluator), attempts, traceback)


def _verify(failures: list[Values], evaluations: list[Values], scores: list[Values]) -> None:
    """Hold what was written of failures and scores against its check sums."""
    for values in failures:
        verify(values)
    for values in evaluations:
        verify(values, [score for score in scores if score[1] == values[1]])


def _metadata(
    attempts: int, usage: Usage | None, reused: bool, measured: str | None, output: Mapping[str, Any]
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


def checked(table: str, lines: Iterable[Values]) -> Iterator[Values]:
    """Yield the lines of a whole table, each of whose values has the type that its column declares.

    Raises:
        StoreError: One has another type. SQLite lets any value stand in any column.
    """
    return of_types(column_types()[table], lines, table)


def of_types(allowed: Sequence[frozenset[type]], lines: Iterable[Values], where: str) -> Iterator[Values]:
    """Yield lines whose values are of the allowed types, column by column."""
    known: set[tuple[type, ...]] = set()
    for values in lines:
        shape = tuple(map(type, values))
        if shape not in known:
            if len(shape) != len(allowed) or any(kind not in types for kind, types in zip(shape, allowed)):
                raise StoreError(f"The run file is damaged: a value in {where} has a type that it cannot have.")
            known.add(shape)
        yield values
