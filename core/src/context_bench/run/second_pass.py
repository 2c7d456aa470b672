"""Jobs from a run file: responses to score again, or against a reference, and derived rows.

They read the file in a separate pass, so a run that is killed continues where it stopped, and
nothing stays in memory. No system is called, except the reader of a derived row.

Rows without a gold answer have a separate label, with the evaluators of the dataset. Evaluators
that need an answer receive the reference's response instead, and their keys get a prefix, so that
these scores differ from those of gold answers. They score when all rows are answered: the
reference's response may come later than those that are compared with it. An extension decides which
examples lack a gold answer, and what replaces it (hook ``answer_source``).
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
    ResponseKey,
    ScoredResponse,
    examples,
    response_keys,
    responses_to_score,
)
from context_bench.store.reader import RunReader, raising_store_errors

_MARK = " (agreement)"


@define(eq=False)
class RescoreJobs:
    """Turns the responses of a run file into jobs that score them, and never ask a system.

    Attributes:
        store: The run file, with whole examples.
        systems: The systems of the run; only their labels and numbers are used.
        wire: Returns the wiring of a label.
        force: Whether to score also what was scored by the same evaluators before.
        reference: The system whose responses replace gold answers, or None.
        agreement_only: Whether to leave all scorers alone but those that wait for the reference's
            responses.
    """

    _store: RunReader
    _systems: Iterable[RunSystem]
    _wire: Callable[[str], LabelWiring]
    _force: bool = False
    _reference: Reference | None = None
    _agreement_only: bool = False

    def jobs(self) -> Iterator[Job]:
        """Yield a job for each response that an evaluator has not scored as it is now.

        If some evaluators of a row compare it with the reference, and others do not, the row gets a
        job of each kind.

        Raises:
            StoreError: The examples of the run are not stored, or the file is damaged.
        """
        # apart: what is scored meanwhile is not seen
        with raising_store_errors(self._store.path), self._store.apart() as reader:
            yield from self._jobs(reader)

    def _jobs(self, reader: RunReader) -> Iterator[Job]:
        labels = {label.number: label.label for label in self._store.labels()}
        systems = {run_system.number: run_system for run_system in self._systems}
        current: tuple[int, int] | None = None
        plain = _NO_EXAMPLE
        agreed = _NO_EXAMPLE
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
            if kinds and current != row[:2]:
                current = row[:2]
                example = self._example(response.body)
                plain = _ScoredExample(example, example_key(example))
                agreed = self._agreed(reader, number, plain) if True in kinds else plain
            stored = {line.evaluator: line for line in lines}
            for agrees in sorted(kinds):
                scored = self._unless_itself(agreed, row) if agrees else plain
                job = Job(
                    id=row,
                    slot=systems[row.system_number],
                    wiring=wiring,
                    example=scored.example,
                    key=response.key,
                    input_tokens=0,
                    example_key=scored.key,
                    output=from_json(response.output),
                    agrees=agrees,
                    unscored=scored.unscored,
                )
                scorers = [scorer for scorer in wiring.scorers if scorer.agrees == agrees]
                if not self._force:
                    scorers = [
                        scorer
                        for scorer in scorers
                        if _is_stale(scorer, stored.get(scorer.number), job)
                    ]
                if scorers:
                    job.only = tuple(scorers)
                    yield job

    def _unless_itself(self, scored: _ScoredExample, row: RowId) -> _ScoredExample:
        """Return the example; the reference's first response is not compared with itself."""
        if self._reference is None or row.repetition != 0:
            return scored
        if row.system_number != self._reference.number:
            return scored
        return scored._replace(unscored="it is the reference itself")

    def _agreed(self, reader: RunReader, number: int, plain: _ScoredExample) -> _ScoredExample:
        """Return the example of a row with the reference's first response instead of the answer."""
        if self._reference is None:
            return plain
        row = RowId.unpack(number)
        first = row._replace(system_number=self._reference.number, repetition=0).pack()
        example = None
        if any(first == line.number for line in response_keys(reader, example_of(number))):
            example = self._reference.part.filled(plain.example, from_json(reader.output(first)))
        if example is None:
            label = self._reference.label
            return plain._replace(unscored=f"the reference {label} has no response to this example")
        return _ScoredExample(example, example_key(example))

    def _example(self, body: str | None) -> Mapping[str, Any]:
        if body is None:
            raise StoreError(
                f"{self._store.path} was written without its examples, so its responses cannot be "
                "scored again."
            )
        example: Mapping[str, Any] = from_json(body)
        return example


class _ScoredExample(NamedTuple):
    """An example as scorers receive it, its key, and why it cannot be scored."""

    example: Mapping[str, Any]
    key: bytes
    unscored: str | None = None


_NO_EXAMPLE = _ScoredExample({}, b"")


def _is_stale(scorer: Scorer, stored: ScoredResponse | None, job: Job) -> bool:
    """Whether a scorer has not scored the current response, may have changed, or may score what it
    could not score before."""
    if stored is None or not scorer.provenance.get("version"):
        return True
    gold = job.gold_key(scorer.reads)
    if stored.score_key != score_key(job.key, stored.output_hash, scorer.key, gold):
        return True
    return stored.unscored is not None and not scorer.deterministic


