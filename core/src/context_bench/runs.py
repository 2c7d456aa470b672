"""Reading runs: everything that a run file holds, typed, over one read-only connection. Stable public API.

>>> from tempfile import mkdtemp
>>> from context_bench import evaluate
>>> from context_bench.runs import open_run
>>> class Same:
...     name = "same"
...     def score(self, original, processed):
...         return {"same": float(original["answer"] == processed["response"])}
>>> path = f"{mkdtemp()}/run.sqlite"
>>> _ = evaluate(lambda example: "Paris", [{"id": "q", "answer": "Paris"}], [Same()], progress=False, run_file=path)
>>> with open_run(path) as run:
...     print([(row.example_id, row.score) for row in run.rows()], run.completeness.sentence)
[('q', 1.0)] 1 row: complete.

A run file may come from anybody: what it holds is checked while it is read, and every fault is a
:class:`~context_bench.errors.StoreError` that names the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from context_bench.errors import StoreError
from context_bench.records import Completeness, EvalRow, Failure, row_to_dict
from context_bench.store import questions
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId, last_of
from context_bench.store.lock import writer_of
from context_bench.store.reader import RunReader, draft_of

__all__ = ["Run", "open_run", "run_files"]


@frozen
class Example:
    """An example as a run was given it.

    Attributes:
        identity: Where it stands: number of the dataset, and position.
        id: Its id, or ``"#<position>"``.
        label: Label of its dataset.
        content: Its fields; None when the run was made without keeping examples.
        hash: Hexadecimal hash of its content.
    """

    identity: tuple[int, int]
    id: str
    label: str
    content: Mapping[str, Any] | None
    hash: str


@frozen
class Turn:
    """One answered turn of a conversation.

    Attributes:
        number: Number of the turn among those that are asked, counted from 0.
        response: The answer as text, or None.
        output: Everything that the system returned.
        latency: Seconds.
        attempts: How often the system was asked.
        measured: What else was measured about the call, such as response headers.
    """

    number: int
    response: str | None
    output: Mapping[str, Any]
    latency: float
    attempts: int
    measured: Mapping[str, Any]


@frozen
class RunFailure:
    """A failure and where it happened.

    Attributes:
        identity: The row.
        system: Label of the system.
        example_id: Id of the example.
        failure: What went wrong.
    """

    identity: RowId
    system: str
    example_id: str
    failure: Failure


@frozen
class Keys:
    """What stands for the content of an answered row; see the page about keys.

    Attributes:
        identity: The row.
        response: Response key, hexadecimal.
        output: Hash of the output, hexadecimal.
        is_reused: Whether the response was taken from an earlier run.
        scores: Score key by evaluator id, hexadecimal.
        values: Scores by key as each evaluator gave them, by evaluator id; empty where it had nothing to say.
    """

    identity: RowId
    response: str
    output: str
    is_reused: bool
    scores: Mapping[str, str]
    values: Mapping[str, Mapping[str, float]]


class Run:
    """A run file, open for reading; :func:`open_run` makes it. It is a context manager.

    Attributes:
        path: The run file.
    """

    def __init__(self, reader: RunReader) -> None:
        self.path = reader.path
        self._reader = reader

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()

    @property
    def id(self) -> str:
        """What tells this run from all others."""
        return str(self._reader.run()["id"])

    @property
    def status(self) -> str:
        """``finished``, ``interrupted``, ``stopped``, or ``running``, which a killed run says too."""
        return str(self._reader.run()["status"])

    @property
    def request(self) -> Mapping[str, Any]:
        """What was asked for, as it was stored; secrets are not in it."""
        return dict(self._reader.run()["config"])

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the run was done: versions, plugins, git state, dependencies."""
        return dict(self._reader.run()["provenance"])

    @property
    def plan(self) -> Mapping[str, Mapping[str, Any]]:
        """The wiring plan by dataset label."""
        return {label.label: label.plan for label in self._reader.labels()}

    @property
    def systems(self) -> tuple[Mapping[str, Any], ...]:
        """The systems by slot: ``slot``, ``label``, ``key``, ``shared`` (is the key valid in other runs), ``description``."""
        return tuple(self._reader.systems())

    @property
    def datasets(self) -> tuple[Mapping[str, Any], ...]:
        """The datasets by number: ``number``, ``label``, ``description``, ``length`` (None until it is known), ``content``."""
        return tuple(self._reader.datasets())

    @property
    def evaluators(self) -> tuple[Mapping[str, Any], ...]:
        """The evaluators by number: ``number``, ``id``, ``key``, ``provenance``."""
        return tuple(self._reader.evaluators())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the run, a line each."""
        return tuple(self._reader.warnings())

    @property
    def completeness(self) -> Completeness:
        """How much of the run is there, and what finishes it."""
        return completeness_of(self._reader)

    def __len__(self) -> int:
        return self._reader.size()

    def __getitem__(self, index: int) -> EvalRow:
        """Return a row by its place in canonical order; it takes the same time in a run of any size."""
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} rows, and none at {index}")
        number = self._reader.id_at(place)
        return next(self._reader.rows(number, number))

    def rows(self, slot: int | None = None) -> Iterator[EvalRow]:
        """Yield the rows in canonical order - dataset, position, system, sample - of one system where its slot is given."""
        return (row for row in self._reader.rows() if slot is None or row.slot == slot)

    def row(self, identity: Sequence[int]) -> EvalRow:
        """Return a row by its identity: dataset, position, slot, sample.

        Raises:
            StoreError: There is no such row.
        """
        number = RowId(*identity).pack()
        for row in self._reader.rows(number, number):
            return row
        raise StoreError(f"{self.path} has no row {RowId(*identity)}.")

    def to_dict(self, row: EvalRow) -> dict[str, Any]:
        """Return a row as JSON-like values, as `context-bench export` writes it."""
        return row_to_dict(row)

    def rows_of(self, example: Sequence[int]) -> Iterator[tuple[RowId, EvalRow]]:
        """Yield the rows of an example, given its identity, with theirs."""
        dataset, position, *_ = example
        first = RowId(dataset, position).pack()
        for row in self._reader.rows(first, last_of(first)):
            yield RowId(dataset, position, row.slot, row.sample), row

    def examples(self, example_id: str | None = None) -> Iterator[Example]:
        """Yield the examples in canonical order, or those with an id."""
        return self._examples(example_id=example_id)

    def example(self, identity: Sequence[int]) -> Example:
        """Return the example of a row.

        Raises:
            StoreError: There is no such example.
        """
        for example in self._examples(id=RowId(*identity[:2]).pack()):
            return example
        raise StoreError(f"{self.path} has no example at {RowId(*identity[:2])}.")

    def _examples(self, **wanted: Any) -> Iterator[Example]:
        with self._reader.snapshot():
            labels = {label.number: label.dataset for label in self._reader.labels()}
            for number, name, label, content, body in questions.examples(self._reader, **wanted):
                fields = None if body is None else from_json(body)
                yield Example(RowId.unpack(number)[:2], name, labels[label], fields, content.hex())

    def turns(self, identity: Sequence[int]) -> tuple[Turn, ...]:
        """Return the turns of a row's conversation that were answered one by one; none of other rows."""
        with self._reader.snapshot():
            told = []
            for turn in self._reader.turns(RowId(*identity)):
                output = from_json(turn.output)
                measured = {} if turn.measured is None else from_json(turn.measured)
                text = output.get("response") if isinstance(output.get("response"), str) else None
                told.append(
                    Turn(turn.turn, text, output, turn.latency, turn.attempts, dict(measured))
                )
            return tuple(told)

    def failures(self) -> Iterator[RunFailure]:
        """Yield every failure, in canonical order of the rows."""
        systems, evaluators = self._reader.names()
        with self._reader.snapshot():
            for number, example, stage, evaluator, *told in questions.failures(self._reader):
                kind, message, attempts, traceback = told
                failure = Failure(
                    stage, kind, message, evaluators.get(evaluator), attempts, traceback
                )
                row = RowId.unpack(number)
                yield RunFailure(row, systems[row.slot], example, failure)

    def causes(self) -> tuple[tuple[RunFailure, int], ...]:
        """Return the first failure of each kind - system or evaluator, and class of the error - with how many there are of
        it, the most frequent first."""
        systems, evaluators = self._reader.names()
        told = []
        with self._reader.snapshot():
            for slot, evaluator, kind, count, message, example, first in questions.causes(
                self._reader
            ):
                stage = "evaluator" if evaluator in evaluators else "system"
                failure = Failure(stage, str(kind), str(message), evaluators.get(evaluator))
                told.append(
                    (
                        RunFailure(RowId.unpack(first), systems[slot], str(example), failure),
                        int(count),
                    )
                )
        return tuple(told)

    def keys(self, identity: Sequence[int]) -> tuple[Keys, ...]:
        """Return the keys of the answered rows of an example, by the identity of the example or of one of its rows."""
        place = RowId(*identity[:2]).pack()
        wanted = RowId(*identity).pack() if len(identity) > 2 else None
        told = []
        with self._reader.snapshot():
            for number, key, output, is_reused in questions.response_keys(self._reader, place):
                if wanted not in (None, number):
                    continue
                scores: dict[str, str] = {}
                values: dict[str, dict[str, float]] = {}
                for evaluator, score, name, value in questions.evaluations_of(self._reader, number):
                    scores[evaluator] = score.hex()
                    values.setdefault(evaluator, {}).update({} if name is None else {name: value})
                told.append(
                    Keys(
                        RowId.unpack(number),
                        key.hex(),
                        output.hex(),
                        bool(is_reused),
                        scores,
                        values,
                    )
                )
        return tuple(told)

    def has_key(self, response: str) -> bool:
        """Whether a response with this key, hexadecimal, can be reused from here."""
        return any(questions.shares_of(self._reader, bytes.fromhex(response)))

    def has_example(self, content: str) -> bool:
        """Whether an example with this hash, hexadecimal, stands in the run."""
        return questions.has_example(self._reader, bytes.fromhex(content))

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the file, a line each, after holding all it has against its check sums and hashes."""
        return questions.faults(self._reader)


class StoredRows(Sequence[EvalRow]):
    """The rows of a run file, read when they are asked for."""

    def __init__(self, reader: RunReader) -> None:
        self.reader = reader
        self._run = Run(reader)

    def __len__(self) -> int:
        return len(self._run)

    def __iter__(self) -> Iterator[EvalRow]:
        return self._run.rows()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._run[place] for place in range(*index.indices(len(self)))]
        return self._run[index]


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run file for reading. Nothing is written, and no plugin is loaded.

    Raises:
        StoreError: It is missing, is no run file, holds what no run file holds, or was written in an unknown format.
    """
    return Run(RunReader(Path(path)))


