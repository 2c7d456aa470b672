"""Progress of a run on standard error: a bar for each system on a terminal, or else a line now and
then."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from context_bench.console import json_text, write_line
from context_bench.run.admission import Admission
from context_bench.run.stopping import cause_of
from context_bench.run.systems import RunSystem
from context_bench.store.rows import StoredRow

if TYPE_CHECKING:
    from context_bench.run.examples import JobSource
    from context_bench.run.progress_bars import Bars

_SECONDS_BETWEEN_LINES = 5.0
_REMEMBERED_LATENCIES = 1000
_LONGEST_FAILURE = 300
_SHOWN_OF_FAILURE = 120
_NO_FAILURE = (0.0, "")
_NO_NEWS = (0, None, "")


class Tally:
    """The counts of one system's rows.

    Attributes:
        done: Committed rows, with failed ones.
        earlier: Those of them that an earlier session of the run has committed.
        failed: Rows whose system failed.
        scoring_failed: Answered rows with an evaluator that failed.
        reused: Rows of earlier runs.
        latencies: Seconds of the latest calls.
        failure: Time and error of the latest failure of a system or an evaluator.
    """

    def __init__(self) -> None:
        self.done = 0
        self.earlier = 0
        self.failed = 0
        self.scoring_failed = 0
        self.reused = 0
        self._tokens: dict[bool, int] = {}  # by whether the endpoint reported them
        self.latencies: deque[float] = deque(maxlen=_REMEMBERED_LATENCIES)
        self.failure = _NO_FAILURE

    def row(self, row: StoredRow) -> None:
        """Count a row."""
        self.done += 1
        self.failed += row.output is None
        self.scoring_failed += row.output is not None and bool(row.failures)
        self.reused += row.reused
        is_reported = row.reported_tokens is not None
        if row.output is not None or is_reported:  # a refused call has used no tokens
            tokens = _prompt_tokens(row) + row.response_tokens
            self._tokens[is_reported] = self._tokens.get(is_reported, 0) + tokens
        if row.failures:
            self.failure = (monotonic(), cause_of(row))
        if row.output is not None and row.is_called:
            self.latencies.append(row.latency)

    @property
    def tokens(self) -> int | None:
        """Tokens of prompts and responses; None if only some of them were reported: reported and
        counted tokens are not added."""
        return None if len(self._tokens) > 1 else sum(self._tokens.values())

    @property
    def p95(self) -> float | None:
        """Seconds within which 95 of 100 of the latest calls ended."""
        ordered = sorted(self.latencies.copy())  # other threads count rows meanwhile
        return ordered[(19 * len(ordered) - 1) // 20] if ordered else None


def _prompt_tokens(row: StoredRow) -> int:
    """Return the tokens of a row's prompt: reported, else those of its context or its example."""
    if row.reported_tokens is not None:
        return row.reported_tokens
    return row.input_tokens if row.context_tokens is None else row.context_tokens


