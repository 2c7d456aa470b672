"""Reading runs: everything that a run file holds, typed, over one read-only connection. Stable
public API.

>>> from tempfile import mkdtemp
>>> from context_bench import evaluate
>>> from context_bench.runs import open_run
>>> class Same:
...     name = "same"
...     def score(self, original, processed):
...         return {"same": float(original["answer"] == processed["response"])}
>>> path = f"{mkdtemp()}/run.sqlite"
>>> examples = [{"id": "q", "answer": "Paris"}]
>>> _ = evaluate(lambda example: "Paris", examples, [Same()], progress=False, run_file=path)
>>> with open_run(path) as run:
...     print([(row.example_id, row.score) for row in run.rows()], run.completeness.sentence)
[('q', 1.0)] 1 row: complete.

A run file may come from anybody: what it holds is checked while it is read, and every fault is a
:class:`~context_bench.errors.StoreError` that names the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from context_bench.errors import StoreError
from context_bench.records import ANY_KEY, Completeness, EvalRow, Failure, row_to_dict
from context_bench.store import queries
from context_bench.store.copies import STORE, WRITER
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId, last_of
from context_bench.store.lock import writer_of
from context_bench.store.reader import RunReader, draft_of

__all__ = ["Run", "open_run", "run_files"]


@frozen
class Example:
    """An example as a run was given it.

    Attributes:
        identity: Number of the dataset, and position.
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
        number: Number of the turn among those that are called, counted from 0.
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
    """The keys of an answered row; see the page about keys.

    Attributes:
        identity: The row.
        response: Response key, hexadecimal.
        output: Hash of the output, hexadecimal.
        is_reused: Whether the response was taken from an earlier run.
        scores: Score key by evaluator id, hexadecimal.
        values: Scores by key as each evaluator gave them, by evaluator id; empty where it had
            nothing to say.
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
        self._undeclared: dict[int, dict[str, None]] | None = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, everything that this thread reads of the run is from one moment, whatever is
        written meanwhile.

        Raises:
            StoreError: The file cannot be read, or was changed by something else than a run.
        """
        with self._reader.snapshot():
            yield

    @property
    def id(self) -> str:
        """The unique id of this run."""
        return str(self._reader.run()["id"])

    @property
    def status(self) -> str:
        """``finished``, ``interrupted``, ``stopped``, or ``running``, which a killed run says
        too."""
        return str(self._reader.run()["status"])

    @property
    def created(self) -> str:
        """When the run started, in ISO 8601."""
        return str(self._reader.run()["created"])

    @property
    def finished(self) -> str | None:
        """When the last session ended, in ISO 8601; None while one writes."""
        ended = self._reader.run()["finished"]
        return None if ended is None else str(ended)

    @property
    def seconds(self) -> float | None:
        """Seconds of all sessions, each to its last row; None of a merged run."""
        return self._reader.seconds()

    @property
    def request(self) -> Mapping[str, Any]:
        """The configuration of the run, as it was stored, without secrets."""
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
        """The systems by number: ``system_number``, ``label``, ``key``, ``reusable`` (whether the
        key is valid in other runs), ``description``."""
        return tuple(self._reader.systems())

    @property
    def datasets(self) -> tuple[Mapping[str, Any], ...]:
        """The datasets by number: ``number``, ``label``, ``description``, ``length`` (None until it
        is known), ``content``."""
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
        """Return a row by its place in canonical order; it takes the same time in a run of any
        size."""
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} rows, and none at {index}")
        number = self._reader.id_at(place)
        return next(self._reader.rows(number, number))

    def rows(self, system_number: int | None = None) -> Iterator[EvalRow]:
        """Yield the rows in canonical order - dataset, position, system, repetition - or those of
        one system."""
        for row in self._reader.rows():
            if system_number is None or row.system_number == system_number:
                yield row

    def row(self, identity: Sequence[int]) -> EvalRow:
        """Return a row by its identity: dataset, position, system number, repetition.

        Raises:
            StoreError: There is no such row.
        """
        number = RowId(*identity).pack()
        for row in self._reader.rows(number, number):
            return row
        raise StoreError(f"{self.path} has no row {RowId(*identity)}.")

    def to_dict(self, row: EvalRow) -> dict[str, Any]:
        """Return a row as JSON-like values, as `context-bench export` writes it."""
        return row_to_dict(row, self._undeclared_keys().get(row.dataset_number, ()))

    def _undeclared_keys(self) -> dict[int, dict[str, None]]:
        """Return the score keys that no evaluator declares, by dataset number; all rows are read
        for them, once, where an evaluator declares none."""
        if self._undeclared is None:
            self._undeclared = {}
            if any(ANY_KEY in label.keys for label in self._reader.labels()):
                for row in self._reader.rows():
                    keys = dict.fromkeys(row.scores.keys() - row.keys.keys())
                    self._undeclared.setdefault(row.dataset_number, {}).update(keys)
        return self._undeclared

    def rows_of(self, example: Sequence[int]) -> Iterator[tuple[RowId, EvalRow]]:
        """Yield the rows of an example, given its identity, with theirs."""
        dataset, position, *_ = example
        first = RowId(dataset, position).pack()
        for row in self._reader.rows(first, last_of(first)):
            yield RowId(dataset, position, row.system_number, row.repetition), row

    def examples(self, example_id: str | None = None) -> Iterator[Example]:
        """Yield the examples in canonical order, or those with an id."""
        return self._examples(example_id=example_id)

    def shared_clusters(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield the identity of every example that hangs together with another one, and its
        cluster: ``cluster``, ``session_id`` or ``context``, a colon, and a hash."""
        for number, cluster in queries.shared_clusters(self._reader):
            row = RowId.unpack(number)
            yield (row.dataset, row.position), str(cluster)

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
            for line in queries.examples(self._reader, **wanted):
                row = RowId.unpack(line.number)
                yield Example(
                    identity=(row.dataset, row.position),
                    id=line.example_id,
                    label=labels[line.label],
                    content=None if line.body is None else from_json(line.body),
                    hash=line.hash.hex(),
                )

    def turns(self, identity: Sequence[int]) -> tuple[Turn, ...]:
        """Return the turns of a row's conversation that were answered one by one; none of other
        rows."""
        with self._reader.snapshot():
            turns = []
            for turn in self._reader.turns(RowId(*identity)):
                output = from_json(turn.output)
                response = output.get("response")
                turns.append(
                    Turn(
                        number=turn.turn,
                        response=response if isinstance(response, str) else None,
                        output=output,
                        latency=turn.latency,
                        attempts=turn.attempts,
                        measured={} if turn.measured is None else dict(from_json(turn.measured)),
                    )
                )
            return tuple(turns)

    def failures(self) -> Iterator[RunFailure]:
        """Yield every failure, in canonical order of the rows."""
        systems, evaluators = self._reader.names()
        with self._reader.snapshot():
            for stored in queries.failures(self._reader):
                row = RowId.unpack(stored.number)
                failure = Failure(
                    stage=stored.stage,
                    kind=stored.kind,
                    message=stored.message,
                    evaluator=evaluators.get(stored.evaluator),
                    attempts=stored.attempts,
                    traceback=stored.traceback,
                )
                yield RunFailure(
                    identity=row,
                    system=systems[row.system_number],
                    example_id=stored.example_id,
                    failure=failure,
                )

    def causes(self) -> tuple[tuple[RunFailure, int], ...]:
        """Return the first failure of each kind - system or evaluator, and class of the error -
        with how many there are of it, the most frequent first."""
        systems, evaluators = self._reader.names()
        causes = []
        with self._reader.snapshot():
            for cause in queries.causes(self._reader):
                failure = Failure(
                    stage="evaluator" if cause.evaluator in evaluators else "system",
                    kind=cause.kind,
                    message=cause.message,
                    evaluator=evaluators.get(cause.evaluator),
                )
                first = RunFailure(
                    identity=RowId.unpack(cause.first),
                    system=systems[cause.system_number],
                    example_id=cause.example_id,
                    failure=failure,
                )
                causes.append((first, cause.failures))
        return tuple(causes)

    def keys(self, identity: Sequence[int]) -> tuple[Keys, ...]:
        """Return the keys of the answered rows of an example, by the identity of the example or of
        one of its rows."""
        example = RowId(*identity[:2]).pack()
        row = RowId(*identity).pack() if len(identity) > 2 else None
        with self._reader.snapshot():
            return tuple(
                self._keys_of(response)
                for response in queries.response_keys(self._reader, example)
                if row in (None, response.number)
            )

    def _keys_of(self, response: queries.ResponseKey) -> Keys:
        scores: dict[str, str] = {}
        values: dict[str, dict[str, float]] = {}
        for score in queries.scores_of(self._reader, response.number):
            scores[score.evaluator] = score.score_key.hex()
            evaluator_values = values.setdefault(score.evaluator, {})
            if score.name is not None and score.value is not None:
                evaluator_values[score.name] = score.value
        return Keys(
            identity=RowId.unpack(response.number),
            response=response.key.hex(),
            output=response.output_hash.hex(),
            is_reused=bool(response.reused),
            scores=scores,
            values=values,
        )

    def has_key(self, response: str) -> bool:
        """Whether a response with this key, hexadecimal, can be reused from here."""
        return queries.is_reusable(self._reader, bytes.fromhex(response))

    def has_example(self, content: str) -> bool:
        """Whether the run has an example with this hash, hexadecimal."""
        return queries.has_example(self._reader, bytes.fromhex(content))

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the file, a line each, after holding all it has against its
        check sums and hashes."""
        return queries.faults(self._reader)


class StoredRows(Sequence[EvalRow]):
    """The rows of a run file, read when they are accessed."""

    def __init__(self, reader: RunReader) -> None:
        self.reader = reader
        self._run = Run(reader)

    def __len__(self) -> int:
        return len(self._run)

    def __iter__(self) -> Iterator[EvalRow]:
        return self._run.rows()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._run[number] for number in range(*index.indices(len(self)))]
        return self._run[index]


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run file for reading. Nothing is written, and no plugin is loaded.

    Raises:
        StoreError: It is missing, is no run file, holds what no run file holds, or was written in
            an unknown format.
    """
    return Run(RunReader(Path(path)))


def reader_of(run: Run) -> RunReader:
    """Return what reads the file of a run, for the modules of core."""
    return run._reader


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
        run = reader.run()
        status = str(run["status"])
        request = run["config"]
        facts = reader.facts()
        expected = facts.get("expected", "")
        rows = reader.size()
    rows_expected = rows if status == "finished" else None
    if rows_expected is None and expected.isdecimal():
        rows_expected = int(expected)
    failed = 0
    if status != "finished" and rows_expected is not None and rows >= rows_expected:
        failed = sum(failed for _, failed in reader.counts().values())
    address = facts.get(STORE, reader.path)
    writer: int | str | None = None
    if status != "finished":
        writer = writer_of(reader.path)
        if writer is None:
            writer = facts.get(WRITER)
    if status == "running" and writer is None:
        status = "killed"
    command = f"`context-bench resume {address}`"
    if "systems" not in request or any(map(_holds_object, request.values())):
        command = f"evaluate(..., run_file={str(address)!r}) and the same arguments"
    remedy = f"finish it with {command}"
    if failed:
        remedy = f"no row is missing, and {failed} failed; repeat what failed with {command}"
    if writer is not None:
        remedy = f"wait for process {writer}"
    return Completeness(
        rows_done=rows,
        rows_expected=rows_expected,
        status=status,
        remedy=remedy,
        is_being_rescored=draft_of(reader.path).exists(),
    )


def _holds_object(value: Any) -> bool:
    """Whether a part of a request is, or lists, an object that ``evaluate()`` was given and that no
    file can store."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and isinstance(item.get("object"), dict) for item in items)
