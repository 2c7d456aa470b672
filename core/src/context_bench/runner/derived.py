"""Derived rows: what a slot makes of another slot's rows, once these are committed.

They are made in a pass of their own over the run file, so a run that is killed goes on where it ended, and nothing of the
sources is held in memory. Nobody is asked for them, unless a reader follows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define

from context_bench.protocols import DerivedSlot, System
from context_bench.runner.agreement import before_reference
from context_bench.runner.job import Job
from context_bench.runner.parts import LabelWiring, Slot, Stream
from context_bench.runner.sight import shown
from context_bench.runner.work import Workbench
from context_bench.store.encoding import from_json, isolate
from context_bench.store.identity import RowId
from context_bench.store.keys import derived_key, response_key
from context_bench.store.questions import examples, response_keys
from context_bench.store.reader import RunReader


class NothingToDeriveError(Exception):
    """The row that another one was to be derived from has no output."""


class DerivedSystem:
    """The system of a derived slot.

    Args:
        derived: What makes its outputs.
        reader: Answers from these outputs; None where nobody does.
    """

    def __init__(self, derived: DerivedSlot, reader: System | None = None) -> None:
        self.name, self._derived, self._reader = derived.label, derived, reader
        self.steps = () if reader is None else (reader,)

    def process(self, example: dict[str, Any], source: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return what is made of a source's output, with the reader's answer.

        Raises:
            NothingToDeriveError: The source has no output.
        """
        if source is None:
            raise NothingToDeriveError(f"{self._derived.source_label} has no output for this example")
        found = self._derived.process(isolate(example), source)
        if self._reader is None:
            return found
        return {**found, **self._reader.process({**example, **isolate(found)})}


@define(eq=False)
class DerivedRow(Job):
    """A row that is to be derived.

    Attributes:
        source: The output that it is derived from; None where there is none.
    """

    source: Mapping[str, Any] | None = None

    def ask(self) -> Any:
        """Return what the slot makes of the source's output."""
        system: Any = self.slot.system
        return system.process(self.given, self.source)


class DerivedRows:
    """Turns the rows of a run file into jobs of the slots that derive from them.

    Args:
        store: The run file; the sources' rows are finished, and its examples are kept whole.
        slots: The slots of the run.
        streams: Its datasets.
        wire: Returns the wiring of a label.
        workbench: Counts tokens.
        samples: How often each example was given to each system.
        unscored: Evaluators that have said nothing of a response that is done, by its packed identity.
    """

    def __init__(
        self,
        store: RunReader,
        slots: Iterable[Slot],
        streams: Iterable[Stream],
        wire: Callable[[str], LabelWiring],
        workbench: Workbench,
        samples: int,
        unscored: Mapping[int, Collection[int]],
    ) -> None:
        self._store, self._wire, self._workbench, self._samples = store, wire, workbench, samples
        self._slots = [slot for slot in slots if slot.source is not None]
        self._streams = {stream.number: stream for stream in streams}
        self._labels = {label.number: label.label for label in store.labels()}
        self._unscored = unscored

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that are still to be done, in the order of the examples."""
        with self._store.apart() as reader:
            for number, _, label, key, body in examples(reader) if self._slots else ():
                wiring = before_reference(self._wire(self._labels[label]))
                answered = {found[0]: found[1:3] for found in response_keys(reader, number)}
                yield from self._of_example(reader, RowId.unpack(number), wiring, from_json(body), key, answered)

    def _of_example(
        self,
        reader: RunReader,
        place: RowId,
        wiring: LabelWiring,
        example: Mapping[str, Any],
        key: bytes,
        answered: Mapping[int, Sequence[bytes]],
    ) -> Iterator[Job]:
        tokens = self._workbench.input_tokens(example)
        for slot in self._slots:
            for sample in range(self._samples):
                row = RowId(place.dataset, place.position, slot.number, sample)
                source = RowId(place.dataset, place.position, slot.source or 0, sample).pack()
                own = response_key(slot.key, derived_key(key, *answered.get(source, (b"", b""))), sample)
                number = row.pack()
                if number in answered and answered[number][0] == own:
                    if number in self._unscored:
                        only = tuple(one for one in wiring.scorers if one.number in self._unscored[number])
                        output = from_json(reader.output(number))
                        yield Job(row, slot, wiring, example, own, 0, key, output=output, only=only)
                    continue
                found = from_json(reader.output(source)) if source in answered else None
                sent = shown(slot, self._streams[place.dataset], example)
                yield DerivedRow(row, slot, wiring, example, own, tokens, key, shown=sent, source=found)
