"""Jobs that are made of a run file: responses that are scored again, or against a reference, and
rows that are derived.

All read in a pass of their own over the file, so a run that is killed goes on where it ended, and
nothing is held in memory. Nobody is asked for them, unless a reader follows a derived row.

Rows without a gold answer have a label of their own, whose evaluators are those of the dataset. The
ones that need an answer are given the reference's response in its place, and their keys get a
prefix, so that no such score is ever taken for one of a gold answer. They score when all rows are
answered: the response may come later than those that are held against it. What lacks a gold answer,
and what stands in for it, says an extension (hook ``answer_source``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from operator import attrgetter
from typing import Any, NamedTuple

from attrs import define, evolve, frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.errors import StoreError
from context_bench.protocols import AnswerSource, DerivedSystemSpec, System
from context_bench.records import AGREEMENT
from context_bench.run.datasets import RunDataset, shown
from context_bench.run.jobs import Job, LabelWiring, Scorer
from context_bench.run.processor import RowProcessor
from context_bench.run.systems import RunSystem
from context_bench.store.encoding import from_json, isolate
from context_bench.store.keys import (
    RowId,
    derived_key,
    example_key,
    example_of,
    response_key,
    score_key,
)
from context_bench.store.queries import (
    ScoredResponse,
    examples,
    response_keys,
    responses_to_score,
)
from context_bench.store.reader import RunReader

_MARK = " (agreement)"


@define(eq=False)
class RescoreJobs:
    """Turns the responses of a run file into jobs that score them, and never ask a system.

    Attributes:
        store: The run file; its examples must have been kept whole.
        slots: The systems of the run; only their names and places count.
        wire: Returns the wiring of a label.
        force: Whether to score also what was scored by the same evaluators before.
        reference: The system whose responses stand in for gold answers; None when there is none.
        agreement_only: Whether to leave all scorers alone but those that wait for the reference's
            responses.
    """

    _store: RunReader
    _slots: Iterable[RunSystem]
    _wire: Callable[[str], LabelWiring]
    _force: bool = False
    _reference: Reference | None = None
    _agreement_only: bool = False

    def jobs(self) -> Iterator[Job]:
        """Yield a job for each response that an evaluator has not scored as it is now.

        Where some evaluators of a row hold it against the reference, and others do not, it gets a
        job of each kind.

        Raises:
            StoreError: The examples of the run were not kept.
        """
        with self._store.apart() as reader:  # what is scored meanwhile is not seen
            yield from self._jobs(reader)

    def _jobs(self, reader: RunReader) -> Iterator[Job]:
        labels = {label.number: label.label for label in self._store.labels()}
        slots = {slot.number: slot for slot in self._slots}
        place, plain, agreed = None, _NO_EXAMPLE, _NO_EXAMPLE
        for number, group in groupby(responses_to_score(reader), key=attrgetter("number")):
            lines = list(group)
            response = lines[0]
            row = RowId.unpack(number)
            wiring = self._wire(labels[response.label])
            kinds = {
                scorer.agrees
                for scorer in wiring.scorers
                if scorer.agrees or not self._agreement_only
            }
            if kinds and place != row[:2]:
                place = row[:2]
                example = self._example(response.body)
                plain = _Seen(example, example_key(example))
                agreed = self._agreed(reader, number, plain) if True in kinds else plain
            before = {line.evaluator: line for line in lines}
            for agrees in sorted(kinds):
                seen = self._unless_itself(agreed, row) if agrees else plain
                found = from_json(response.output)
                job = Job(
                    row,
                    slots[row.system_number],
                    wiring,
                    seen.example,
                    response.key,
                    0,
                    seen.key,
                    output=found,
                    agrees=agrees,
                )
                job.unscored = seen.unscored
                job.only = tuple(
                    scorer
                    for scorer in wiring.scorers
                    if scorer.agrees == agrees
                    and (self._force or _is_stale(scorer, before.get(scorer.number), job))
                )
                if job.only:
                    yield job

    def _unless_itself(self, seen: _Seen, row: RowId) -> _Seen:
        """Return what a row is held against: the reference's first response not against itself."""
        if self._reference is None or (row.system_number, row.repetition) != (
            self._reference.slot,
            0,
        ):
            return seen
        return seen._replace(unscored="it is the reference itself")

    def _agreed(self, reader: RunReader, number: int, plain: _Seen) -> _Seen:
        """Return the example of a row with the reference's first response in the place of the
        answer."""
        if self._reference is None:
            return plain
        first = (
            RowId.unpack(number)._replace(system_number=self._reference.slot, repetition=0).pack()
        )
        example = None
        if any(first == line.number for line in response_keys(reader, example_of(number))):
            example = self._reference.part.filled(plain.example, from_json(reader.output(first)))
        if example is None:
            label = self._reference.label
            return plain._replace(unscored=f"the reference {label} has no response to this example")
        return _Seen(example, example_key(example))

    def _example(self, body: str | None) -> Mapping[str, Any]:
        if body is None:
            raise StoreError(
                f"{self._store.path} was written without its examples, so its responses cannot be "
                "scored again."
            )
        found: Mapping[str, Any] = from_json(body)
        return found


