"""The feed: examples are pulled one by one, given an identity and keys, and become jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from tempfile import TemporaryFile
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import evolve

from context_bench.errors import DatasetError, UnstorableError
from context_bench.runner.parts import Job, LabelWiring, Slot, Stream
from context_bench.runner.selection import called, chosen, name_of, named, shown
from context_bench.runner.systems import takes_turns
from context_bench.runner.work import Workbench
from context_bench.store.encoding import DIGEST_SIZE, from_json, to_json
from context_bench.store.keys import RowId, example_key, response_key
from context_bench.store.reader import Further
from context_bench.store.rows import StoredExample
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.runner.conversation import Transcripts
    from context_bench.runner.stored_jobs import Reference

_REMEMBERED_IDS = 50_000
_WORTH_TELLING = 2.0
_NOTHING: tuple[Any, ...] = (1 << 64, b"")
_CONTENT = 64
"""Bits of an example's key that tell two examples with one id apart."""

Done = Iterator[tuple[Any, ...]]


class Feed:
    """Turns streams of examples into jobs.

    Args:
        slots: The systems.
        streams: The datasets.
        wire: Returns the wiring of a label; called once for each, before the first job of its rows.
        workbench: Counts tokens.
        samples: How often each example is given to each system.
        done: Returns the packed identities and response keys of rows that are done already, in canonical order.
        reuse: Finds a response of an earlier run by its key: (output, latency), or None.
        keep_bodies: Whether examples are stored whole.
        reference: The system whose responses stand in for gold answers; it is asked twice where there is none.
        order: ``"interleaved"`` gives each example to all systems before the next example, so that no system meets a
            warmer server than another; ``"system"`` gives all examples to one system before the next system.
        transcripts: Keeps the turns of conversations.
        unscored: Evaluators that have said nothing of a response that is done, by its packed identity: they get it again.
        timeout: Seconds that a dataset may take for one example; None for any.
    """

    def __init__(
        self,
        slots: Iterable[Slot],
        streams: Iterable[Stream],
        wire: Callable[[str], LabelWiring],
        workbench: Workbench,
        samples: int = 1,
        done: Callable[[], Done] = lambda: iter(()),
        reuse: Callable[[bytes], tuple[Mapping[str, Any], float] | None] | None = None,
        keep_bodies: bool = True,
        order: str = "interleaved",
        transcripts: Transcripts | None = None,
        unscored: Mapping[int, Collection[int]] | None = None,
        reference: Reference | None = None,
        timeout: float | None = None,
    ) -> None:
        self._timeout = timeout
        self._slots = tuple(slots)
        self._streams = tuple(streams)
        self._stream_of = {stream.number: stream for stream in self._streams}
        self._wire = wire
        self._workbench = workbench
        self._samples = samples
        self._done = done
        self._changed: set[tuple[int, int]] = set()
        self._reuse = reuse
        self._keep_bodies = keep_bodies
        self._reference = reference
        self._in_turn = order == "system" and len(self._slots) > 1
        self._unscored = unscored or {}
        self._transcripts = transcripts
        self._talking = {slot.number for slot in self._slots if transcripts is not None and takes_turns(slot.system)}
        self._wirings: dict[str, LabelWiring] = {}
        self.skipped = 0
        self._pulls: tuple[Stream, float] | None = None

    def jobs(self, store: RunFile | None = None) -> Iterator[Job]:
        """Yield the jobs that are still to be done.

        Raises:
            DatasetError: A dataset cannot be read or a row is no example.
            ContextBenchError: The wiring of a label failed.
        """
        if not self._in_turn:
            yield from self._pass(self._slots, self._read(store), store)
            return
        with Spool() as spool:
            first, *others = self._slots
            yield from self._pass((first,), spool.keep(self._read(store)), store)
            for slot in others:
                yield from self._pass((slot,), spool, store)

    @property
    def waiting(self) -> str | None:
        """Which dataset is waited for, and for how long; None where none takes long."""
        stream, since = self._pulls or (None, 0.0)
        seconds = monotonic() - since
        return f"{seconds:.0f} s so far for {called(stream)}" if stream and seconds >= _WORTH_TELLING else None

    def _read(self, store: RunFile | None) -> Iterator[Fed]:
        for stream in self._streams:
            length = 0
            names = _Names(stream)
            self._pulls = stream, monotonic()
            content = blake2b(b"context-bench dataset 1", digest_size=DIGEST_SIZE)
            for position, example in chosen(stream, self._timeout):
                if type(example) is not dict and not isinstance(example, Mapping):
                    raise DatasetError(
                        f"Row {position} of {called(stream)} is of type {type(example).__name__}; "
                        "an example is a mapping of field names to values."
                    )
                try:
                    key = example_key(example)
                except UnstorableError as error:
                    raise DatasetError(f"Row {position} of {called(stream)} cannot be stored: {error}") from error
                content.update(key)
                length += 1
                name = names.name(example, position, key)
                self._pulls = None
                yield Fed(stream.number, position, name, _label(stream, example), key, example)
                self._pulls = stream, monotonic()
            self._pulls = None
            if not length:
                raise DatasetError(f"{named(stream)} is empty: it gave no example.")
            if store is not None:
                store.close_dataset(stream.number, length, content.digest())

    def _pass(self, slots: Sequence[Slot], examples: Iterable[Fed], store: RunFile | None) -> Iterator[Job]:
        done = self._done()
        number, known, *held = next(done, _NOTHING)
        for fed in examples:
            dataset, position, _, label, key, example = fed
            wiring = self._wirings.get(label) or self._wiring(label)
            if self._reference is not None and self._reference.is_needed(wiring, example):
                wiring = self._wiring(self._reference.name(label))
            stored: StoredExample | None = None
            tokens = None
            for slot in slots:
                sent = shown(slot, self._stream_of[dataset], example)
                seen = key if slot.reads is None and sent is example else example_key(sent, slot.reads)
                for sample in range(self._samples_of(slot, wiring)):
                    identity = RowId(dataset, position, slot.number, sample)
                    response = response_key(slot.key, seen, sample)
                    packed = identity.pack()
                    while number < packed:
                        number, known, *held = next(done, _NOTHING)
                    is_answered = number == packed and known == response
                    if is_answered and store is not None and self._has_changed(fed, held):
                        said = from_json(store.output(packed))
                        yield Job(identity, slot, wiring, example, response, 0, key, self._stored(fed, wiring), said)
                        continue
                    if is_answered:
                        self.skipped += 1
                        if packed in self._unscored and store is not None:
                            yield self._again(store, identity, slot, wiring, fed, response)
                        continue
                    if tokens is None:
                        tokens = self._workbench.input_tokens(example)
                        stored = self._stored(fed, wiring)
                    output, latency = None, 0.0
                    if self._reuse is not None and slot.shared:
                        output, latency = self._reuse(response) or (None, 0.0)
                    job = Job(
                        identity, slot, wiring, example, response, tokens, key, stored, output, latency, shown=sent
                    )
                    yield self._with_transcript(job, seen) if slot.number in self._talking and output is None else job
                    stored = None

    def _with_transcript(self, job: Job, seen: bytes) -> Job:
        """Return the job with the transcript of its turns, where it is a conversation."""
        from context_bench.runner.conversation import is_conversation

        if self._transcripts is None or not is_conversation(job.example):
            return job
        return evolve(job, transcript=self._transcripts.of(job.id, job.slot.key, seen))

    def _again(self, store: RunFile, row: RowId, slot: Slot, wiring: LabelWiring, fed: Fed, response: bytes) -> Job:
        """Return the job of the evaluators that an earlier session did not wait for."""
        output = store.output(row.pack())
        wanted = tuple(scorer for scorer in wiring.scorers if scorer.number in self._unscored[row.pack()])
        return Job(row, slot, wiring, fed.example, response, 0, fed.key, output=from_json(output), only=wanted)

    def _stored(self, fed: Fed, wiring: LabelWiring) -> StoredExample:
        """Return the example as it is written, before the first row of it that is not done."""
        try:
            body = to_json(fed.example) if self._keep_bodies else None
        except UnstorableError as error:
            raise DatasetError(f"Row {fed.position} of dataset {fed.label!r} cannot be stored: {error}") from error
        return StoredExample(fed.dataset, fed.position, fed.name, wiring.number, fed.key, body)

    def _samples_of(self, slot: Slot, wiring: LabelWiring) -> int:
        if self._reference is None:
            return self._samples
        return self._reference.samples_of(slot.number, wiring.label, self._samples)

    def _has_changed(self, fed: Fed, held: Sequence[bytes]) -> bool:
        """Whether an example is not the one that was answered: its gold differs, for a system that is not shown it."""
        place = (fed.dataset, fed.position)
        if held and held[0] != fed.key:
            self._changed.add(place)  # the first of its rows writes it anew
        return place in self._changed

    def _wiring(self, label: str) -> LabelWiring:
        if label not in self._wirings:
            self._wirings[label] = self._wire(label).without_reference()
        return self._wirings[label]


