"""Is a run file sound: is it what was written, and does what it holds fit together?"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from context_bench.errors import StoreError
from context_bench.store import questions
from context_bench.store.encoding import DIGEST_SIZE, from_json
from context_bench.store.identity import RowId
from context_bench.store.keys import example_key, output_key
from context_bench.store.reader import RunReader

_MOST = 20


def faults(reader: RunReader) -> Iterator[str]:
    """Yield what is wrong with a run file, a line each; the first damaged row ends it."""
    try:
        yield from (f"SQLite: {line}" for line in questions.faults_of_sqlite(reader, _MOST))
        with reader.snapshot():
            for _ in reader.rows():  # each is held against its check sum
                pass
            yield from _outputs(reader)
            yield from _examples(reader)
    except StoreError as error:
        yield str(error)


def _outputs(reader: RunReader) -> Iterator[str]:
    turns: dict[int, list[Any]] = {}
    for number in questions.conversations(reader):
        turns[number] = [from_json(turn.output)["response"] for turn in reader.turns(RowId.unpack(number))]
    for number, output, digest in questions.outputs(reader):
        found = from_json(output)
        if output_key(found) != digest:
            yield f"The output at {RowId.unpack(number)} is not the one that was hashed."
        if number in turns and turns[number] != found.get("turn_responses"):
            yield f"The turns at {RowId.unpack(number)} are not those of its response."


def _examples(reader: RunReader) -> Iterator[str]:
    content: dict[int, Any] = {}
    lengths: dict[int, int] = {}
    for number, _, _, digest, body in questions.examples(reader):
        dataset = RowId.unpack(number).dataset
        if dataset not in content:
            content[dataset] = blake2b(b"context-bench dataset 1", digest_size=DIGEST_SIZE)
        content[dataset].update(digest)
        lengths[dataset] = lengths.get(dataset, 0) + 1
        if body is not None and example_key(from_json(body)) != digest:
            yield f"The example at {RowId.unpack(number)} is not the one that was hashed."
    for entry in reader.datasets():
        number, length = entry["number"], entry["length"]
        if length is None:
            continue
        if length != lengths.get(number, 0):
            yield f"Dataset {entry['label']!r} had {length} examples, and {lengths.get(number, 0)} are here."
        elif length and content[number].digest() != entry["content"]:
            yield f"The examples of dataset {entry['label']!r} are not those that the run was given."
