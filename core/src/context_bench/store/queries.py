"""Queries over a whole run, each of them one SQL statement, for the runner, the metrics and those
who look at runs."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from attrs import Factory, define

from context_bench.columns import ROW_COLUMNS, RowColumns
from context_bench.errors import StoreError
from context_bench.store.encoding import from_json
from context_bench.store.keys import (
    COMPUTED_OF_ROW,
    RowId,
    dataset_hash,
    example_key,
    last_of,
    output_key,
    sql_example_of,
    sql_system_of,
)
from context_bench.store.reader import RunReader, raising_store_errors
from context_bench.store.tables import RESPONSES, groups_of_types

_CALLED = "NOT reused AND NOT recorded"
_EXAMPLES = f"JOIN examples ON examples.id = {sql_example_of('responses.id')}"
_EXAMPLE_OF_RESPONSE = f"JOIN examples ON examples.id = {sql_example_of('response')}"
_HAS_MORE = (
    "(measured IS NOT NULL "
    """OR output GLOB '*"usage"*' OR output GLOB '*"turn_responses"*')"""
)
"""GLOB looks for the next quotation mark; instr() compares at every character, and takes seven
times as long."""


@define(eq=False, kw_only=True)
class AnsweredRow(RowColumns):
    """What metrics need of an answered row.

    Attributes:
        number: Its packed identity.
        system_number: Number of its system.
        label: Number of its label.
        has_more: Whether :func:`measurements` yields more of it.
        scores: Its shown scores, by key.
    """

    number: int
    system_number: int
    label: int
    has_more: int
    scores: dict[str, float] = Factory(dict)


def answered_rows(reader: RunReader, labels: Iterable[int]) -> Iterator[AnsweredRow]:
    """Yield what metrics need of every answered row, in canonical order.

    Checksums are left to the reading of whole rows.
    """
    numbers = list(labels)
    columns = [name for name, column in ROW_COLUMNS.items() if column.aggregated]
    stored_types = dict(zip(RESPONSES.stored_names, RESPONSES.allowed))
    types = (int, str | None, float | None, int, int, int)
    label = "label"
    examples = _EXAMPLES
    if len(numbers) == 1:  # then the pages of the examples need not be read
        label = str(int(numbers[0]))
        examples = ""
    query = (
        f"SELECT responses.id, name, value, system_number, {label}, {_HAS_MORE}, "
        f"{', '.join(f'responses.{name}' for name in columns)} FROM responses {examples} "
        "LEFT JOIN scores ON scores.response = responses.id AND shown ORDER BY responses.id"
    )
    names = ("system_number", "label", "has_more", *columns)
    allowed = (*types, *(stored_types[name] for name in columns))
    row: AnsweredRow | None = None
    groups = groups_of_types(allowed, reader.lists(query), "the responses")
    for number, score, value, *values in chain.from_iterable(groups):
        if row is None or row.number != number:
            if row is not None:
                yield row
            row = AnsweredRow(number=number, **dict(zip(names, values)))
        if score is not None:
            row.scores[score] = value
    if row is not None:
        yield row


class Measurement(NamedTuple):
    """What was measured of a row in addition to its columns.

    Attributes:
        number: Packed identity of the row.
        waiting, attempt_latency, ttft: Seconds.
        is_reported: Whether the endpoint counted the tokens of the response.
        turns: How many answers a conversation has.
    """

    number: int
    waiting: Any
    attempt_latency: Any
    ttft: Any
    is_reported: int
    turns: int | None


def measurements(reader: RunReader) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the fields of :class:`Measurement` that a row has, by packed identity, in order; rows
    without are left out."""
    query = (
        "SELECT id, json_extract(measured, '$.waiting'), json_extract(measured, "
        "'$.attempt_latency'), json_extract(measured, '$.ttft'), coalesce(json_extract(output, "
        "'$.usage.output_tokens'), "
        "json_extract(output, '$.usage.completion_tokens')) IS NOT NULL, "
        f"json_array_length(output, '$.turn_responses') FROM responses WHERE {_HAS_MORE} ORDER BY "
        "id"
    )
    for line in reader.stream(query):
        fields = Measurement._make(line)._asdict()
        number = fields.pop("number")
        yield number, {name: value for name, value in fields.items() if value}


def rows_with_failures(reader: RunReader) -> list[int]:
    """Return the packed identities of the rows that have a failure, in order."""
    return [
        number for (number,) in reader.lines("SELECT DISTINCT response FROM failures ORDER BY 1")
    ]


def score_keys(reader: RunReader) -> list[str]:
    """Return every score key that a row has, in order."""
    return [key for (key,) in reader.lines("SELECT DISTINCT name FROM scores ORDER BY 1")]


