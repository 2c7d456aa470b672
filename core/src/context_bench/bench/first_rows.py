"""The first rows of a run, looked at as preflight would, without a call of their own.

A broken proxy must not look perfectly faithful: what its first replies give away is told once, on standard error and in
the run file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from time import time

from context_bench.bench.diagnostics import (
    NOTE,
    Finding,
    Reply,
    empty_findings,
    header_findings,
    stored_findings,
    token_finding,
    usage_findings,
)
from context_bench.runner.admission import endpoint_of
from context_bench.runner.parts import Slot
from context_bench.store.encoding import from_json
from context_bench.store.stored_rows import StoredRow

LOOKED_AT = 8
"""Rows of each system that are looked at."""

_BASELINES = ("direct", "baseline")

Place = tuple[int, int, int]


class FirstRows:
    """Looks at the first rows of each system that asks an endpoint.

    Args:
        slots: The systems.
        baseline: Label of the system that the others' prompts are compared with; see :func:`baseline_of`.
        on_warning: Is told each finding, once.
        most: Rows of each system to look at.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        baseline: str | None = None,
        on_warning: Callable[[str], None] = lambda line: None,
        most: int = LOOKED_AT,
    ) -> None:
        self._open = {slot.number: slot.label for slot in slots if endpoint_of(slot.system) is not None}
        self._labels = dict(self._open)
        self._baseline = next((number for number, label in self._open.items() if label == baseline), None)
        self._on_warning, self._most = on_warning, most
        self._replies: dict[int, dict[Place, Reply]] = {number: {} for number in self._open}
        self._compared: set[int] = set()
        self._started = time()
        self._lock = Lock()

    @property
    def has_more(self) -> bool:
        """Whether there are systems whose rows are still looked at."""
        return bool(self._open)

    def row(self, row: StoredRow) -> None:
        """Look at a committed row; after the first few of its system this costs nothing."""
        number = row.id.slot
        if number not in self._open or row.output is None or row.reused or row.again:
            return
        output = from_json(row.output)
        if not isinstance(output, Mapping):
            return
        measured = from_json(row.measured) if row.measured else {}
        with self._lock:
            replies = self._replies[number]
            replies[row.id.dataset, row.id.position, row.id.sample] = Reply("row", {**output, **measured})
            if len(replies) >= self._most and number in self._open:
                self._judge(number)
                self._compare()

    def close(self) -> None:
        """Judge systems that had fewer rows than are looked at."""
        with self._lock:
            for number in list(self._open):
                if self._replies[number]:
                    self._judge(number)
            self._compare()

    def _judge(self, number: int) -> None:
        del self._open[number]
        replies = list(self._replies[number].values())
        for find in (usage_findings, header_findings, empty_findings):
            self._tell(number, find(replies))
        self._tell(number, stored_findings(replies, self._started))

    def _compare(self) -> None:
        """Hold prompts against the baseline's, once both systems have been judged."""
        if self._baseline is None or self._baseline in self._open:
            return
        direct = self._replies[self._baseline]
        for number, replies in self._replies.items():
            if number in self._open or number in self._compared or number == self._baseline:
                continue
            self._compared.add(number)
            pairs = [
                (ours, theirs)
                for place, reply in replies.items()
                if place in direct
                and (ours := reply.prompt_tokens) is not None
                and (theirs := direct[place].prompt_tokens) is not None
            ]
            finding = token_finding(pairs, self._labels[self._baseline])
            self._tell(number, [] if finding is None else [finding])

    def _tell(self, number: int, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.severity != NOTE:
                self._on_warning(f"{self._labels[number]}: {finding}")


def baseline_of(labels: Sequence[str], named: str | None = None) -> str | None:
    """Return which system the others' prompts are compared with.

    That is the one that the user named, else the one that is called ``direct`` or ``baseline``.
    """
    return named if named is not None else next((label for label in labels if label in _BASELINES), None)
