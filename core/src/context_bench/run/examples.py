"""The source of jobs: examples are read one by one, get an identity and keys, and become jobs.

Each example has a position in its dataset, so that runs can be compared. An error of a dataset is
reported with its position, and a dataset that hangs is left.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from queue import Empty, SimpleQueue
from random import Random
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from attrs import define, field, frozen

from context_bench.errors import (
    ContextBenchError,
    DatasetError,
    DuplicateIdError,
    NothingToCompressError,
    UnstorableError,
    reason_of,
)
from context_bench.plugins.loading import attempted
from context_bench.prompts import NONE, context_role
from context_bench.run.clusters import cluster_of
from context_bench.run.datasets import RunDataset, shown
from context_bench.run.jobs import Job, LabelWiring, Scorer
from context_bench.run.stopping import CaughtError, capture, is_control_flow
from context_bench.run.systems import RunSystem, is_conversation
from context_bench.store.encoding import (
    canonical_bytes,
    from_json,
    isolate,
    private,
    storable,
    to_json,
)
from context_bench.store.keys import RowId, dataset_hash, example_key, response_key
from context_bench.store.rows import StoredExample

if TYPE_CHECKING:
    from context_bench.run.processor import RowProcessor
    from context_bench.run.second_pass import Reference
    from context_bench.store.reader import Further
    from context_bench.store.runfile import RunFile

_REMEMBERED_IDS = 50_000
_MOST_AHEAD = 1000
_MOST_BYTES_AHEAD = 8 << 20
_WORTH_REPORTING = 2.0
_NO_ROW = 1 << 64
_NO_MORE_ROWS = (_NO_ROW, b"", b"")
_CONTENT = 64
"""Bits of an example's key that tell two examples with one id apart."""
_ALL_OF_CONTENT = (1 << _CONTENT) - 1
_END = object()
_LATE = CaughtError(TimeoutError())
_TICK = 0.25
"""Seconds after which a wait checks its end: on Windows a Ctrl-C ends no wait."""

Positioned = tuple[int, Mapping[str, Any]]
"""The position of an example, and the example."""