@frozen
class Reference:
    """The system whose responses replace gold answers.

    Attributes:
        part: Decides which examples lack a gold answer, and what replaces it.
        label: Its label.
        number: Its number.
        samples: How often the run calls it with each example. Without a gold answer, the extension
            may require more calls, which only measure how far it agrees with itself.
    """

    part: AnswerSource
    label: str
    number: int
    samples: int = 1

    def samples_of(self, number: int, label: str, requested: int) -> int:
        """Return how often a system receives each example of a label.

        Args:
            number: Number of the system.
            label: The label.
            requested: How often the run calls each system with each example.
        """
        if number == self.number and label == self.name(label):
            return max(requested, self.part.least_samples)
        return requested

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

    def described(self, systems: Iterable[RunSystem]) -> list[RunSystem]:
        """Return the systems of a run, the reference with its number of repetitions."""
        described = []
        for run_system in systems:
            if run_system.number == self.number:
                entry = {"reference": {"repetitions": self.samples}}
                run_system = evolve(run_system, description={**run_system.description, **entry})
            described.append(run_system)
        return described

    def agreeing(self, wiring: LabelWiring, number: int) -> LabelWiring:
        """Return the wiring of the rows of a label that have no gold answer.

        Args:
            wiring: The wiring of the label.
            number: Number of the new label.
        """
        needy = [scorer for scorer in wiring.scorers if self._gold(scorer)]
        scorers = tuple(
            evolve(scorer.prefixed(AGREEMENT), agrees=True) if scorer in needy else scorer
            for scorer in wiring.scorers
        )
        primary = wiring.primary
        if any(primary in scorer.keys for scorer in needy):
            primary = f"{AGREEMENT}{primary}"
        plan = {**wiring.plan, "agreement": {"of": wiring.label, "reference": self.label}}
        label = f"{wiring.label}{_MARK}"
        return LabelWiring(number, label, scorers, primary, plan)

    def _gold(self, scorer: Scorer) -> Sequence[str]:
        """Return the gold fields of an evaluator; one without a manifest needs an answer for all
        one knows."""
        anything = () if scorer.keys else ("|".join(REFERENCE_FIELDS),)
        return self.part.gold_fields(scorer.needs.get("original", ()) or anything)


class NothingToDeriveError(Exception):
    """The source row of a derived row has no output."""


class DerivedSystem:
    """A system whose outputs are derived from those of another system.

    Args:
        derived: Returns its outputs.
        reader: Answers from these outputs; None without a reader.
    """

    def __init__(self, derived: DerivedSystemSpec, reader: System | None = None) -> None:
        self.name = derived.label
        self._derived = derived
        self._reader = reader
        self.steps = () if reader is None else (reader,)

    def process(
        self, example: dict[str, Any], source: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Return the output that is derived from a source's output, with the reader's answer.

        Raises:
            NothingToDeriveError: The source has no output.
        """
        if source is None:
            raise NothingToDeriveError(
                f"{self._derived.source_label} has no output for this example"
            )
        output = self._derived.process(isolate(example), source)
        if self._reader is None:
            return output
        return {**output, **self._reader.process({**example, **isolate(output)})}


@define(eq=False)
class DerivedRow(Job):
    """A row that is to be derived.

    Attributes:
        source: The output that it is derived from, or None.
    """

    source: Mapping[str, Any] | None = None

    def call_system(self) -> Any:
        """Return the output that is derived from the source's output."""
        system: Any = self.slot.system
        return system.process(self.system_input, self.source)


@define(eq=False)
class DerivedRows:
    """Turns the rows of a run file into jobs of the systems that derive from them.

    Attributes:
        store: The run file, with finished rows of the sources, and whole examples.
        systems: The systems of the run.
        datasets: Its datasets.
        wire: Returns the wiring of a label.
        processor: Counts tokens.
        samples: How often each system receives each example.
        unscored: Evaluators that have not scored a stored response, by its packed identity.
    """

    _store: RunReader
    _systems: Iterable[RunSystem]
    _datasets: Iterable[RunDataset]
    _wire: Callable[[str], LabelWiring]
    _processor: RowProcessor
    _samples: int
    _unscored: Mapping[int, Collection[int]]

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs that are still to be done, in the order of the examples."""
        labels = {label.number: label.label for label in self._store.labels()}
        derived_systems = [system for system in self._systems if system.source is not None]
        with self._store.apart() as reader:
            for line in examples(reader):
                row = RowId.unpack(line.number)
                example = from_json(line.body or "null")
                wiring = self._wire(labels[line.label]).without_reference()
                responses = {
                    response.number: response for response in response_keys(reader, line.number)
                }
                tokens = self._processor.input_tokens(example)
                for run_system, repetition in product(derived_systems, range(self._samples)):
                    job = DerivedRow(
                        id=row._replace(system_number=run_system.number, repetition=repetition),
                        slot=run_system,
                        wiring=wiring,
                        example=example,
                        key=b"",
                        input_tokens=tokens,
                        example_key=line.hash,
                    )
                    if self._is_open(job, responses, reader):
                        yield job

    def _is_open(
        self, job: DerivedRow, responses: Mapping[int, ResponseKey], reader: RunReader
    ) -> bool:
        """Complete a job with its key and its source; return whether it is still to be done."""
        run_system = job.slot
        assert run_system.source is not None
        source = job.id._replace(system_number=run_system.source).pack()
        source_key = b""
        source_hash = b""
        if source in responses:
            source_key = responses[source].key
            source_hash = responses[source].output_hash
        example = derived_key(job.example_key, source_key, source_hash)
        job.key = response_key(run_system.key, example, job.id.repetition)
        number = job.id.pack()
        if number not in responses or responses[number].key != job.key:
            dataset = next(item for item in self._datasets if item.number == job.id.dataset)
            job.shown = shown(run_system, dataset, job.example)
            if source in responses:
                job.source = from_json(reader.output(source))
            return True
        if number in self._unscored:
            job.only = job.wiring.numbered(self._unscored[number])
            job.output = from_json(reader.output(number))
            return True
        return False