class _Seen(NamedTuple):
    """An example as scorers see it, its key, and why nobody can score with it."""

    example: Mapping[str, Any]
    key: bytes
    unscored: str | None = None


_NO_EXAMPLE = _Seen({}, b"")


def _is_stale(scorer: Scorer, before: ScoredResponse | None, job: Job) -> bool:
    """Whether a scorer has not scored a response as it is now, may have changed, or may score what
    it could not then."""
    if before is None or not scorer.provenance.get("version"):
        return True
    gold = job.gold_key(scorer.reads)
    if before.score_key != score_key(job.key, before.output_hash, scorer.key, gold):
        return True
    return before.unscored is not None and not scorer.deterministic


@frozen
class Reference:
    """The system whose responses stand in for gold answers.

    Attributes:
        part: Says what lacks a gold answer, and what stands in for it.
        label: Its label.
        slot: Its number.
        samples: How often the run gives it each example. The part may have it asked oftener where
            there is no gold answer; what is beyond this number says how far it agrees with itself,
            and nothing else.
    """

    part: AnswerSource
    label: str
    slot: int
    samples: int = 1

    def samples_of(self, slot: int, label: str, asked: int) -> int:
        """Return how often a system is given an example of a label, when the run asks for a number
        of times."""
        return (
            max(asked, self.part.least_samples)
            if slot == self.slot and label == self.name(label)
            else asked
        )

    def is_needed(self, wiring: LabelWiring, example: Mapping[str, Any]) -> bool:
        """Whether evaluators of a label need a gold answer, and an example has none for any of
        them."""
        fields = {name for scorer in wiring.scorers for name in self._gold(scorer)}
        return bool(fields) and self.part.lacks(example, fields)

    def name(self, label: str) -> str:
        """Return the label of the rows of a dataset that have no gold answer."""
        return label if label.endswith(_MARK) else f"{label}{_MARK}"

    def dataset_of(self, label: str) -> str | None:
        """Return the label of the dataset whose rows without a gold answer have this label; None
        for any other label."""
        return label.removesuffix(_MARK) if label.endswith(_MARK) else None

    def described(self, slots: Iterable[RunSystem]) -> list[RunSystem]:
        """Return the slots of a run, with what is recorded of the reference."""
        told = {"reference": {"repetitions": self.samples}}
        return [
            evolve(slot, description={**slot.description, **told})
            if slot.number == self.slot
            else slot
            for slot in slots
        ]

    def agreeing(self, wiring: LabelWiring, number: int) -> LabelWiring:
        """Return the wiring of the rows of a label that have no gold answer; the new label has that
        number."""
        needy = [scorer for scorer in wiring.scorers if self._gold(scorer)]
        scorers = tuple(
            evolve(scorer.prefixed(AGREEMENT), agrees=True) if scorer in needy else scorer
            for scorer in wiring.scorers
        )
        primary = wiring.primary
        if any(primary in scorer.keys for scorer in needy):
            primary = f"{AGREEMENT}{primary}"
        plan = {**wiring.plan, "agreement": {"of": wiring.label, "reference": self.label}}
        return LabelWiring(number, f"{wiring.label}{_MARK}", scorers, primary, plan)

    def _gold(self, scorer: Scorer) -> Sequence[str]:
        """Return the gold fields of an evaluator; one without a manifest needs an answer for all
        one knows."""
        anything = () if scorer.keys else ("|".join(REFERENCE_FIELDS),)
        return self.part.gold_fields(scorer.needs.get("original", ()) or anything)


