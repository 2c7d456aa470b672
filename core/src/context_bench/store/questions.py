"""Questions about a whole run, each of them one SQL query, for the runner, the metrics and those who look at runs."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError
from context_bench.store.encoding import from_json
from context_bench.store.keys import (
    RowId,
    dataset_hash,
    example_key,
    last_of,
    output_key,
    sql_example_of,
    sql_slot_of,
)
from context_bench.store.reader import RunReader, told_as_damage
from context_bench.store.rows import lists_of_types
from context_bench.store.schema import Values

_EXAMPLES = f"JOIN examples ON examples.id = {sql_example_of('responses.id')}"


_INT, _REAL, _NONE = frozenset({int}), frozenset({float}), {type(None)}
_SCORE_LINE = (
    *(
        _INT,
        _INT,
        _INT,
        _REAL,
        _INT,
        _INT | _NONE,
        _INT,
        _INT | _NONE,
        _INT | _NONE,
        _REAL | _NONE,
        _REAL | _NONE,
    ),
    *(_INT, _INT, _INT, frozenset({str}) | _NONE, _REAL | _NONE),
)
_HAS_MORE = (
    """(measured IS NOT NULL OR instr(output, '"usage"') OR instr(output, '"turn_responses"'))"""
)


def score_lines(reader: RunReader, labels: Iterable[int]) -> Iterator[Values]:
    """Yield what metrics need of every answered row, a line for each of its shown scores, in canonical order.

    A line is id, slot, label, latency, input_tokens, prompt_tokens, response_tokens, context_tokens, cached_tokens, cost,
    system_latency, attempts, reused, whether :func:`measured` knows more of it, name and value. Check sums are left to the
    reading of whole rows.
    """
    numbers = list(labels)
    one = len(numbers) == 1  # then the pages of the examples need not be read
    query = (
        f"SELECT responses.id, slot, {int(numbers[0]) if one else 'label'}, latency, input_tokens, prompt_tokens, "
        f"response_tokens, context_tokens, cached_tokens, cost, system_latency, attempts, reused, {_HAS_MORE}, name, value "
        "FROM responses "
        f"{'' if one else _EXAMPLES} LEFT JOIN scores ON scores.response = responses.id AND shown ORDER BY responses.id"
    )
    return lists_of_types(_SCORE_LINE, reader.lists(query), "the responses")


def measured(reader: RunReader) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what was measured of a row beside its columns, by packed identity, in order; rows without are left out.

    That are ``waiting``, ``attempt_latency`` and ``ttft`` in seconds, ``is_reported`` where the endpoint counted the tokens
    of the response, and ``turns``, how many answers a conversation has.
    """
    query = (
        "SELECT id, json_extract(measured, '$.waiting'), json_extract(measured, '$.attempt_latency'), "
        "json_extract(measured, '$.ttft'), coalesce(json_extract(output, '$.usage.output_tokens'), "
        "json_extract(output, '$.usage.completion_tokens')) IS NOT NULL, "
        f"json_array_length(output, '$.turn_responses') FROM responses WHERE {_HAS_MORE} ORDER BY id"
    )
    names = ("waiting", "attempt_latency", "ttft", "is_reported", "turns")
    for number, *found in reader.stream(query):
        yield number, {name: value for name, value in zip(names, found) if value}


def troubled(reader: RunReader) -> list[int]:
    """Return the packed identities of the rows that have a failure, in order."""
    return [
        number for (number,) in reader.lines("SELECT DISTINCT response FROM failures ORDER BY 1")
    ]


def unscored(reader: RunReader, label: int, evaluator: int) -> Iterator[int]:
    """Yield the packed identities of a label's answered rows of which an evaluator has said nothing."""
    query = (
        f"SELECT responses.id FROM responses {_EXAMPLES} WHERE label = ? "
        "AND NOT EXISTS (SELECT 1 FROM evaluations WHERE response = responses.id AND evaluator = ?) "
        "AND NOT EXISTS (SELECT 1 FROM failures WHERE response = responses.id AND evaluator = ?)"
    )
    return (number for (number,) in reader.stream(query, label, evaluator, evaluator))