@define(eq=False)
class JobSource:
    """Turns datasets into jobs.

    Attributes:
        systems: The systems.
        datasets: The datasets.
        wire: Returns the wiring of a label; called once for each, before the first job of its rows.
        processor: Counts tokens.
        samples: How often each system receives each example.
        store: The run file; rows that are finished in it are skipped.
        reuse: Returns output and latency of an earlier run by the response key, or None.
        keep_bodies: Whether examples are stored whole.
        order: ``"interleaved"`` gives each example to all systems before the next example, so that
            no system meets a warmer server than another; ``"system"`` gives all examples to one
            system before the next system.
        converse: Prepares a job whose example is a conversation; receives the job and the key of
            the example as the system receives it.
        unscored: Evaluators that have not scored a stored response, by its packed identity: they
            score it now.
        reference: The system whose responses replace missing gold answers; it is called twice where
            there is no gold answer.
        timeout: Seconds that a dataset may take for one example; None for no limit.
        shard: The part of the examples that get jobs; None for all. Every example is read and
            wired, so that all shards number labels and evaluators alike.
        skipped: Rows that were finished already.
    """

    _systems: Sequence[RunSystem]
    _datasets: Sequence[RunDataset]
    _wire: Callable[[str], LabelWiring]
    _processor: RowProcessor
    _samples: int
    _store: RunFile
    _reuse: Callable[[bytes], tuple[Mapping[str, Any], float] | None] | None
    _keep_bodies: bool
    _order: str
    _converse: Callable[[Job, bytes], None]
    _unscored: Mapping[int, Collection[int]]
    _reference: Reference | None
    _timeout: float | None
    _shard: Shard | None = None
    skipped: int = field(default=0, init=False)
    _changed: set[tuple[int, int]] = field(factory=set, init=False)
    _wirings: dict[str, LabelWiring] = field(factory=dict, init=False)
    _with_contexts: set[int] = field(factory=set, init=False)
    _wholes: dict[str, list[Any]] = field(factory=dict, init=False)
    _current: RunDataset | None = field(default=None, init=False)
    _since: float = field(default=math.inf, init=False)

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that are still to be done.

        Raises:
            DatasetError: A dataset cannot be read, or one of its rows is not an example.
            ContextBenchError: The wiring of a label failed.
        """
        if self._order != "system" or len(self._systems) == 1:
            yield from self._pass(self._systems, self._read())
            return
        from tempfile import TemporaryFile

        with TemporaryFile("w+", encoding="utf-8", newline="\n") as spool:
            for number, run_system in enumerate(self._systems):
                examples = _spooled(spool) if number else _spool(self._read(), spool)
                yield from self._pass([run_system], examples)

    @property
    def waiting(self) -> str | None:
        """The dataset that the run waits for, and for how long; None if for less than 2 s."""
        dataset = self._current
        seconds = monotonic() - self._since
        if dataset is None or seconds < _WORTH_REPORTING:
            return None
        return f"{seconds:.0f} s so far for {called(dataset)}"

    def _read(self) -> Iterator[SourceExample]:
        for dataset in self._datasets:
            names = _Names(dataset)
            self._current = dataset
            self._since = monotonic()
            whole = _Content()
            content = whole if self._shard is None else _Content()
            sources = (
                _identify(dataset, position, example, names)
                for position, example in chosen(dataset, self._timeout)
            )
            for source in sources if dataset.has_changed is None else _ahead(sources):
                is_taken = self._shard is None or self._shard.takes(whole.length)
                whole.add(source)
                if not is_taken:
                    self._skip(source)
                    continue
                if content is not whole:
                    content.add(source)
                self._since = math.inf
                yield source
                self._since = monotonic()
            self._since = math.inf
            if not whole.length:
                raise DatasetError(f"{named(dataset)} is empty: it gave no example.")
            if self._shard is not None:
                self._wholes[str(dataset.number)] = whole.record()
                self._store.add_provenance({"whole": dict(self._wholes)})
            self._store.close_dataset(dataset.number, content.length, content.hash.digest())

    def _skip(self, source: SourceExample) -> None:
        """Wire the label of an example that another shard does."""
        self._wiring_of(source)
        if context_role(source.example) != NONE:
            self._with_contexts.add(source.dataset)

    def _pass(
        self, systems: Sequence[RunSystem], examples: Iterable[SourceExample]
    ) -> Iterator[Job]:
        datasets = {dataset.number: dataset for dataset in self._datasets}
        finished = _FinishedRows(self._store.finished())
        for source in examples:
            yield from self._jobs_of(source, systems, datasets[source.dataset], finished)

    def _jobs_of(
        self,
        source: SourceExample,
        systems: Sequence[RunSystem],
        dataset: RunDataset,
        finished: _FinishedRows,
    ) -> Iterator[Job]:
        """Yield the jobs of an example that are still to be done."""
        example = source.example
        wiring = self._wiring_of(source)
        reference = self._reference
        samples = self._samples
        stored: StoredExample | None = None
        tokens: int | None = None
        is_required = False
        for run_system in systems:
            if run_system.is_compressor:
                self._require_contexts(run_system, dataset, example)
            visible = shown(run_system, dataset, example)
            visible_key = source.key
            if run_system.reads is not None or visible is not example:
                visible_key = example_key(visible, run_system.reads)
            if reference is not None:
                samples = reference.samples_of(run_system.number, wiring.label, self._samples)
            for sample in range(samples):
                row = RowId(source.dataset, source.position, run_system.number, sample)
                key = response_key(run_system.key, visible_key, sample)
                example_hash = finished.example_hash(row, key)
                if example_hash is not None and self._is_skipped(row, source, example_hash):
                    continue
                job = Job(
                    id=row,
                    slot=run_system,
                    wiring=wiring,
                    example=example,
                    key=key,
                    input_tokens=0,
                    example_key=source.key,
                )
                if example_hash is not None:
                    self._score_again(job, source)
                    yield job
                    continue
                if tokens is None:
                    tokens, stored = self._prepared(source, wiring)
                job.input_tokens = tokens
                job.stored = stored
                job.shown = visible
                self._reuse_response(job)
                if job.output is None and not is_required:
                    _require_scorable(wiring.scorers, example)
                    is_required = True
                is_new = job.output is None and "multi_turn" in visible
                if is_new and is_conversation(visible, run_system.system):
                    self._converse(job, visible_key)
                yield job
                stored = None

    def _require_contexts(
        self, run_system: RunSystem, dataset: RunDataset, example: Mapping[str, Any]
    ) -> None:
        """Check that the examples of a dataset, up to this one, are not all without a context.

        A single one without a context among others is a failed row.

        Raises:
            NothingToCompressError: There is nothing to compress in the dataset.
        """
        if context_role(example) != NONE:
            self._with_contexts.add(dataset.number)
        elif dataset.number not in self._with_contexts:
            raise NothingToCompressError(run_system.label, called(dataset))

    def _reuse_response(self, job: Job) -> None:
        """Complete a job with the response of an earlier run, if there is one."""
        if self._reuse is not None and job.slot.shared:
            response = self._reuse(job.key)
            if response is not None:
                job.output, job.latency = response

    def _is_skipped(self, row: RowId, source: SourceExample, example_hash: bytes) -> bool:
        """Return whether a finished row needs no job.

        It is scored again if the example has changed: its gold differs, for a system that does not
        receive gold. It is scored by the evaluators that an earlier session did not wait for.
        """
        position = (source.dataset, source.position)
        if example_hash != source.key:
            self._changed.add(position)  # the first of its rows stores it again
        if position in self._changed:
            return False
        self.skipped += 1
        return row.pack() not in self._unscored

    def _score_again(self, job: Job, source: SourceExample) -> None:
        """Complete the job of a finished row with its response."""
        number = job.id.pack()
        if (source.dataset, source.position) in self._changed:
            _, job.stored = self._prepared(source, job.wiring)
        else:
            job.only = job.wiring.numbered(self._unscored[number])
        job.output = from_json(self._store.output(number))

    def _prepared(self, source: SourceExample, wiring: LabelWiring) -> tuple[int, StoredExample]:
        """Return an example's tokens, and the example as it is stored before its first row."""
        try:
            body = to_json(source.example) if self._keep_bodies else None
            tokens = self._processor.input_tokens(source.example)
            cluster = cluster_of(source.example)
        except Exception as error:
            dataset = next(item for item in self._datasets if item.number == source.dataset)
            raise _damaged(dataset, source.position, error) from error
        return tokens, StoredExample(
            id=RowId(source.dataset, source.position),
            example_id=source.name,
            label=wiring.number,
            hash=source.key,
            cluster=cluster,
            body=body,
        )

    def _wiring_of(self, source: SourceExample) -> LabelWiring:
        """Return the wiring of an example: of its label, or of that without gold answers."""
        wiring = self._wirings.get(source.label) or self._wiring(source.label)
        reference = self._reference
        if reference is not None and reference.is_needed(wiring, source.example):
            return self._wiring(reference.name(source.label))
        return wiring

    def _wiring(self, label: str) -> LabelWiring:
        if label not in self._wirings:
            self._wirings[label] = self._wire(label).without_reference()
        return self._wirings[label]


