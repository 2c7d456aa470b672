"""The feed: examples are pulled one by one, given an identity and keys, and become jobs.

Each keeps its place in the dataset, so that runs can be compared. What a dataset raises is told
with its place, and one that hangs is left.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from random import Random
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from attrs import define, field, frozen

from context_bench.errors import ContextBenchError, DatasetError, UnstorableError, reason_of
from context_bench.run.datasets import EVERYTHING, RunDataset, shown
from context_bench.run.jobs import Job, LabelWiring
from context_bench.run.stopping import CaughtError, capture, is_control_flow
from context_bench.run.systems import RunSystem, is_conversation
from context_bench.store.encoding import from_json, private, storable, to_json
from context_bench.store.keys import RowId, dataset_hash, example_key, response_key
from context_bench.store.rows import StoredExample

if TYPE_CHECKING:
    from context_bench.run.processor import RowProcessor
    from context_bench.run.second_pass import Reference
    from context_bench.store.reader import Further
    from context_bench.store.runfile import RunFile

_REMEMBERED_IDS = 50_000
_WORTH_TELLING = 2.0
_NO_ROW = 1 << 64
_NOTHING = _NO_ROW, b"", b""
_CONTENT = 64
"""Bits of an example's key that tell two examples with one id apart."""
_WHOLE_CONTENT = (1 << _CONTENT) - 1
_END, _LATE = object(), CaughtError(TimeoutError())
_TICK = 0.25
"""Seconds after which a wait looks up: on Windows a Ctrl-C ends no wait."""

Placed = tuple[int, Mapping[str, Any]]
"""An example behind its place."""


