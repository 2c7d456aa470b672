"""Rows as they are handed over to be stored, and as they are read back.

A row is stored as lines of several tables, which module ``tables`` declares. Rows are read as five
sorted streams of lines, merged by packed identity into :class:`~context_bench.records.EvalRow`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from attrs import Factory, define, frozen

from context_bench.answers import text_of
from context_bench.columns import ROW_COLUMNS, RowColumns
from context_bench.errors import StoreError
from context_bench.records import BaselineRow, EvalRow, Failure, KeyMeaning, Usage
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId, example_of, last_of
from context_bench.store.tables import (
    EVALUATIONS,
    EXAMPLES,
    FAILURES,
    RESPONSES,
    SCORES,
    EvaluationColumns,
    ExampleColumns,
    FailureColumns,
    ResponseColumns,
    ScoreColumns,
    Table,
    TurnColumns,
    Values,
)

if TYPE_CHECKING:
    from context_bench.store.reader import RunReader

_END = 1 << 63
Record = TypeVar("Record")


@define(eq=False, kw_only=True)  # one for every row: a frozen one takes three times as long to make
class StoredExample(ExampleColumns):
    """An example as it is written, once for all systems.

    Attributes:
        id: Identity of its first row: its dataset and position.
    """

    id: RowId


@define(eq=False, kw_only=True)  # one for every row: a frozen one takes three times as long to make
class StoredEvaluation(EvaluationColumns):
    """What one evaluator said about one output.

    Attributes:
        scores: Values by key, as the evaluator returned them.
        hidden: Keys that it leaves to another evaluator.
    """

    scores: Mapping[str, float] = Factory(dict)
    hidden: frozenset[str] = frozenset()

    def score_records(self) -> list[ScoreColumns]:
        """Return the records of table ``scores``, in the order of their names."""
        return [
            ScoreColumns(
                evaluator=self.evaluator,
                name=name,
                value=value,
                shown=name not in self.hidden,
            )
            for name, value in sorted(self.scores.items())
        ]


@define(eq=False, kw_only=True)  # one for every row: a frozen one takes three times as long to make
class StoredRow(ResponseColumns):
    """A finished row as it is written.

    Attributes:
        id: Its identity.
        output: JSON of what the system returned; None when it failed, or when only scores are
            written.
        evaluations: What each evaluator said.
        failures: What went wrong, with the number of the evaluator (-1 for the system).
        again: Whether the response is stored already, and only what evaluators say of it is
            written.
        turns: How many turns of its conversation are stored; what an earlier session stored beyond
            them is deleted.
    """

    id: RowId
    output: str | None = None  # type: ignore[assignment]  # no line of responses is written then
    evaluations: Sequence[StoredEvaluation] = ()
    failures: Sequence[tuple[int, Failure]] = ()
    again: bool = False
    turns: int = 0

    def failure_records(self) -> list[FailureColumns]:
        """Return the records of table ``failures``."""
        return [
            FailureColumns(
                stage=failure.stage,
                evaluator=evaluator,
                kind=failure.kind,
                message=failure.message,
                attempts=failure.attempts,
                latency=self.latency,
                input_tokens=self.input_tokens,
                cost=self.cost if failure.stage == "system" else None,
                traceback=failure.traceback,
            )
            for evaluator, failure in self.failures
        ]


def lines_of(
    items: Sequence[StoredExample | StoredRow], numbers: Sequence[int]
) -> dict[Table[Any], list[Values]]:
    """Return the lines that store a group of examples and rows, by table.

    Args:
        items: The examples and rows.
        numbers: Their packed identities.
    """
    examples: list[tuple[int, StoredExample]] = []
    responses: list[tuple[int, StoredRow]] = []
    evaluations: list[tuple[int, StoredEvaluation]] = []
    scores: list[tuple[int, ScoreColumns]] = []
    failures: list[tuple[int, FailureColumns]] = []
    for number, item in zip(numbers, items):
        if isinstance(item, StoredExample):
            examples.append((number, item))
            continue
        if item.output is not None:
            responses.append((number, item))
        for evaluation in item.evaluations:
            evaluations.append((number, evaluation))
            scores += [(number, record) for record in evaluation.score_records()]
        if item.failures:
            failures += [(number, record) for record in item.failure_records()]
    score_lines = SCORES.lines(scores)
    rest = iter(score_lines)
    covered = [list(islice(rest, len(evaluation.scores))) for _, evaluation in evaluations]
    return {
        EXAMPLES: EXAMPLES.lines(examples),
        RESPONSES: RESPONSES.lines(responses),
        EVALUATIONS: EVALUATIONS.lines(evaluations, covered),
        SCORES: score_lines,
        FAILURES: FAILURES.lines(failures),
    }


@define(eq=False, kw_only=True)
class StoredTurn(TurnColumns):
    """The answer to one turn of a conversation as it is written.

    Attributes:
        row: Identity of the row.
    """

    row: RowId


@frozen(eq=False)
class Label:
    """The wiring of one dataset label as it was stored.

    Attributes:
        number: Its number in this run.
        label: The label; empty for rows without one.
        primary: Key of the primary score; None until it is known.
        keys: What the keys of these rows mean.
        plan: The whole plan.
    """

    number: int
    label: str
    primary: str | None
    keys: Mapping[str, KeyMeaning] = Factory(dict)
    plan: Mapping[str, Any] = Factory(dict)

    @property
    def dataset(self) -> str:
        """Label of the dataset: rows without a gold answer have a separate label in addition to
        that of their dataset."""
        return str(self.plan["agreement"]["of"]) if "agreement" in self.plan else self.label

    @property
    def reference(self) -> str | None:
        """Label of the system whose responses replace gold answers on these rows; None
        elsewhere."""
        return str(self.plan["agreement"]["reference"]) if "agreement" in self.plan else None


class ReferenceSystem(NamedTuple):
    """The system whose responses replace gold answers, and how often the run calls each system for
    an example."""

    system_number: int
    repetitions: int


@define(eq=False, kw_only=True)
class _RowLines:
    """All lines of one row."""

    id: RowId
    example: ExampleColumns
    response: ResponseColumns | None
    failures: Sequence[FailureColumns]
    evaluations: Sequence[EvaluationColumns]
    scores: Sequence[ScoreColumns]
    baseline: BaselineRow | None

    def measured_columns(self) -> RowColumns:
        """Return what was measured: about the response, else about the failure of the system."""
        if self.response is not None:
            return self.response
        if not self.failures:
            return RowColumns()
        failure = self.failures[0]
        return RowColumns(
            attempts=failure.attempts,
            latency=failure.latency,
            input_tokens=failure.input_tokens,
            cost=failure.cost,
        )


class RowReader:
    """Reads rows of a run file, of which it knows the systems, evaluators and labels: make one for
    each state of the file."""

    def __init__(self, run: RunReader) -> None:
        self._systems, self._evaluators = run.names()
        self._labels = {label.number: label for label in run.labels()}
        self._baseline = run.baseline()
        self._paired = run.paired()
        self._reference = run.reference()

    def read(self, connection: sqlite3.Connection, first: int, last: int) -> Iterator[EvalRow]:
        """Yield the rows between two packed identities, in canonical order.

        Raises:
            StoreError: A line has a wrong checksum, or something is missing.
        """

        def sorted_lines(
            table: Table[Record], order: str = "", start: int = first
        ) -> SortedLines[Record]:
            query = table.select_statement(
                f"WHERE {table.identity} BETWEEN ? AND ? ORDER BY {table.identity}{order}"
            )
            return SortedLines(table, connection.execute(query, (start, last)))

        examples = sorted_lines(EXAMPLES, start=example_of(first))
        responses = sorted_lines(RESPONSES)
        failures = sorted_lines(FAILURES, order=", stage DESC, evaluator")
        evaluations = sorted_lines(EVALUATIONS, order=", evaluator")
        scores = sorted_lines(SCORES, order=", evaluator, name")
        baselines = None
        if self._baseline is not None:
            baselines = Baselines(connection, self._baseline, self._paired, first, last)
        while (number := min(responses.next_number, failures.next_number)) != _END:
            example = examples.seek(example_of(number))
            if example is None:
                raise StoreError(
                    f"The run file is damaged: there is no example for {RowId.unpack(number)}."
                )
            row_scores = scores.take(number)
            lines = _RowLines(
                id=RowId.unpack(number),
                example=example,
                response=next(iter(responses.take(number)), None),
                failures=failures.take(number),
                evaluations=evaluations.take(number, row_scores),
                scores=row_scores,
                baseline=None if baselines is None else baselines.of(number),
            )
            yield self._row(lines)

    def _row(self, lines: _RowLines) -> EvalRow:
        identity = lines.id
        response = lines.response
        label = self._labels[lines.example.label]
        output: dict[str, Any] = {} if response is None else from_json(response.output)
        usage = Usage.read(output)
        columns = lines.measured_columns()
        return EvalRow(
            system=self._systems[identity.system_number],
            example_id=lines.example.example_id,
            scores={score.name: score.value for score in lines.scores if score.shown},
            metadata=_metadata(usage, None if response is None else response.measured, output),
            dataset=label.dataset,
            response=text_of(output.get("response")),
            output=output,
            errors=tuple(
                Failure(
                    stage=failure.stage,
                    kind=failure.kind,
                    message=failure.message,
                    evaluator=self._evaluators.get(failure.evaluator),
                    attempts=failure.attempts,
                    traceback=failure.traceback,
                )
                for failure in lines.failures
            ),
            unscored={
                self._evaluators[evaluation.evaluator]: evaluation.unscored
                for evaluation in lines.evaluations
                if evaluation.unscored is not None
            },
            details={
                self._evaluators[evaluation.evaluator]: from_json(evaluation.details)
                for evaluation in lines.evaluations
                if evaluation.details is not None
            },
            primary=label.primary,
            keys=label.keys,
            position=identity.position,
            repetition=identity.repetition,
            system_number=identity.system_number,
            dataset_number=identity.dataset,
            usage=usage,
            baseline=lines.baseline,
            reference=label.reference,
            is_extra=self._is_extra(identity),
            **{name: getattr(columns, name) for name in ROW_COLUMNS},
        )

    def _is_extra(self, identity: RowId) -> bool:
        """Whether the reference was called once more for this row, only to see how far it agrees
        with itself."""
        return (
            self._reference is not None
            and identity.system_number == self._reference.system_number
            and identity.repetition >= self._reference.repetitions
        )


def _metadata(
    usage: Usage | None, measured: str | None, output: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a row says of its call in addition to its columns."""
    metadata: dict[str, Any] = {}
    if usage is not None:
        metadata["usage"] = usage.to_dict()
    if measured is not None:
        metadata |= from_json(measured)
    for name in ("finish_reason", "model"):
        if name in output:
            metadata[name] = output[name]
    return metadata