def run_files(places: Iterable[Path]) -> list[Path]:
    """Return the run files among files and folders, the newest of a folder first.

    Raises:
        StoreError: A place is not there.
    """
    files: list[Path] = []
    for place in places:
        if place.is_dir():
            files += sorted(place.glob("*.sqlite"), reverse=True)
        elif place.is_file():
            files.append(place)
        else:
            raise StoreError(f"There is no run file or folder {place} to reuse responses from.")
    return files


def completeness_of(reader: RunReader) -> Completeness:
    """Return how much of a run is there, and what finishes it."""
    with reader.snapshot():
        status = str(reader.run()["status"])
        expected = reader.facts().get("expected", "")
        done = reader.size()
        request = reader.run()["config"]
        is_request = "systems" in request and not any(map(_holds_object, request.values()))
    writer = writer_of(reader.path) if status != "finished" else None
    remedy = f"`context-bench resume {reader.path}`"
    if not is_request:
        remedy = f"evaluate(..., run_file={str(reader.path)!r}) and the same arguments"
    return Completeness(
        rows_done=done,
        rows_expected=done
        if status == "finished"
        else int(expected)
        if expected.isdecimal()
        else None,
        status="killed" if status == "running" and writer is None else status,
        remedy=f"wait for process {writer}" if writer is not None else f"finish it with {remedy}",
        is_being_rescored=draft_of(reader.path).exists(),
    )


def _holds_object(value: Any) -> bool:
    """Whether a part of a request is, or lists, an object that ``evaluate()`` was given and that no file can keep."""
    found = value if isinstance(value, list) else [value]
    return any(isinstance(one, dict) and isinstance(one.get("object"), dict) for one in found)