class Fed(NamedTuple):
    """An example with its identity."""

    dataset: int
    position: int
    name: str
    label: str
    key: bytes
    example: Mapping[str, Any]


class Spool:
    """Keeps examples in a temporary file, for the passes of further systems."""

    def __init__(self) -> None:
        self._file = TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed in __exit__

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, examples: Iterable[Fed]) -> Iterator[Fed]:
        """Yield the examples, and keep each."""
        for fed in examples:
            self._file.write(to_json(list(fed)) + "\n")
            yield fed

    def __iter__(self) -> Iterator[Fed]:
        self._file.seek(0)
        for line in self._file:
            yield Fed(*from_json(line))


class _Names:
    """Gives each example of a dataset its name, and finds one name on two different examples."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._seen: dict[int, int] = {}  # by hash of the name: position and beginning of the key, in one small integer
        self._further: Further | None = None  # what memory need not hold

    def name(self, example: Mapping[str, Any], position: int, key: bytes) -> str:
        name = name_of(example, position)
        if example.get("id") is not None:
            content = int.from_bytes(key[:8], "big")
            found = self._first(hash(name), position << _CONTENT | content)
            if found & ((1 << _CONTENT) - 1) != content:
                hint = " (a number and the same text are one)" if name.lstrip("-")[:1].isdigit() else ""
                raise DatasetError(
                    f"Rows {found >> _CONTENT} and {position} of {called(self._stream)} are different examples with one "
                    f"id, {name!r}{hint}. Give each its own, or take the id from another column (--field id=COLUMN)."
                )
        return name

    def _first(self, name: int, place: int) -> int:
        """The first place of a name: this one, where it is new."""
        if len(self._seen) < _REMEMBERED_IDS or name in self._seen:
            return self._seen.setdefault(name, place)
        if self._further is None:
            self._further = Further()
        return self._further.setdefault(name, place)


def _label(stream: Stream, example: Mapping[str, Any]) -> str:
    if stream.label is not None:
        return stream.label
    found = example.get("dataset")
    return found if isinstance(found, str) and found else stream.fallback