@define(eq=False)
class JobSource:
    """Turns streams of examples into jobs.

    Attributes:
        slots: The systems.
        streams: The datasets.
        wire: Returns the wiring of a label; called once for each, before the first job of its rows.
        processor: Counts tokens.
        samples: How often each example is given to each system.
        store: The run file; rows that are done in it are not done again.
        reuse: Finds a response of an earlier run by its key: (output, latency), or None.
        keep_bodies: Whether examples are stored whole.
        order: ``"interleaved"`` gives each example to all systems before the next example, so that
            no system meets a warmer server than another; ``"system"`` gives all examples to one
            system before the next system.
        converse: Has a job asked as a conversation, given its example's key as the system sees it.
        unscored: Evaluators that have said nothing of a response that is done, by its packed
            identity: they get it again.
        reference: The system whose responses stand in for gold answers; it is asked twice where
            there is none.
        timeout: Seconds that a dataset may take for one example; None for any.
        skipped: Rows that were done already.
    """

    _slots: Sequence[RunSystem]
    _streams: Sequence[RunDataset]
    _wire: Callable[[str], LabelWiring]
    _workbench: RowProcessor
    _samples: int
    _store: RunFile
    _reuse: Callable[[bytes], tuple[Mapping[str, Any], float] | None] | None
    _keep_bodies: bool
    _order: str
    _converse: Callable[[Job, bytes], None]
    _unscored: Mapping[int, Collection[int]]
    _reference: Reference | None
    _timeout: float | None
    skipped: int = field(default=0, init=False)
    _changed: set[tuple[int, int]] = field(factory=set, init=False)
    _wirings: dict[str, LabelWiring] = field(factory=dict, init=False)
    _pulled: RunDataset | None = field(default=None, init=False)
    _since: float = field(default=math.inf, init=False)

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that are still to be done.

        Raises:
            DatasetError: A dataset cannot be read or a row is no example.
            ContextBenchError: The wiring of a label failed.
        """
        if self._order != "system" or len(self._slots) == 1:
            yield from self._pass(self._slots, self._read())
            return
        from tempfile import TemporaryFile

        with TemporaryFile("w+", encoding="utf-8", newline="\n") as spool:
            for number, slot in enumerate(self._slots):
                yield from self._pass(
                    [slot], _again(spool) if number else _keep(self._read(), spool)
                )

    @property
    def waiting(self) -> str | None:
        """Which dataset is waited for, and for how long; None where none takes long."""
        stream, seconds = self._pulled, monotonic() - self._since
        return (
            f"{seconds:.0f} s so far for {called(stream)}"
            if stream and seconds >= _WORTH_TELLING
            else None
        )

    def _read(self) -> Iterator[SourceExample]:
        for stream in self._streams:
            length = 0
            names = _Names(stream)
            self._pulled, self._since = stream, monotonic()
            content = dataset_hash()
            for position, example in chosen(stream, self._timeout):
                if type(example) is not dict and not isinstance(example, Mapping):
                    raise DatasetError(
                        f"Row {position} of {called(stream)} is of type {type(example).__name__}; "
                        "an example is a mapping of field names to values."
                    )
                try:
                    key = example_key(example)
                    name = names.name(example, position, key)
                except DatasetError:
                    raise
                except Exception as error:
                    raise _damaged(stream, position, error) from error
                content.update(key)
                length += 1
                self._since = math.inf
                yield SourceExample(
                    stream.number, position, name, _label(stream, example), key, example
                )
                self._since = monotonic()
            self._since = math.inf
            if not length:
                raise DatasetError(f"{named(stream)} is empty: it gave no example.")
            self._store.close_dataset(stream.number, length, content.digest())

    def _pass(self, slots: Sequence[RunSystem], examples: Iterable[SourceExample]) -> Iterator[Job]:
        streams, reference = {stream.number: stream for stream in self._streams}, self._reference
        done = self._store.finished()
        number, known, held = next(done, _NOTHING)
        for fed in examples:
            dataset, position, _, label, key, example = fed
            wiring = self._wirings.get(label) or self._wiring(label)
            if reference is not None and reference.is_needed(wiring, example):
                wiring = self._wiring(reference.name(label))
            stored: StoredExample | None = None
            tokens = None
            for slot in slots:
                sent = (
                    example if slot.sees == EVERYTHING else shown(slot, streams[dataset], example)
                )
                seen = (
                    key if slot.reads is None and sent is example else example_key(sent, slot.reads)
                )
                samples = self._samples
                if reference is not None:
                    samples = reference.samples_of(slot.number, wiring.label, samples)
                for sample in range(samples):
                    row = RowId(dataset, position, slot.number, sample)
                    response = response_key(slot.key, seen, sample)
                    packed = number if number == _NO_ROW else row.pack()
                    while number < packed:
                        number, known, held = next(done, _NOTHING)
                    if number == packed and known == response:
                        if held != key:
                            self._changed.add(
                                (dataset, position)
                            )  # the first of its rows writes it anew
                        is_changed = (dataset, position) in self._changed
                        self.skipped += not is_changed
                        if is_changed or packed in self._unscored:
                            yield self._scored_again(
                                Job(row, slot, wiring, example, response, 0, key), fed, is_changed
                            )
                        continue
                    if tokens is None:
                        tokens, stored = self._prepared(fed, wiring)
                    output, latency = None, 0.0
                    if self._reuse is not None and slot.shared:
                        output, latency = self._reuse(response) or (None, 0.0)
                    job = Job(
                        row,
                        slot,
                        wiring,
                        example,
                        response,
                        tokens,
                        key,
                        stored,
                        output,
                        latency,
                        shown=sent,
                    )
                    if (
                        output is None
                        and "multi_turn" in sent
                        and is_conversation(sent, slot.system)
                    ):
                        self._converse(job, seen)
                    yield job
                    stored = None

    def _scored_again(self, job: Job, fed: SourceExample, is_changed: bool) -> Job:
        """Return the job with the response of a row that is done.

        The example may not be the one that was answered: its gold differs, for a system that is not
        shown it. Else it is for the evaluators that an earlier session did not wait for.
        """
        number = job.id.pack()
        if is_changed:
            _, job.stored = self._prepared(fed, job.wiring)
        else:
            job.only = job.wiring.numbered(self._unscored[number])
        job.output = from_json(self._store.output(number))
        return job

    def _prepared(self, fed: SourceExample, wiring: LabelWiring) -> tuple[int, StoredExample]:
        """Return an example's tokens, and how it is written before the first row of it that is not
        done."""
        try:
            body = to_json(fed.example) if self._keep_bodies else None
            tokens = self._workbench.input_tokens(fed.example)
        except Exception as error:
            stream = next(one for one in self._streams if one.number == fed.dataset)
            raise _damaged(stream, fed.position, error) from error
        return tokens, StoredExample(
            id=RowId(fed.dataset, fed.position),
            example_id=fed.name,
            label=wiring.number,
            hash=fed.key,
            body=body,
        )

    def _wiring(self, label: str) -> LabelWiring:
        if label not in self._wirings:
            self._wirings[label] = self._wire(label).without_reference()
        return self._wirings[label]


class SourceExample(NamedTuple):
    """An example with its identity."""

    dataset: int
    position: int
    name: str
    label: str
    key: bytes
    example: Mapping[str, Any]


def _keep(examples: Iterable[SourceExample], spool: IO[str]) -> Iterator[SourceExample]:
    """Yield examples, and keep each for the passes of further systems."""
    for fed in examples:
        spool.write(to_json([*fed._replace(key=b""), fed.key.hex()]) + "\n")
        yield fed


def _again(spool: IO[str]) -> Iterator[SourceExample]:
    """Yield the examples that are kept."""
    spool.seek(0)
    for line in spool:
        *fields, key = from_json(line)
        yield SourceExample(*fields)._replace(key=bytes.fromhex(key))


class _Names:
    """Gives each example of a dataset its name, and finds one name on two different examples."""

    def __init__(self, stream: RunDataset) -> None:
        self._stream = stream
        self._seen: dict[
            int, int
        ] = {}  # by hash of the name: position and beginning of the key, in one small integer
        self._further: Further | None = None  # what memory need not hold

    def name(self, example: Mapping[str, Any], position: int, key: bytes) -> str:
        name = name_of(example, position)
        if example.get("id") is not None:
            content = int.from_bytes(key[:8], "big")
            number, place = hash(name), position << _CONTENT | content
            if number not in self._seen and len(self._seen) < _REMEMBERED_IDS:
                self._seen[number] = place
                return name
            found = self._first(number, place)
            if found & _WHOLE_CONTENT != content:
                hint = (
                    " (a number and the same text are one)"
                    if name.lstrip("-")[:1].isdigit()
                    else ""
                )
                raise DatasetError(
                    f"Rows {found >> _CONTENT} and {position} of {called(self._stream)} are "
                    f"different examples with one id, {name!r}{hint}. Give each its own, or take "
                    "the id from another column "
                    "(--field id=COLUMN)."
                )
        return name

    def _first(self, name: int, place: int) -> int:
        """The first place of a name that is known, or that memory need not hold."""
        if name in self._seen:
            return self._seen[name]
        if self._further is None:
            from context_bench.store.reader import Further

            self._further = Further()
        return self._further.setdefault(name, place)


def _label(stream: RunDataset, example: Mapping[str, Any]) -> str:
    if stream.label is not None:
        return stream.label
    found = example.get("dataset")
    return storable(found) if isinstance(found, str) and found else stream.fallback


def name_of(example: Mapping[str, Any], position: int) -> str:
    """Return what an example is called wherever a person sees it: its id as text.

    An id that is no text is written as JSON, so that ``7`` and ``"7"`` have one name and do not go
    together in a dataset. An example without one is called ``#<position>``; a given id that begins
    with ``#`` gets one more, so that the two never collide.
    """
    given = example.get("id")
    if given is None:
        return f"#{position}"
    name = given if isinstance(given, str) else to_json(given)
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

    def of(self, examples: Iterable[Placed]) -> Iterable[Placed]:
        """Return the sample."""
        chance = Random(self.seed)
        kept: list[Placed] = []
        for seen, placed in enumerate(examples):
            if seen < self.size:
                kept.append(placed)
            elif (place := chance.randrange(seen + 1)) < self.size:
                kept[place] = placed
        return sorted(kept, key=lambda placed: placed[0])


@frozen
class ById:
    """Takes the examples with these names, as results show them; ``#7`` is the one in place 7,
    which has no id of its own."""

    ids: tuple[str, ...]

    def of(self, examples: Iterable[Placed]) -> Iterator[Placed]:
        """Yield them in the order of the dataset.

        Raises:
            DatasetError: The dataset has no such example.
        """
        wanted, missing = set(self.ids), dict.fromkeys(self.ids)
        for position, example in examples:
            name = name_of(example, position)
            if name in wanted:
                missing.pop(name, None)
                yield position, example
        if missing:
            raise DatasetError(
                f"The dataset has no example {', '.join(map(repr, missing))} (--ids)."
            )


Selection = RandomSample | ById


def chosen(stream: RunDataset, timeout: float | None = None) -> Iterable[Placed]:
    """Return the examples that a run takes of a dataset, each behind its place.

    Args:
        stream: The dataset.
        timeout: Seconds that it may take for one example; None for any. With a timeout it is read
            on a thread of its own, which is left behind when it hangs and keeps no process alive.

    Raises:
        DatasetError: It cannot be read, or did not give an example in time; raised while it is
            read.
    """
    placed = _placed(stream, timeout)
    return placed if stream.selection is None else stream.selection.of(placed)


def _placed(stream: RunDataset, timeout: float | None) -> Iterator[Placed]:
    position, examples = 0, None
    while True:
        try:
            if examples is None:
                examples = iter(
                    stream.examples if timeout is None else _elsewhere(stream.examples, timeout)
                )
            found: Any = private(next(examples, _END))
        except BaseException as error:
            if is_control_flow(error):
                raise
            found = CaughtError(error)
        if found is _END:
            return
        if type(found) is CaughtError:
            where = f"after row {position - 1}" if position else "at its beginning"
            if found is _LATE:
                raise _hangs(named(stream), f"{where}: it gave no example", timeout)
            if isinstance(found.error, ContextBenchError):
                raise found.error
            raise DatasetError(
                f"{named(stream)} cannot be read {where}: {reason_of(found.error)}"
            ) from found.error
        yield position, found
        position += 1


def _damaged(stream: RunDataset, position: int, error: Exception) -> DatasetError:
    done = "stored" if isinstance(error, UnstorableError) else "taken"
    return DatasetError(f"Row {position} of {called(stream)} cannot be {done}: {reason_of(error)}")


def _elsewhere(items: Iterable[Any], timeout: float) -> Iterator[Any]:
    """Yield items, pulled on a thread of its own, never one more than is asked for; last what they
    raise, or :data:`_LATE`."""
    wanted: SimpleQueue[bool] = SimpleQueue()
    given: SimpleQueue[Any] = SimpleQueue()

    def pull() -> None:
        source = capture(iter, items)
        while wanted.get():
            given.put(source if isinstance(source, CaughtError) else capture(next, source, _END))

    Thread(target=pull, name="context-bench-dataset", daemon=True).start()
    try:
        wanted.put(True)
        while (found := _received(given, timeout)) is not _END:
            yield found
            wanted.put(True)
    finally:
        wanted.put(False)


def _received(given: SimpleQueue[Any], timeout: float) -> Any:
    """Return what is put into a queue within so many seconds; else :data:`_LATE`."""
    until = monotonic() + timeout
    while (left := until - monotonic()) > 0:
        with suppress(Empty):
            return given.get(timeout=min(left, _TICK))
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
    out = sys.stdout
    found = next(_elsewhere((make() for make in [load]), timeout))
    if found is _LATE:
        sys.stdout = out  # whoever imports a package has put another one in its place
        raise _hangs(
            f"{name[:1].upper()}{name[1:]}", "before its first row: it was not loaded", timeout
        )
    if isinstance(found, CaughtError):
        raise found.error
    return found


def _hangs(name: str, how: str, timeout: float | None) -> DatasetError:
    return DatasetError(
        f"{name} hangs {how} within {timeout:g} seconds (--dataset-timeout). Mend what it reads "
        "from, or allow it more."
    )


def named(stream: RunDataset) -> str:
    """Return what a stream is called at the beginning of a sentence; its own name keeps its
    letters."""
    name = called(stream)
    return name[:1].upper() + name[1:]


def called(stream: RunDataset) -> str:
    """Return what a stream is called within a sentence."""
    name = stream.label or stream.fallback
    return f"dataset {name!r}" if name else "the dataset"
