"""Scoring again: stored responses, and the evaluators that have not scored them as they are now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from context_bench.errors import StoreError
from context_bench.runner.parts import LabelWiring, Scorer, Slot
from context_bench.runner.work import Job
from context_bench.store.encoding import from_json
from context_bench.store.keys import RowId, example_key, score_key
from context_bench.store.runfile import RunFile

_QUERY = """
SELECT responses.id, responses.key, output, responses.hash, label, body, evaluations.evaluator, evaluations.key,
       unscored
FROM responses
JOIN examples ON examples.id = responses.id & ~1048575
LEFT JOIN evaluations ON evaluations.response = responses.id
ORDER BY responses.id
"""


class Again:
    """Turns the responses of a run file into jobs that score them, and never ask a system.

    Args:
        store: The run file; its examples must have been kept whole.
        slots: The systems of the run; only their names and places count.
        wire: Returns the wiring of a label.
        force: Whether to score also what was scored by the same evaluators before.
    """

    def __init__(
        self, store: RunFile, slots: Iterable[Slot], wire: Callable[[str], LabelWiring], force: bool = False
    ) -> None:
        self._store = store
        self._slots = {slot.number: slot for slot in slots}
        self._labels = {label.number: label.label for label in store.labels()}
        self._wire = wire
        self._force = force
        self.skipped = 0

    def jobs(self) -> Iterator[Job]:
        """Yield a job for each response that an evaluator has not scored as it is now.

        Raises:
            StoreError: The examples of the run were not kept.
        """
        place, whole = None, b""
        example: Mapping[str, Any] = {}
        for number, group in groupby(self._store.read(_QUERY), key=itemgetter(0)):
            lines = list(group)
            _, key, output, digest, label, body, *_ = lines[0]
            identity = RowId.unpack(number)
            wiring = self._wire(self._labels[label])
            if place != identity[:2]:
                place, example = identity[:2], self._example(body)
                whole = example_key(example)
            before = {line[6]: line[7:] for line in lines}
            wanted = tuple(
                scorer
                for scorer in wiring.scorers
                if self._force
                or _is_stale(
                    scorer,
                    before.get(scorer.number),
                    score_key(
                        key, digest, scorer.key, whole if scorer.reads is None else example_key(example, scorer.reads)
                    ),
                )
            )
            if not wanted:
                self.skipped += 1
                continue
            yield Job(
                id=identity,
                slot=self._slots[identity.slot],
                wiring=wiring,
                example=example,
                key=key,
                input_tokens=0,
                example_key=whole,
                output=from_json(output),
                only=wanted,
            )

    def _example(self, body: str | None) -> Mapping[str, Any]:
        if body is None:
            raise StoreError(
                f"{self._store.path} was written without its examples, so its responses cannot be scored again."
            )
        found: Mapping[str, Any] = from_json(body)
        return found


def _is_stale(scorer: Scorer, before: tuple[bytes, str | None] | None, key: bytes) -> bool:
    """Whether a scorer has not scored a response as it is now, may have changed, or may score what it could not then."""
    if before is None or before[0] != key or not scorer.provenance.get("version"):
        return True
    return before[1] is not None and not scorer.deterministic