class _Content:
    """How many examples a dataset gave, and a hash over them."""

    def __init__(self) -> None:
        self.length = 0
        self.hash = dataset_hash()

    def add(self, source: SourceExample) -> None:
        self.length += 1
        self.hash.update(source.key)

    def record(self) -> list[Any]:
        """Return number of examples and hexadecimal hash, as a run file stores them of a whole
        dataset of which it has a shard."""
        return [self.length, self.hash.hexdigest()]


class _FinishedRows:
    """The finished rows of a run file, read once in the order of the jobs.

    Args:
        rows: Packed identity, response key and hash of the example of each row, in order.
    """

    def __init__(self, rows: Iterator[tuple[int, bytes, bytes]]) -> None:
        self._rows = rows
        self._number, self._key, self._example_hash = next(rows, _NO_MORE_ROWS)

    def example_hash(self, row: RowId, key: bytes) -> bytes | None:
        """Return the hash of a row's example; None if the row is not finished with this response
        key."""
        if self._number == _NO_ROW:
            return None
        packed = row.pack()
        while self._number < packed:
            self._number, self._key, self._example_hash = next(self._rows, _NO_MORE_ROWS)
        return self._example_hash if self._number == packed and self._key == key else None


class SourceExample(NamedTuple):
    """An example with its identity."""

    dataset: int
    position: int
    name: str
    label: str
    key: bytes
    example: Mapping[str, Any]