def silences(reader: RunReader, is_unscored: bool) -> list[Values]:
    """Return system, evaluator, reason, number of rows, and whether the evaluator has scored any: where one gave no score.

    Rows that evaluators failed on, by the kind of the error; and, where there are unscored rows, those. One that is not wired
    any more counts as one that has.
    """
    told = f"JOIN systems ON slot = {sql_slot_of('response')} JOIN evaluators ON evaluators.number = evaluator WHERE"
    query = (
        "SELECT systems.label, evaluators.id, kind || ': ' || min(message), count(*), evaluator IN "
        f"(SELECT evaluator FROM scores) FROM failures {told} stage = 'evaluator' GROUP BY 1, 2, kind"
    )
    if is_unscored:
        reasons = (
            f"SELECT systems.label, evaluators.id, unscored, count(*), 1 FROM evaluations {told}"
        )
        query = f"{reasons} unscored IS NOT NULL GROUP BY 1, 2, 3 UNION ALL {query}"
    found = reader.typed("the evaluations", (str, str, str, int, int), f"{query} ORDER BY 1, 2, 3")
    with told_as_damage(reader.path):
        wired = {name for label in reader.labels() for name in label.plan["evaluators"]}
    return [(*told, has_spoken or told[1] not in wired) for *told, has_spoken in found]


def spent(reader: RunReader) -> tuple[float, float | None]:
    """Return what the rows have cost so far, and the most that one of them did, conversations left out of that.

    Rows without a known cost and those of other runs are left out of both.
    """
    [(money,)] = reader.lines("SELECT coalesce(sum(cost), 0) FROM responses WHERE NOT reused")
    [(dearest,)] = reader.lines(
        "SELECT max(cost) FROM responses WHERE NOT reused AND id NOT IN (SELECT response FROM turns)"
    )
    return float(money), dearest


def turns_asked(reader: RunReader) -> Iterator[tuple[int, str, bool]]:
    """Yield slot and JSON of the output of each turn, and whether its conversation is finished."""
    for number, output, is_finished in reader.lines(
        "SELECT response, output, response IN (SELECT id FROM responses) FROM turns"
    ):
        yield RowId.unpack(number).slot, output, bool(is_finished)


def responses_to_score(reader: RunReader) -> Iterator[Values]:
    """Yield every response with what evaluators said of it, a line for each of them, in canonical order.

    A line is id, key, output, hash, label, body of the example, number of the evaluator, its key, and why it said nothing.
    """
    query = (
        "SELECT responses.id, responses.key, output, responses.hash, label, body, evaluations.evaluator, evaluations.key, "
        f"unscored FROM responses {_EXAMPLES} LEFT JOIN evaluations ON evaluations.response = responses.id "
        "ORDER BY responses.id"
    )
    allowed = int, bytes, str, bytes, int, str | None, int | None, bytes | None, str | None
    return reader.typed("the responses", allowed, query)


def causes(reader: RunReader) -> list[Values]:
    """Return the kinds of failure with how many there are of each, the most frequent first.

    A line is slot, number of the evaluator, kind, count, and message, example and identity of the first row.
    """
    # The bare columns are those of the row with the smallest `response`: SQLite promises it for min().
    query = (
        f"SELECT {sql_slot_of('response')} AS slot, evaluator, kind, count(*), message, example_id, min(response) "
        f"FROM failures JOIN examples ON examples.id = {sql_example_of('response')} "
        "GROUP BY slot, evaluator, kind ORDER BY count(*) DESC, min(response)"
    )
    return reader.lines(query)


def failures(reader: RunReader) -> Iterator[Values]:
    """Yield identity, example, stage, number of the evaluator, kind, message, attempts and traceback of every failure."""
    query = (
        "SELECT response, example_id, stage, evaluator, kind, message, attempts, traceback FROM failures "
        f"JOIN examples ON examples.id = {sql_example_of('response')} ORDER BY response, stage DESC, evaluator"
    )
    return reader.typed("the failures", (int, str, str, int, str, str, int, str), query)


def examples(reader: RunReader, **wanted: Any) -> Iterator[Values]:
    """Yield identity, id, label, hash and body of every example in order, or of those with a value in a column."""
    asked = {column: value for column, value in wanted.items() if value is not None}
    where = "".join(f" WHERE {column} = ?" for column in asked)
    query = f"SELECT id, example_id, label, hash, body FROM examples{where} ORDER BY id"
    return reader.typed("the examples", (int, str, int, bytes, str | None), query, *asked.values())


def has_example(reader: RunReader, content: bytes) -> bool:
    """Whether an example with this hash stands in the run."""
    return bool(reader.lines("SELECT 1 FROM examples WHERE hash = ? LIMIT 1", content))