class _BaselineLine(NamedTuple):
    number: int
    reported_tokens: int | None
    cost: float | None


class Baselines:
    """The baselines' rows, read along with rows in canonical order, those of one example at a time.

    Args:
        connection: Reads a snapshot of the file.
        baseline: System number of the baseline.
        paired: Numbers of the systems that are compared with another baseline, and that one's
            number.
        first, last: Packed identities between which rows are read.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        baseline: int,
        paired: Mapping[int, int],
        first: int = 0,
        last: int = _END - 1,
    ) -> None:
        numbers = sorted({baseline, *paired.values()})
        query = (
            "SELECT id, reported_tokens, cost FROM responses WHERE id BETWEEN ? AND ? "
            f"AND system_number IN ({','.join('?' * len(numbers))}) ORDER BY id"
        )
        bounds = (example_of(first), last_of(last))
        self._lines = map(_BaselineLine._make, connection.execute(query, (*bounds, *numbers)))
        self._next = next(self._lines, None)
        self._example = -1
        self._baseline = baseline
        self._paired = paired
        self._rows: dict[tuple[int, int], BaselineRow] = {}

    def of(self, number: int) -> BaselineRow | None:
        """Return the baseline's row for a packed identity; identities must come in order."""
        example = example_of(number)
        if example != self._example:
            self._example = example
            self._read_example()
        identity = RowId.unpack(number)
        baseline = self._paired.get(identity.system_number, self._baseline)
        return self._rows.get((baseline, identity.repetition))

    def _read_example(self) -> None:
        self._rows = {}
        last = last_of(self._example)
        while self._next is not None and self._next.number <= last:
            if self._next.number >= self._example:
                identity = RowId.unpack(self._next.number)
                self._rows[identity.system_number, identity.repetition] = BaselineRow(
                    prompt_tokens=self._next.reported_tokens, cost=self._next.cost
                )
            self._next = next(self._lines, None)