def _identify(
    dataset: RunDataset, position: int, example: Mapping[str, Any], names: _Names
) -> SourceExample:
    """Return an example with its identity.

    Raises:
        DatasetError: It is not an example, or its id is that of another example.
    """
    if type(example) is not dict and not isinstance(example, Mapping):
        raise DatasetError(
            f"Row {position} of {called(dataset)} is of type {type(example).__name__}; "
            "an example is a mapping of field names to values."
        )
    try:
        key = example_key(example)
        name = names.name(example, position, key)
    except DatasetError:
        raise
    except Exception as error:
        raise _damaged(dataset, position, error) from error
    return SourceExample(dataset.number, position, name, _label(dataset, example), key, example)


def _spool(examples: Iterable[SourceExample], spool: IO[str]) -> Iterator[SourceExample]:
    """Yield examples, and write each to a file for the passes of further systems."""
    for source in examples:
        spool.write(to_json([*source._replace(key=b""), source.key.hex()]) + "\n")
        yield source


def _spooled(spool: IO[str]) -> Iterator[SourceExample]:
    """Yield the examples that were written."""
    spool.seek(0)
    for line in spool:
        *fields, key = from_json(line)
        yield SourceExample(*fields)._replace(key=bytes.fromhex(key))


def _ahead(sources: Iterable[SourceExample]) -> Iterator[SourceExample]:
    """Yield the examples of a file; the first thousand are read before the first of them is
    yielded, so that what is wrong with one of them costs no call."""
    sources = iter(sources)
    read = []
    size = 0
    for source in sources:
        read.append(source)
        size += len(canonical_bytes(source.example))
        if len(read) == _MOST_AHEAD or size > _MOST_BYTES_AHEAD:
            break
    yield from read
    del read
    yield from sources


class _Names:
    """Gives each example of a dataset its name, and finds one name on two different examples."""

    def __init__(self, dataset: RunDataset) -> None:
        self._dataset = dataset
        # By hash of the name: position and beginning of the key, in one small integer.
        self._first: dict[int, int] = {}
        self._on_disk: Further | None = None

    def name(self, example: Mapping[str, Any], position: int, key: bytes) -> str:
        name = name_of(example, position)
        if example.get("id") is not None:
            content = int.from_bytes(key[:8], "big")
            name_hash = hash(name)
            entry = position << _CONTENT | content
            if name_hash not in self._first and len(self._first) < _REMEMBERED_IDS:
                self._first[name_hash] = entry
                return name
            first = self._find_first(name_hash, entry)
            if first & _ALL_OF_CONTENT != content:
                hint = ""
                if name.lstrip("-")[:1].isdigit():
                    hint = " (a number and the same text are one)"
                raise DuplicateIdError(
                    f"Rows {first >> _CONTENT} and {position} of {called(self._dataset)} are "
                    f"different examples with one id, {name!r}{hint}. Give each its own, or take "
                    "the id from another column "
                    "(--field id=COLUMN)."
                )
        return name

    def _find_first(self, name_hash: int, entry: int) -> int:
        """Return the first entry of a name, from memory or from disk; else store this one."""
        if name_hash in self._first:
            return self._first[name_hash]
        if self._on_disk is None:
            from context_bench.store.reader import Further

            self._on_disk = Further()
        return self._on_disk.setdefault(name_hash, entry)