def unscored(reader: RunReader, label: int, evaluator: int) -> Iterator[int]:
    """Yield the packed identities of a label's answered rows of which an evaluator has said
    nothing."""
    query = (
        f"SELECT responses.id FROM responses {_EXAMPLES} WHERE label = ? "
        "AND NOT EXISTS (SELECT 1 FROM evaluations WHERE response = responses.id AND evaluator = "
        "?) AND NOT EXISTS (SELECT 1 FROM failures WHERE response = responses.id AND evaluator = ?)"
    )
    return (number for (number,) in reader.stream(query, label, evaluator, evaluator))


class Silence(NamedTuple):
    """Rows of one system to which one evaluator gave no score.

    Attributes:
        system: Label of the system.
        evaluator: Id of the evaluator.
        reason: Why there is no score.
        rows: How many rows.
        has_spoken: Whether the evaluator has scored other rows, or is not wired any more.
    """

    system: str
    evaluator: str
    reason: str
    rows: int
    has_spoken: int


def silences(reader: RunReader, is_unscored: bool) -> list[Silence]:
    """Return where evaluators gave no score: the rows that they failed on, by the kind of the
    error.

    Args:
        reader: The run.
        is_unscored: Whether to return unscored rows, too.
    """
    names = (
        f"JOIN systems ON system_number = {sql_system_of('response')} "
        "JOIN evaluators ON evaluators.number = evaluator WHERE"
    )
    query = (
        "SELECT systems.label, evaluators.id, kind || ': ' || min(message), count(*), evaluator IN "
        f"(SELECT evaluator FROM scores) FROM failures {names} stage = 'evaluator' GROUP BY 1, 2, "
        "kind"
    )
    if is_unscored:
        reasons = (
            f"SELECT systems.label, evaluators.id, unscored, count(*), 1 FROM evaluations {names}"
        )
        query = f"{reasons} unscored IS NOT NULL GROUP BY 1, 2, 3 UNION ALL {query}"
    lines = list(reader.records(Silence, f"{query} ORDER BY 1, 2, 3"))
    with raising_store_errors(reader.path):
        wired = {name for label in reader.labels() for name in label.plan["evaluators"]}
    return [
        silence if silence.evaluator in wired else silence._replace(has_spoken=1)
        for silence in lines
    ]


def spent(reader: RunReader) -> tuple[float, float | None]:
    """Return what the rows have cost so far, and the cost of the most expensive one, conversations
    left out of that.

    Rows without a known cost and those of other runs are left out of both.
    """
    [(total,)] = reader.lines(f"SELECT coalesce(sum(cost), 0) FROM responses WHERE {_CALLED}")
    [(maximum,)] = reader.lines(
        f"SELECT max(cost) FROM responses WHERE {_CALLED} AND id NOT IN (SELECT response FROM "
        "turns)"
    )
    return float(total), maximum


def total_cost(reader: RunReader) -> float | None:
    """Return the sum of what the rows cost, whoever paid for them; None where no row knows it."""
    query = (
        "SELECT sum(cost) FROM (SELECT cost FROM responses "
        "UNION ALL SELECT cost FROM failures WHERE stage = 'system')"
    )
    [(total,)] = reader.lines(query)
    with raising_store_errors(reader.path):
        return None if total is None else float(total)


def has_shared_clusters(reader: RunReader) -> bool:
    """Return whether two examples have one cluster."""
    [(found,)] = reader.lines(
        "SELECT EXISTS (SELECT 1 FROM examples WHERE cluster IS NOT NULL GROUP BY cluster "
        "HAVING count(*) > 1)"
    )
    return bool(found)


class ExampleCluster(NamedTuple):
    """The packed identity of an example, and its cluster."""

    number: int
    cluster: str | None


def clusters(reader: RunReader) -> Iterator[ExampleCluster]:
    """Yield the cluster of every example, in canonical order."""
    return reader.records(ExampleCluster, "SELECT id, cluster FROM examples ORDER BY id")


def shared_clusters(reader: RunReader) -> Iterator[ExampleCluster]:
    """Yield the cluster of every example that shares it with another one, in canonical order."""
    return reader.records(
        ExampleCluster,
        "SELECT id, cluster FROM examples WHERE cluster IN (SELECT cluster FROM examples "
        "WHERE cluster IS NOT NULL GROUP BY cluster HAVING count(*) > 1) ORDER BY id",
    )


def has_repetitions(reader: RunReader) -> bool:
    """Return whether an example was answered more than once by a system."""
    repetition = COMPUTED_OF_ROW["repetition"]
    query = f"SELECT EXISTS (SELECT 1 FROM responses WHERE {repetition})"
    [(found,)] = reader.lines(query)
    return bool(found)