class SortedLines(Generic[Record]):
    """The lines of a table sorted by packed identity, read row by row.

    Attributes:
        next_number: Packed identity of the next line.
    """

    def __init__(self, table: Table[Record], lines: Iterable[Values]) -> None:
        self._table = table
        self._lines = table.read(lines)
        self._record: Record | None = None
        self._checksum = 0
        self.next_number = -1
        self._advance()

    def _advance(self) -> None:
        earlier = self.next_number
        self.next_number, self._record, self._checksum = next(self._lines, (_END, None, 0))
        if self.next_number < earlier:  # pages that refer to one another in a circle never end
            raise StoreError("The run file is damaged: its rows are out of order.")

    def take(self, number: int, scores: Sequence[ScoreColumns] = ()) -> list[Record]:
        """Return the records of a row, each checked.

        Args:
            number: Packed identity of the row.
            scores: Scores of the row, which the checksums of its evaluations cover.

        Raises:
            StoreError: A line has a wrong checksum.
        """
        records = []
        while self.next_number == number:
            records.append(self._checked(scores))
            self._advance()
        return records

    def seek(self, number: int) -> Record | None:
        """Return the record with a packed identity, checked; those before it are skipped."""
        while self.next_number < number:
            self._advance()
        return self._checked() if self.next_number == number else None

    def _checked(self, scores: Sequence[ScoreColumns] = ()) -> Record:
        record = self._record
        assert record is not None
        if self._table.has_checksum:
            covered: list[Values] = []
            if isinstance(record, EvaluationColumns):
                covered = SCORES.lines(
                    (self.next_number, score)
                    for score in scores
                    if score.evaluator == record.evaluator
                )
            self._table.verify(self.next_number, record, self._checksum, covered)
        return record