def _label(dataset: RunDataset, example: Mapping[str, Any]) -> str:
    if dataset.label is not None:
        return dataset.label
    label = example.get("dataset")
    return storable(label) if isinstance(label, str) and label else dataset.fallback


def _require_scorable(scorers: Iterable[Scorer], example: Mapping[str, Any]) -> None:
    """Have the evaluators check an example before a system is called for it.

    Raises:
        ContextBenchError: An evaluator could not score it.
    """
    for scorer in scorers:
        require = getattr(scorer.evaluator, "require", None)
        if callable(require):
            attempted(scorer.id, require, isolate(example))


def name_of(example: Mapping[str, Any], position: int) -> str:
    """Return what an example is called wherever a person sees it: its id as text.

    An id that is no text is written as JSON, so that ``7`` and ``"7"`` have one name and do not go
    together in a dataset. An example without one is called ``#<position>``; a given id that begins
    with ``#`` gets one more, so that the two never collide.
    """
    identifier = example.get("id")
    if identifier is None:
        return f"#{position}"
    name = identifier if isinstance(identifier, str) else to_json(identifier)
    return f"#{name}" if name.startswith("#") else name


@frozen
class RandomSample:
    """Takes ``size`` examples at random, the same ones for the same seed and dataset, in the order
    of the dataset.

    The dataset is read to its end, and never more than the sample is kept (Vitter's algorithm R,
    1985).
    """

    size: int
    seed: int = 0

    def of(self, examples: Iterable[Positioned]) -> Iterable[Positioned]:
        """Return the sample."""
        chance = Random(self.seed)
        sample: list[Positioned] = []
        for count, example in enumerate(examples):
            if count < self.size:
                sample.append(example)
                continue
            index = chance.randrange(count + 1)
            if index < self.size:
                sample[index] = example
        return sorted(sample, key=itemgetter(0))


@frozen
class ById:
    """Takes the examples with these names, as results show them; ``#7`` is the one in place 7,
    which has no id of its own."""

    ids: tuple[str, ...]

    def of(self, examples: Iterable[Positioned]) -> Iterator[Positioned]:
        """Yield them in the order of the dataset.

        Raises:
            DatasetError: The dataset has no such example.
        """
        names = set(self.ids)
        missing = dict.fromkeys(self.ids)
        for position, example in examples:
            name = name_of(example, position)
            if name in names:
                missing.pop(name, None)
                yield position, example
        if missing:
            raise DatasetError(
                f"The dataset has no example {', '.join(map(repr, missing))} (--ids)."
            )


Selection = RandomSample | ById


@frozen
class Shard:
    """The part of a run that one of several processes does: every ``count``-th example of each
    dataset, which keeps its position.

    Attributes:
        number: Number of the shard, counted from 1.
        count: Number of shards.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that ``i/n`` names.

        Raises:
            ValueError: The text has another form, or there is no such shard.
        """
        number, slash, count = text.partition("/")
        if not slash or not (number.isdecimal() and count.isdecimal()):
            raise ValueError(text)
        shard = cls(int(number), int(count))
        if not 1 <= shard.number <= shard.count:
            raise ValueError(text)
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def takes(self, index: int) -> bool:
        """Whether the shard does an example, given its index among those that the run uses."""
        return index % self.count == self.number - 1

    def size(self, examples: int) -> int:
        """Return how many of so many examples the shard does."""
        return (examples - self.number) // self.count + 1


def chosen(dataset: RunDataset, timeout: float | None = None) -> Iterable[Positioned]:
    """Return the examples of a dataset that a run uses, each after its position.

    Args:
        dataset: The dataset.
        timeout: Seconds that it may take for one example; None for any. With a timeout it is read
            on a thread of its own, which is left when it hangs, and keeps no process alive.

    Raises:
        DatasetError: It cannot be read, or did not give an example in time; raised while it is
            read.
    """
    examples = _positioned(dataset, timeout)
    return examples if dataset.selection is None else dataset.selection.of(examples)


