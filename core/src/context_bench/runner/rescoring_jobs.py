"""Scoring again: stored responses, and the evaluators that have not scored them as they are now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from attrs import evolve, frozen

from context_bench.answers import part_answer
from context_bench.errors import StoreError
from context_bench.runner.agreement import GOLD, Reference
from context_bench.runner.job import Job
from context_bench.runner.parts import LabelWiring, Scorer, Slot
from context_bench.store.encoding import from_json
from context_bench.store.identity import RowId, example_of
from context_bench.store.keys import example_key, score_key
from context_bench.store.questions import responses_of, responses_to_score
from context_bench.store.reader import RunReader


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
        self._label = "" if reference is None else reference.label
        slot = -1 if reference is None else reference.slot
        self._found = responses_of(store, slot)
        self._head: tuple[Any, ...] | None = (-1, "")

    def answer(self, number: int, plain: _Seen) -> _Seen:
        """Return an example with the reference's response in the place of the answer; rows must come in order."""
        place = example_of(number)
        while self._head is not None and example_of(self._head[0]) < place:
            self._head = next(self._found, None)
        response = None
        if self._head is not None and example_of(self._head[0]) == place:
            response = from_json(self._head[1]).get("response")
        if not isinstance(response, str):
            return _Seen.of(plain.example, f"the reference {self._label} has no response to this example")
        example = {name: value for name, value in plain.example.items() if name not in GOLD}
        return _Seen.of({**example, "answer": part_answer(response).answer})


def _is_stale(scorer: Scorer, before: tuple[bytes, str | None] | None, job: Job, digest: bytes) -> bool:
    """Whether a scorer has not scored a response as it is now, may have changed, or may score what it could not then."""
    if before is None or not scorer.provenance.get("version"):
        return True
    if before[0] != score_key(job.key, digest, scorer.key, job.gold_key(scorer.reads)):
        return True
    return before[1] is not None and not scorer.deterministic