class AnsweredTurn(NamedTuple):
    """A stored turn: number of its system, JSON of its output, and whether its conversation is
    finished."""

    system_number: int
    output: str
    is_finished: int


def answered_turns(reader: RunReader) -> Iterator[AnsweredTurn]:
    """Yield the stored turns of all conversations."""
    query = (
        f"SELECT {sql_system_of('response')}, output, response IN (SELECT id FROM responses) "
        "FROM turns"
    )
    return reader.records(AnsweredTurn, query)


class ScoredResponse(NamedTuple):
    """A response, with what one evaluator said of it.

    Attributes:
        number: Packed identity of the row.
        key: Response key.
        output: JSON of the output.
        output_hash: Hash of the output.
        label: Number of the label.
        body: JSON of the example; None when examples are not stored.
        evaluator: Number of the evaluator; None when none said anything.
        score_key: Its score key.
        unscored: Why it gave no score.
    """

    number: int
    key: bytes
    output: str
    output_hash: bytes
    label: int
    body: str | None
    evaluator: int | None
    score_key: bytes | None
    unscored: str | None


def responses_to_score(reader: RunReader) -> Iterator[ScoredResponse]:
    """Yield every response with what evaluators said of it, a line for each of them, in canonical
    order."""
    query = (
        "SELECT responses.id, responses.key, output, output_hash, label, body, "
        f"evaluations.evaluator, evaluations.key, unscored FROM responses {_EXAMPLES} "
        "LEFT JOIN evaluations ON evaluations.response = responses.id ORDER BY responses.id"
    )
    return reader.records(ScoredResponse, query)


class FailureCause(NamedTuple):
    """A kind of failure.

    Attributes:
        system_number: Number of the system.
        evaluator: Number of the evaluator; -1 for the system.
        kind: Class of the error.
        failures: How many failures there are.
        message, example_id, first: Message, example and packed identity of the first one.
    """

    system_number: int
    evaluator: int
    kind: str
    failures: int
    message: str
    example_id: str
    first: int


def causes(reader: RunReader) -> list[FailureCause]:
    """Return the kinds of failure, the most frequent first."""
    # The bare columns are those of the row with the smallest `response`: SQLite promises it for
    # min().
    query = (
        f"SELECT {sql_system_of('response')} AS number, evaluator, kind, count(*), message, "
        f"example_id, min(response) FROM failures {_EXAMPLE_OF_RESPONSE} "
        "GROUP BY number, evaluator, kind ORDER BY count(*) DESC, min(response)"
    )
    return list(reader.records(FailureCause, query))


class StoredFailure(NamedTuple):
    """A failure, with the packed identity of its row and the id of its example."""

    number: int
    example_id: str
    stage: str
    evaluator: int
    kind: str
    message: str
    attempts: int
    traceback: str


def failures(reader: RunReader) -> Iterator[StoredFailure]:
    """Yield every failure, in canonical order of the rows."""
    query = (
        "SELECT response, example_id, stage, evaluator, kind, message, attempts, traceback FROM "
        f"failures {_EXAMPLE_OF_RESPONSE} ORDER BY response, stage DESC, evaluator"
    )
    return reader.records(StoredFailure, query)


class ExampleLine(NamedTuple):
    """An example: packed identity, id, number of the label, hash, and JSON of the example where it
    is stored."""

    number: int
    example_id: str
    label: int
    hash: bytes
    body: str | None


def examples(reader: RunReader, **wanted: Any) -> Iterator[ExampleLine]:
    """Yield every example in order, or those with a value in a column."""
    conditions = {column: value for column, value in wanted.items() if value is not None}
    where = "".join(f" WHERE {column} = ?" for column in conditions)
    query = f"SELECT id, example_id, label, hash, body FROM examples{where} ORDER BY id"
    return reader.records(ExampleLine, query, *conditions.values())


class ExampleHash(NamedTuple):
    """The packed identity of an example, and its hash."""

    number: int
    hash: bytes


def example_hashes(reader: RunReader) -> Iterator[ExampleHash]:
    """Yield the hash of every example, in canonical order."""
    return reader.records(ExampleHash, "SELECT id, hash FROM examples ORDER BY id")


def has_example(reader: RunReader, content: bytes) -> bool:
    """Whether the run has an example with this hash."""
    return bool(reader.lines("SELECT 1 FROM examples WHERE hash = ? LIMIT 1", content))


class ResponseKey(NamedTuple):
    """The keys of an answer: packed identity, response key, hash of the output, and whether it was
    reused."""

    number: int
    key: bytes
    output_hash: bytes
    reused: int


def response_keys(reader: RunReader, example: int) -> list[ResponseKey]:
    """Return the keys of every answer to an example."""
    query = (
        "SELECT id, key, output_hash, reused FROM responses WHERE id BETWEEN ? AND ? ORDER BY id"
    )
    return list(reader.records(ResponseKey, query, example, last_of(example)))


