"""The first rows of a run, looked at as preflight would, without a call of their own: an extension that only watches.

A broken proxy must not look perfectly faithful: what its first replies give away is told once, on standard error and in
the run file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import time

from context_bench.hookspecs import hookimpl
from context_bench.protocols import SystemSummary
from context_bench.records import EvalRow
from context_bench_preflight.diagnostics import (
    NOTE,
    Finding,
    Reply,
    empty_findings,
    header_findings,
    stored_findings,
    token_finding,
    usage_findings,
)

LOOKED_AT = 8
"""Rows of each system that are looked at."""

_PATIENCE = 4
"""So many times as many rows are waited for, until two systems have answered the same ones."""

Place = tuple[str, int, int]


class FirstRows:
    """Looks at the first rows of each system that asks an endpoint, and says what they give away, once."""

    def __init__(self, most: int = LOOKED_AT) -> None:
        self._most = most
        self._open: dict[int, str] = {}
        self._labels: dict[int, str] = {}
        self._baseline: int | None = None
        self._replies: dict[int, dict[Place, Reply]] = {}
        self._compared: set[int] = set()
        self._lock = Lock()

    @hookimpl
    def run_started(self, systems: Sequence[SystemSummary], warn: Callable[[str], None]) -> None:
        """Note which systems ask an endpoint."""
        self._open = {
            system.number: system.label for system in systems if system.endpoint is not None
        }
        self._labels = dict(self._open)
        self._baseline = next(
            (number for number in self._open if systems[number].is_baseline), None
        )
        self._warn = warn
        self._replies = {slot: {} for slot in self._open}
        self._started = time()

    @hookimpl
    def row_finished(self, row: EvalRow) -> bool:
        """Look at a row, and tell whether more are wanted."""
        if row.system_number in self._labels and row.output and not row.reused:
            with self._lock:
                replies = self._replies[row.system_number]
                replies[row.dataset, row.position, row.repetition] = Reply(
                    "row", {**row.output, **row.metadata}
                )
                if row.system_number in self._open and len(replies) >= self._most:
                    self._judge(row.system_number)
                self._compare(self._most)
        return bool(self._open) or any(map(self._is_waiting, self._labels))

    @hookimpl
    def run_finished(self) -> None:
        """Judge systems that had fewer rows than are looked at."""
        with self._lock:
            for number in list(self._open):
                if self._replies[number]:
                    self._judge(number)
            self._compare(1)

    def _judge(self, number: int) -> None:
        del self._open[number]
        replies = list(self._replies[number].values())
        for find in (usage_findings, header_findings, empty_findings):
            self._tell(number, find(replies))
        self._tell(number, stored_findings(replies, self._started))

    def _is_waiting(self, number: int) -> bool:
        """Whether a system is still to be held against the baseline: rows come in any order, so it may take more of them."""
        return (
            self._baseline not in (None, number)
            and number not in self._compared
            and len(self._replies[number]) < _PATIENCE * self._most
        )

    def _compare(self, least: int) -> None:
        """Hold prompts against the baseline's, once there are enough rows that both systems have."""
        if self._baseline is None:
            return
        direct = self._replies[self._baseline]
        for number, replies in self._replies.items():
            both = sorted(place for place in replies if place in direct)[: self._most]
            if number in self._compared or number == self._baseline or len(both) < least:
                continue
            self._compared.add(number)
            pairs = [
                (ours, theirs)
                for place in both
                if (ours := replies[place].prompt_tokens) is not None
                and (theirs := direct[place].prompt_tokens) is not None
            ]
            finding = token_finding(pairs, self._labels[self._baseline])
            self._tell(number, [] if finding is None else [finding])

    def _tell(self, number: int, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.severity != NOTE:
                self._warn(f"{self._labels[number]}: {finding}")