class Progress:
    """Shows committed rows.

    Args:
        systems: The systems.
        total: Expected rows of each system; None when they are unknown.
        stream: Where to write; None takes standard error.
        log_format: How lines are written where there is no terminal: ``"text"``, or ``"json"`` for
            one object a line, which is written on a terminal, too.
    """

    def __init__(
        self,
        systems: Sequence[RunSystem],
        total: int | None = None,
        stream: TextIO | None = None,
        log_format: str = "text",
    ) -> None:
        self._stream: TextIO | None = stream or sys.stderr
        self._labels = {run_system.number: run_system.label for run_system in systems}
        self._total = total
        self._tallies = {number: Tally() for number in self._labels}
        self._admission: Admission | None = None
        self._job_source: JobSource | None = None
        self._clean: Callable[[str], str] = str
        self._lock = Lock()
        self._closed = Event()
        self._is_json = log_format == "json"
        self._bars: Bars | None = None
        self._written: dict[int, tuple[Any, ...]] = {}
        self._started = monotonic()
        self._last_line = self._started
        if self._stream is not None and _is_terminal(self._stream) and not self._is_json:
            from context_bench.run.progress_bars import Bars

            self._bars = Bars(self._stream, self._labels, self.state, _note)
            self._bars.start()

    def watch(
        self,
        admission: Admission,
        job_source: JobSource | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        """Show calls in flight, repeated calls, waits and costs, too.

        Args:
            admission: Admits calls.
            job_source: Reads examples.
            clean: Removes secrets from the errors of systems.
        """
        self._admission = admission
        self._job_source = job_source
        self._clean = clean
        if self._bars is None:
            Thread(target=self._keep_time, name="context-bench-progress", daemon=True).start()

    def _keep_time(self) -> None:
        while not self._closed.wait(_SECONDS_BETWEEN_LINES):
            self.tick()

    def tick(self) -> None:
        """Write a line although no row has ended, if there is a new failure or another wait."""
        now = monotonic()
        if now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._write()

    def resume(self, done: Mapping[int, int]) -> None:
        """Start with the rows that an earlier session has committed, by number of the system."""
        for number, count in done.items():
            self._tallies[number].done = count
            self._tallies[number].earlier = count
        if self._bars is not None:
            self._bars.refresh()

    def rows(self, rows: Iterable[StoredRow]) -> None:
        """Count committed rows."""
        for row in rows:
            self.row(row)

    def row(self, row: StoredRow) -> None:
        """Count one committed row."""
        if row.again:
            return
        self._tallies[row.id.system_number].row(row)
        if self._bars is None:
            self.tick()

    def say(self, line: str) -> None:
        """Show a line at once."""
        if self._is_json:
            line = json_text({"event": "message", "text": line})
        if self._bars is not None:
            self._bars.say(line)
        else:
            self._show(line)

    def close(self) -> None:
        """Leave the last state on the screen."""
        self._closed.set()
        if self._bars is not None:
            self._bars.stop()
        elif any(tally.done for tally in self._tallies.values()):
            self._write(is_last=True)

    def state(self, number: int) -> dict[str, Any]:
        """Return the state of a system's rows; ``eta`` and ``p95`` are seconds."""
        tally = self._tallies[number]
        seconds = monotonic() - self._started
        called = tally.done - tally.reused - tally.earlier
        left = None if self._total is None else max(0, self._total - tally.done)
        eta = None if left is None or not called else round(left * seconds / called, 1)
        p95 = tally.p95
        state: dict[str, Any] = {
            "system": self._labels[number],
            "done": tally.done,
            "total": self._total,
            "reused": tally.reused,
            "failed": tally.failed,
            "scoring_failed": tally.scoring_failed,
            "retried": 0,
            "in_flight": 0,
            "rows_per_second": round((tally.done - tally.earlier) / max(seconds, 1e-9), 4),
            "p95": None if p95 is None else round(p95, 6),
            "tokens": tally.tokens,
            "cost": None,
            "currency": "USD",
            "eta": eta,
        }
        failure = tally.failure
        waiting: str | None = None
        if self._admission is not None:
            failure = max(failure, self._admission.failures.get(number, _NO_FAILURE))
            waiting = self._admission.waiting(number)
            state["retried"] = self._admission.retried.get(number, 0)
            state["in_flight"] = self._admission.in_flight.get(number, 0)
            state["cost"] = self._admission.cost.get(number)
            state["currency"] = self._admission.currency
        if not waiting and self._job_source is not None:
            waiting = self._job_source.waiting
        message = " ".join(self._clean(failure[1]).split())
        state["latest_failure"] = message[:_LONGEST_FAILURE] or None
        state["waiting"] = self._clean(waiting) if waiting and left != 0 else None
        return state

    def _write(self, is_last: bool = False) -> None:
        """Write a line for each system.

        Before the end, only systems with rows left get a line, and no line is written twice.
        """
        with self._lock:
            for number in self._labels:
                state = self.state(number)
                wait = (state["waiting"] or "").partition(" ")[2]
                news = (state["done"], state["latest_failure"], wait)
                is_old = news == self._written.get(number, _NO_NEWS)
                if not is_last and (state["done"] == state["total"] or is_old):
                    continue
                self._written[number] = news
                line = json_text({"event": "progress", **state}) if self._is_json else _line(state)
                self._show(line)

    def _show(self, line: str) -> None:
        if self._stream is not None:
            try:
                write_line(self._stream, line)
            except (OSError, ValueError):
                self._stream = None  # its reader has gone, which is no reason to end a run


def _is_terminal(stream: TextIO) -> bool:
    """Whether bars can be drawn: a dumb terminal moves no cursor."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _line(state: dict[str, Any]) -> str:
    total = "" if state["total"] is None else f"/{state['total']}"
    counts = f"{state['system']}: {state['done']}{total} rows, {state['failed']} failed"
    phrases = [counts]
    if state["rows_per_second"]:
        phrases.append(_rate(state["rows_per_second"]))
    phrases += _facts({**state, "failed": 0})
    if state["eta"]:
        phrases.append(f"about {state['eta']:.0f} s left")
    phrases += _trouble(state)
    return ", ".join(phrases)


def _note(state: dict[str, Any]) -> str:
    return ", ".join([*_facts(state), *_trouble(state)])


def _facts(state: dict[str, Any]) -> Iterator[str]:
    """Yield the counts and measurements that are not zero."""
    for name in ("reused", "failed", "scoring_failed", "retried", "in_flight"):
        if state[name]:
            yield f"{state[name]} {name.replace('_', ' ')}"
    p95 = state["p95"]
    if p95 is not None:
        yield f"p95 {p95:.1f} s" if p95 >= 0.9995 else f"p95 {1000 * p95:.3g} ms"
    if state["tokens"]:
        yield f"{state['tokens']:,} tokens"
    if state["cost"] is not None:
        yield f"{state['cost']:.4f} {state['currency']}"


def _trouble(state: dict[str, Any]) -> Iterator[str]:
    """Yield the wait and the latest failure, where there is one."""
    if state["waiting"]:
        yield f"waiting {state['waiting']}"
    if state["latest_failure"]:
        yield f"latest failure: {state['latest_failure'][:_SHOWN_OF_FAILURE]}"


def _rate(rows_per_second: float) -> str:
    """Return a speed in the unit in which it is at least one row."""
    for seconds, unit in ((1, "s"), (60, "min")):
        if rows_per_second * seconds >= 0.95:
            return f"{rows_per_second * seconds:.0f} rows/{unit}"
    return f"{rows_per_second * 3600:.0f} rows/h"