def _positioned(dataset: RunDataset, timeout: float | None) -> Iterator[Positioned]:
    position = 0
    examples: Iterator[Any] | None = None
    while True:
        try:
            if examples is None:
                source = dataset.examples
                examples = iter(source if timeout is None else _on_a_thread(source, timeout))
            example: Any = private(next(examples, _END))
        except BaseException as error:
            if is_control_flow(error):
                raise
            example = CaughtError(error)
        if example is _END:
            return
        if type(example) is CaughtError:
            raise _error_of(example, dataset, position, timeout)
        yield position, example
        position += 1


def _error_of(
    caught: CaughtError, dataset: RunDataset, position: int, timeout: float | None
) -> ContextBenchError:
    """Return the error of a dataset that could not give the example of a position."""
    where = f"after row {position - 1}" if position else "at its beginning"
    if caught is _LATE:
        return _hangs(named(dataset), f"{where}: it gave no example", timeout)
    if isinstance(caught.error, ContextBenchError):
        return caught.error
    reason = reason_of(caught.error)
    error = DatasetError(f"{named(dataset)} cannot be read {where}: {reason}")
    error.__cause__ = caught.error
    return error


def _damaged(dataset: RunDataset, position: int, error: Exception) -> DatasetError:
    action = "stored" if isinstance(error, UnstorableError) else "taken"
    reason = reason_of(error)
    return DatasetError(f"Row {position} of {called(dataset)} cannot be {action}: {reason}")


def _on_a_thread(items: Iterable[Any], timeout: float) -> Iterator[Any]:
    """Yield items, pulled on a thread of its own, never one more than is asked for; last what they
    raise, or :data:`_LATE`."""
    requests: SimpleQueue[bool] = SimpleQueue()
    results: SimpleQueue[Any] = SimpleQueue()

    def pull() -> None:
        source = capture(iter, items)
        while requests.get():
            results.put(source if isinstance(source, CaughtError) else capture(next, source, _END))

    Thread(target=pull, name="context-bench-dataset", daemon=True).start()
    try:
        requests.put(True)
        while (item := _received(results, timeout)) is not _END:
            yield item
            requests.put(True)
    finally:
        requests.put(False)


def _received(results: SimpleQueue[Any], timeout: float) -> Any:
    """Return what is put into a queue within so many seconds; else :data:`_LATE`."""
    until = monotonic() + timeout
    while (left := until - monotonic()) > 0:
        with suppress(Empty):
            return results.get(timeout=min(left, _TICK))
    return _LATE


def bounded(load: Callable[[], Any], timeout: float | None, name: str) -> Any:
    """Return what a function returns that loads something of a dataset, within so many seconds.

    Args:
        load: The function. With a timeout it is called on a thread of its own, which is left behind
            when it hangs.
        timeout: Seconds that it may take; None for any.
        name: What the dataset is called.

    Raises:
        DatasetError: It took longer. Whatever the function raises is raised, too.
    """
    if timeout is None:
        return load()
    stdout = sys.stdout
    result = next(_on_a_thread((function() for function in [load]), timeout))
    if result is _LATE:
        sys.stdout = stdout  # the import of a package replaces it while it lasts
        raise _hangs(
            f"{name[:1].upper()}{name[1:]}", "before its first row: it was not loaded", timeout
        )
    if isinstance(result, CaughtError):
        raise result.error
    return result


def _hangs(name: str, how: str, timeout: float | None) -> DatasetError:
    return DatasetError(
        f"{name} hangs {how} within {timeout:g} seconds (--dataset-timeout). Mend what it reads "
        "from, or allow it more."
    )


def named(dataset: RunDataset) -> str:
    """Return the name of a dataset at the beginning of a sentence; its label is not changed."""
    name = called(dataset)
    return name[:1].upper() + name[1:]


def called(dataset: RunDataset) -> str:
    """Return the name of a dataset within a sentence."""
    name = dataset.label or dataset.fallback
    return f"dataset {name!r}" if name else "the dataset"
