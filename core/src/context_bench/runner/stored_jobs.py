"""Jobs that are made of a run file: responses that are scored again, or against a reference, and rows that are derived.

All read in a pass of their own over the file, so a run that is killed goes on where it ended, and nothing is held in memory.
Nobody is asked for them, unless a reader follows a derived row.

Rows without a gold answer have a label of their own, whose evaluators are those of the dataset. The ones that need an answer are
given the reference's response in its place, and their keys get a prefix, so that no such score is ever taken for one of a gold
answer. They score when all rows are answered: the response may come later than those that are held against it. What lacks a
gold answer, and what stands in for it, says a run part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from attrs import define, evolve, frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.errors import StoreError
from context_bench.protocols import AnswerSource, DerivedSlot, System
from context_bench.records import AGREEMENT
from context_bench.runner.parts import Job, LabelWiring, Scorer, Slot, Stream
from context_bench.runner.selection import shown
from context_bench.runner.work import Workbench
from context_bench.store.encoding import from_json, isolate
from context_bench.store.keys import RowId, derived_key, example_key, example_of, response_key, score_key
from context_bench.store.questions import examples, response_keys, responses_of, responses_to_score
from context_bench.store.reader import RunReader

_MARK = " (agreement)"


class Again:
    """Turns the responses of a run file into jobs that score them, and never ask a system.

    Args:
        store: The run file; its examples must have been kept whole.
        slots: The systems of the run; only their names and places count.
        wire: Returns the wiring of a label.
        force: Whether to score also what was scored by the same evaluators before.
        reference: The system whose responses stand in for gold answers; None when there is none.
        agreement_only: Whether to leave all scorers alone but those that wait for the reference's responses.
    """

    def __init__(
        self,
        store: RunReader,
        slots: Iterable[Slot],
        wire: Callable[[str], LabelWiring],
        force: bool = False,
        reference: Reference | None = None,
        agreement_only: bool = False,
    ) -> None:
        self._store = store
        self._slots = {slot.number: slot for slot in slots}
        self._labels = {label.number: label.label for label in store.labels()}
        self._wire = wire
        self._force = force
        self._reference = reference
        self._agreement_only = agreement_only
        self.skipped = 0

    def jobs(self) -> Iterator[Job]:
        """Yield a job for each response that an evaluator has not scored as it is now.

        Where some evaluators of a row hold it against the reference, and others do not, it gets a job of each kind.

        Raises:
            StoreError: The examples of the run were not kept.
        """
        with self._store.apart() as reader:  # what is scored meanwhile is not seen
            yield from self._jobs(reader)

    def _jobs(self, reader: RunReader) -> Iterator[Job]:
        place, plain, agreed = None, _NO_EXAMPLE, _NO_EXAMPLE
        references = _Responses(reader, self._reference)
        for number, group in groupby(responses_to_score(reader), key=itemgetter(0)):
            lines = list(group)
            _, key, output, digest, label, body, *_ = lines[0]
            identity = RowId.unpack(number)
            wiring = self._wire(self._labels[label])
            kinds = [agrees for agrees in (False, True) if any(scorer.agrees == agrees for scorer in wiring.scorers)]
            if self._agreement_only and True not in kinds:
                continue
            if place != identity[:2]:
                place, plain = identity[:2], _Seen.of(self._example(body))
                agreed = references.answer(number, plain) if True in kinds else plain
            before = {line[6]: line[7:] for line in lines}
            jobs = []
            for agrees in kinds[-1:] if self._agreement_only else kinds:
                seen = self._unless_itself(agreed, identity) if agrees else plain
                job = Job(
                    id=identity,
                    slot=self._slots[identity.slot],
                    wiring=wiring,
                    example=seen.example,
                    key=key,
                    input_tokens=0,
                    example_key=seen.key,
                    output=from_json(output),
                    agrees=agrees,
                    unscored=seen.unscored,
                )
                wanted = tuple(
                    scorer
                    for scorer in wiring.scorers
                    if scorer.agrees == agrees
                    and (self._force or _is_stale(scorer, before.get(scorer.number), job, digest))
                )
                if wanted:
                    jobs.append(evolve(job, only=wanted))
            self.skipped += not jobs
            yield from jobs

    def _unless_itself(self, seen: _Seen, identity: RowId) -> _Seen:
        """Return what a row is held against: the reference's first response not against itself."""
        if self._reference is None or (identity.slot, identity.sample) != (self._reference.slot, 0):
            return seen
        return evolve(seen, unscored="it is the reference itself")

    def _example(self, body: str | None) -> Mapping[str, Any]:
        if body is None:
            raise StoreError(
                f"{self._store.path} was written without its examples, so its responses cannot be scored again."
            )
        found: Mapping[str, Any] = from_json(body)
        return found