def response_keys(reader: RunReader, example: int) -> list[Values]:
    """Return identity, response key, hash of the output, and whether it was reused, of every answer to an example."""
    query = "SELECT id, key, hash, reused FROM responses WHERE id BETWEEN ? AND ? ORDER BY id"
    return list(
        reader.typed("the responses", (int, bytes, bytes, int), query, example, last_of(example))
    )


def shares_of(reader: RunReader, key: bytes) -> list[bool]:
    """Return for each response with a key whether the key is valid in other runs."""
    query = "SELECT shared FROM responses JOIN systems USING (slot) WHERE responses.key = ?"
    return [bool(shared) for (shared,) in reader.lines(query, key)]


def evaluations_of(reader: RunReader, number: int) -> list[Values]:
    """Return id of the evaluator, score key, name and value of every score of a row; no name where it gave none."""
    query = (
        "SELECT evaluators.id, evaluations.key, name, value FROM evaluations "
        "JOIN evaluators ON number = evaluations.evaluator LEFT JOIN scores ON scores.response = evaluations.response "
        "AND scores.evaluator = evaluations.evaluator WHERE evaluations.response = ? ORDER BY evaluations.evaluator, name"
    )
    return list(reader.typed("the scores", (str, bytes, str | None, float | None), query, number))


class EarlierResponses:
    """Finds a response in earlier run files by its key.

    Only systems that tell their fingerprint take part: the key of any other is valid in its own run alone. A response is
    an answer; failures are never found.

    Args:
        files: Run files, the most trusted first.

    Raises:
        StoreError: A file cannot be read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._index: dict[bytes, tuple[int, int]] = {}
        self._readers: list[RunReader] = []
        query = "SELECT responses.key, responses.id FROM responses JOIN systems USING (slot) WHERE shared"
        for path in files:
            try:
                reader = RunReader(path)
                for key, row in reader.typed("the responses", (bytes, int), query):
                    self._index.setdefault(key, (len(self._readers), row))
            except StoreError as error:
                raise StoreError(
                    f"An earlier run cannot be reused: {error} Leave it out, or delete it."
                ) from error
            self._readers.append(reader)

    def find(self, key: bytes) -> tuple[Mapping[str, Any], float] | None:
        """Return the output and latency of the response with this key, or None."""
        place = self._index.get(key)
        if place is None:
            return None
        reader, query = (
            self._readers[place[0]],
            "SELECT output, latency FROM responses WHERE id = ?",
        )
        with reader.snapshot():
            for output, latency in reader.typed("the responses", (str, float), query, place[1]):
                return dict(from_json(output)), latency
        return None


def faults(reader: RunReader) -> Iterator[str]:
    """Yield what is wrong with a run file, a line each; the first damaged row ends it."""
    try:
        yield from (
            f"SQLite: {line}"
            for (line,) in reader.lines("PRAGMA integrity_check(20)")
            if line != "ok"
        )
        with reader.snapshot():
            deque(reader.rows(), maxlen=0)  # each is held against its check sum
            yield from _outputs(reader)
            yield from _examples(reader)
    except StoreError as error:
        yield str(error)


def _outputs(reader: RunReader) -> Iterator[str]:
    turns: dict[int, list[Any]] = {}
    for (number,) in reader.lines("SELECT DISTINCT response FROM turns"):
        turns[number] = [
            from_json(turn.output)["response"] for turn in reader.turns(RowId.unpack(number))
        ]
    query = "SELECT id, output, hash FROM responses ORDER BY id"
    for number, output, digest in reader.typed("the responses", (int, str, bytes), query):
        found = from_json(output)
        if output_key(found) != digest:
            yield f"The output at {RowId.unpack(number)} is not the one that was hashed."
        if number in turns and turns[number] != found.get("turn_responses"):
            yield f"The turns at {RowId.unpack(number)} are not those of its response."


def _examples(reader: RunReader) -> Iterator[str]:
    content: dict[int, Any] = defaultdict(dataset_hash)
    lengths: Counter[int] = Counter()
    for number, _, _, digest, body in examples(reader):
        dataset = RowId.unpack(number).dataset
        content[dataset].update(digest)
        lengths[dataset] += 1
        if body is not None and example_key(from_json(body)) != digest:
            yield f"The example at {RowId.unpack(number)} is not the one that was hashed."
    for entry in reader.datasets():
        number, length = entry["number"], entry["length"]
        if length not in (None, lengths[number]):
            yield f"Dataset {entry['label']!r} had {length} examples, and {lengths[number]} are here."
        elif length and content[number].digest() != entry["content"]:
            yield f"The examples of dataset {entry['label']!r} are not those that the run was given."