def is_reusable(reader: RunReader, key: bytes) -> bool:
    """Whether a response with a key is valid in other runs."""
    query = (
        "SELECT 1 FROM responses JOIN systems USING (system_number) "
        "WHERE responses.key = ? AND reusable LIMIT 1"
    )
    return bool(reader.lines(query, key))


class StoredScore(NamedTuple):
    """Id of an evaluator, its score key, and name and value of a score; no name where it gave
    none."""

    evaluator: str
    score_key: bytes
    name: str | None
    value: float | None


def scores_of(reader: RunReader, number: int) -> list[StoredScore]:
    """Return every score of a row."""
    query = (
        "SELECT evaluators.id, evaluations.key, name, value FROM evaluations "
        "JOIN evaluators ON number = evaluations.evaluator LEFT JOIN scores ON scores.response = "
        "evaluations.response AND scores.evaluator = evaluations.evaluator WHERE "
        "evaluations.response = ? ORDER BY "
        "evaluations.evaluator, name"
    )
    return list(reader.records(StoredScore, query, number))


class _KeyLine(NamedTuple):
    key: bytes
    number: int


class _OutputLine(NamedTuple):
    output: str
    latency: float


class EarlierResponses:
    """Finds a response in earlier run files by its key.

    Only systems that have a fingerprint take part: the key of any other is valid in its own run
    alone. A response is an answer; failures are never found.

    Args:
        files: Run files, the most trusted first.

    Raises:
        StoreError: A file cannot be read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._index: dict[bytes, tuple[RunReader, int]] = {}
        query = (
            "SELECT responses.key, responses.id FROM responses "
            "JOIN systems USING (system_number) WHERE reusable"
        )
        for path in files:
            try:
                reader = RunReader(path)
                for line in reader.records(_KeyLine, query):
                    self._index.setdefault(line.key, (reader, line.number))
            except StoreError as error:
                raise StoreError(
                    f"An earlier run cannot be reused: {error} Leave it out, or delete it."
                ) from error

    def find(self, key: bytes) -> tuple[Mapping[str, Any], float] | None:
        """Return the output and latency of the response with this key, or None."""
        if key not in self._index:
            return None
        reader, number = self._index[key]
        query = "SELECT output, latency FROM responses WHERE id = ?"
        with reader.snapshot():
            for line in reader.records(_OutputLine, query, number):
                return dict(from_json(line.output)), line.latency
        return None


def faults(reader: RunReader) -> Iterator[str]:
    """Yield what is wrong with a run file, a line each; the first damaged row ends it."""
    try:
        for (line,) in reader.lines("PRAGMA integrity_check(20)"):
            if line != "ok":
                yield f"SQLite: {line}"
        with reader.snapshot():
            deque(reader.rows(), maxlen=0)  # reading a row checks its checksum
            yield from _output_faults(reader)
            yield from _example_faults(reader)
    except StoreError as error:
        yield str(error)


class _HashedOutput(NamedTuple):
    number: int
    output: str
    output_hash: bytes


def _output_faults(reader: RunReader) -> Iterator[str]:
    turns: dict[int, list[Any]] = {}
    for (number,) in reader.lines("SELECT DISTINCT response FROM turns"):
        turns[number] = [
            from_json(turn.output)["response"] for turn in reader.turns(RowId.unpack(number))
        ]
    query = "SELECT id, output, output_hash FROM responses ORDER BY id"
    for line in reader.records(_HashedOutput, query):
        output = from_json(line.output)
        row = RowId.unpack(line.number)
        if output_key(output) != line.output_hash:
            yield f"The output at {row} is not the one that was hashed."
        if line.number in turns and turns[line.number] != output.get("turn_responses"):
            yield f"The turns at {row} are not those of its response."


def _example_faults(reader: RunReader) -> Iterator[str]:
    content: dict[int, Any] = defaultdict(dataset_hash)
    lengths: Counter[int] = Counter()
    for example in examples(reader):
        row = RowId.unpack(example.number)
        content[row.dataset].update(example.hash)
        lengths[row.dataset] += 1
        if example.body is not None and example_key(from_json(example.body)) != example.hash:
            yield f"The example at {row} is not the one that was hashed."
    for dataset in reader.datasets():
        number = dataset["number"]
        length = dataset["length"]
        if length not in (None, lengths[number]):
            current = lengths[number]
            yield f"Dataset {dataset['label']!r} had {length} examples, and {current} are here."
        elif length and content[number].digest() != dataset["content"]:
            label = dataset["label"]
            yield f"The examples of dataset {label!r} are not those that the run was given."