@frozen(eq=False)
class _Seen:
    """An example as scorers see it.

    Attributes:
        example: The example.
        key: Its key.
        unscored: Why nobody can score with it, or None.
    """

    example: Mapping[str, Any]
    key: bytes
    unscored: str | None = None

    @classmethod
    def of(cls, example: Mapping[str, Any], unscored: str | None = None) -> _Seen:
        return cls(example, example_key(example), unscored)


_NO_EXAMPLE = _Seen({}, b"")


class _Responses:
    """The reference's first responses, read beside rows in canonical order."""

    def __init__(self, store: RunReader, reference: Reference | None) -> None:
        self._reference = reference
        self._found = responses_of(store, -1 if reference is None else reference.slot)
        self._head: tuple[Any, ...] | None = (-1, "")

    def answer(self, number: int, plain: _Seen) -> _Seen:
        """Return an example with the reference's response in the place of the answer; rows must come in order."""
        place = example_of(number)
        while self._head is not None and example_of(self._head[0]) < place:
            self._head = next(self._found, None)
        if self._reference is None:
            return plain
        example = None
        if self._head is not None and example_of(self._head[0]) == place:
            example = self._reference.part.filled(plain.example, from_json(self._head[1]))
        if example is None:
            return _Seen.of(plain.example, f"the reference {self._reference.label} has no response to this example")
        return _Seen.of(example)


def _is_stale(scorer: Scorer, before: tuple[bytes, str | None] | None, job: Job, digest: bytes) -> bool:
    """Whether a scorer has not scored a response as it is now, may have changed, or may score what it could not then."""
    if before is None or not scorer.provenance.get("version"):
        return True
    if before[0] != score_key(job.key, digest, scorer.key, job.gold_key(scorer.reads)):
        return True
    return before[1] is not None and not scorer.deterministic


@frozen
class Reference:
    """The system whose responses stand in for gold answers.

    Attributes:
        part: Says what lacks a gold answer, and what stands in for it.
        label: Its label.
        slot: Its number.
        samples: How often the run gives it each example. The part may have it asked oftener where there is no gold answer;
            what is beyond this number says how far it agrees with itself, and nothing else.
    """

    part: AnswerSource
    label: str
    slot: int
    samples: int = 1

    def samples_of(self, slot: int, label: str, asked: int) -> int:
        """Return how often a system is given an example of a label, when the run asks for a number of times."""
        return max(asked, self.part.least_samples) if slot == self.slot and label == self.name(label) else asked

    def is_needed(self, wiring: LabelWiring, example: Mapping[str, Any]) -> bool:
        """Whether evaluators of a label need a gold answer, and an example has none for any of them."""
        fields = {name for scorer in wiring.scorers for name in self._gold(scorer)}
        return bool(fields) and self.part.lacks(example, fields)

    def name(self, label: str) -> str:
        """Return the label of the rows of a dataset that have no gold answer."""
        return label if label.endswith(_MARK) else f"{label}{_MARK}"

    def dataset_of(self, label: str) -> str | None:
        """Return the label of the dataset whose rows without a gold answer have this label; None for any other label."""
        return label.removesuffix(_MARK) if label.endswith(_MARK) else None

    def described(self, slots: Iterable[Slot]) -> list[Slot]:
        """Return the slots of a run, with what is recorded of the reference."""
        told = {"reference": {"samples": self.samples}}
        return [
            evolve(slot, description={**slot.description, **told}) if slot.number == self.slot else slot
            for slot in slots
        ]

    def agreeing(self, wiring: LabelWiring, number: int) -> LabelWiring:
        """Return the wiring of the rows of a label that have no gold answer; the new label has that number."""
        needy = [scorer for scorer in wiring.scorers if self._gold(scorer)]
        scorers = tuple(_agreeing(scorer) if scorer in needy else scorer for scorer in wiring.scorers)
        headline = wiring.headline
        if any(headline in scorer.keys for scorer in needy):
            headline = f"{AGREEMENT}{headline}"
        plan = {**wiring.plan, "agreement": {"of": wiring.label, "reference": self.label}}
        return LabelWiring(number, f"{wiring.label}{_MARK}", scorers, headline, plan)

    def _gold(self, scorer: Scorer) -> Sequence[str]:
        """Return the gold fields of an evaluator; one without a manifest needs an answer for all one knows."""
        anything = () if scorer.keys else ("|".join(REFERENCE_FIELDS),)
        return self.part.gold_fields(scorer.needs.get("original", ()) or anything)


def _agreeing(scorer: Scorer) -> Scorer:
    return evolve(
        scorer,
        prefix=f"{AGREEMENT}{scorer.prefix}",
        yields=frozenset(f"{AGREEMENT}{key}" for key in scorer.yields),
        keys={f"{AGREEMENT}{key}": meaning for key, meaning in scorer.keys.items()},
        ranges={f"{AGREEMENT}{key}": bounds for key, bounds in scorer.ranges.items()},
        agrees=True,
    )


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
                wiring = self._wire(self._labels[label]).without_reference()
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