class NothingToDeriveError(Exception):
    """The row that another one was to be derived from has no output."""


class DerivedSystem:
    """The system of a derived slot.

    Args:
        derived: What makes its outputs.
        reader: Answers from these outputs; None where nobody does.
    """

    def __init__(self, derived: DerivedSystemSpec, reader: System | None = None) -> None:
        self.name, self._derived, self._reader = derived.label, derived, reader
        self.steps = () if reader is None else (reader,)

    def process(
        self, example: dict[str, Any], source: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Return what is made of a source's output, with the reader's answer.

        Raises:
            NothingToDeriveError: The source has no output.
        """
        if source is None:
            raise NothingToDeriveError(
                f"{self._derived.source_label} has no output for this example"
            )
        found = self._derived.process(isolate(example), source)
        return (
            found
            if self._reader is None
            else {**found, **self._reader.process({**example, **isolate(found)})}
        )


@define(eq=False)
class DerivedRow(Job):
    """A row that is to be derived.

    Attributes:
        source: The output that it is derived from; None where there is none.
    """

    source: Mapping[str, Any] | None = None

    def call_system(self) -> Any:
        """Return what the slot makes of the source's output."""
        system: Any = self.slot.system
        return system.process(self.system_input, self.source)


@define(eq=False)
class DerivedRows:
    """Turns the rows of a run file into jobs of the slots that derive from them.

    Attributes:
        store: The run file; the sources' rows are finished, and its examples are kept whole.
        slots: The slots of the run.
        streams: Its datasets.
        wire: Returns the wiring of a label.
        processor: Counts tokens.
        samples: How often each example was given to each system.
        unscored: Evaluators that have said nothing of a response that is done, by its packed
            identity.
    """

    _store: RunReader
    _slots: Iterable[RunSystem]
    _streams: Iterable[RunDataset]
    _wire: Callable[[str], LabelWiring]
    _workbench: RowProcessor
    _samples: int
    _unscored: Mapping[int, Collection[int]]

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that are still to be done, in the order of the examples."""
        labels = {label.number: label.label for label in self._store.labels()}
        streams = {stream.number: stream for stream in self._streams}
        with self._store.apart() as reader:
            for line in examples(reader):
                place = RowId.unpack(line.number)
                example = from_json(line.body or "null")
                wiring = self._wire(labels[line.label]).without_reference()
                answered = {
                    response.number: response for response in response_keys(reader, line.number)
                }
                tokens = self._workbench.input_tokens(example)
                for slot, sample in product(self._slots, range(self._samples)):
                    if slot.source is None:
                        continue
                    row = place._replace(system_number=slot.number, repetition=sample)
                    source = place._replace(system_number=slot.source, repetition=sample).pack()
                    source_keys = (b"", b"")
                    if source in answered:
                        source_keys = (answered[source].key, answered[source].output_hash)
                    own = response_key(slot.key, derived_key(line.hash, *source_keys), sample)
                    job = DerivedRow(row, slot, wiring, example, own, tokens, line.hash)
                    if row.pack() not in answered or answered[row.pack()].key != own:
                        job.shown = shown(slot, streams[place.dataset], example)
                        job.source = (
                            from_json(reader.output(source)) if source in answered else None
                        )
                        yield job
                    elif row.pack() in self._unscored:
                        job.only = wiring.numbered(self._unscored[row.pack()])
                        job.output = from_json(reader.output(row.pack()))
                        yield job
