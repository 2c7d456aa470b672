"""Progress: how far a run is, on standard error. A bar for each system on a terminal, else a line
now and then."""

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
_LONGEST_FAILURE, _SHOWN_OF_FAILURE = 300, 120
_NO_FAILURE = (0.0, "")
_NO_NEWS = (0, None, "")


class Tally:
    """What is known of one system's rows.

    Attributes:
        done: Rows committed, failed ones included.
        kept: Those of them that an earlier session of the run had done.
        failed: Rows whose system failed.
        unjudged: Rows that were answered, and that an evaluator failed on.
        reused: Rows taken from earlier runs.
        latencies: Seconds of the latest calls.
        failure: What failed last, a system or an evaluator, behind the moment.
    """

    def __init__(self) -> None:
        self.done = self.kept = self.failed = self.unjudged = self.reused = 0
        self._tokens: dict[bool, int] = {}  # by whether the endpoint reported them
        self.latencies: deque[float] = deque(maxlen=_REMEMBERED_LATENCIES)
        self.failure = _NO_FAILURE

    def row(self, row: StoredRow) -> None:
        """Count a row."""
        self.done += 1
        self.failed += row.output is None
        self.unjudged += row.output is not None and bool(row.failures)
        self.reused += row.reused
        if (
            row.output is not None or row.reported_tokens is not None
        ):  # what was refused spent nothing
            known = (
                count for count in (row.reported_tokens, row.context_tokens) if count is not None
            )
            is_reported, tokens = (
                row.reported_tokens is not None,
                next(known, row.input_tokens) + row.response_tokens,
            )
            self._tokens[is_reported] = self._tokens.get(is_reported, 0) + tokens
        if row.failures:
            self.failure = monotonic(), cause_of(row)
        if row.output is not None and not row.reused:
            self.latencies.append(row.latency)

    @property
    def tokens(self) -> int | None:
        """Tokens of prompts and responses; None where some are the endpoint's and others our own,
        which nobody adds."""
        return None if len(self._tokens) > 1 else sum(self._tokens.values())

    @property
    def p95(self) -> float | None:
        """Seconds within which 95 of 100 of the latest calls ended."""
        ordered = sorted(self.latencies.copy())  # rows are counted on other threads meanwhile
        return ordered[(19 * len(ordered) - 1) // 20] if ordered else None


class Progress:
    """Shows committed rows.

    Args:
        slots: The systems.
        total: Rows expected of each system; None when nobody knows.
        stream: Where to write; None takes standard error.
        log_format: How lines are written where there is no terminal: ``"text"``, or ``"json"`` for
            one object a line, which is written on a terminal, too.
    """

    def __init__(
        self,
        slots: Sequence[RunSystem],
        total: int | None = None,
        stream: TextIO | None = None,
        log_format: str = "text",
    ) -> None:
        self._stream: TextIO | None = stream or sys.stderr
        self._labels = {slot.number: slot.label for slot in slots}
        self._total = total
        self._tallies = {number: Tally() for number in self._labels}
        self._admission: Admission | None = None
        self._feed: JobSource | None = None
        self._clean: Callable[[str], str] = str
        self._lock = Lock()
        self._closed = Event()
        self._is_json = log_format == "json"
        self._bars: Bars | None = None
        self._told: dict[int, tuple[Any, ...]] = {}
        self._started = self._last_line = monotonic()
        if self._stream is not None and _is_terminal(self._stream) and not self._is_json:
            from context_bench.run.progress_bars import Bars

            self._bars = Bars(self._stream, self._labels, self.state, _note)
            self._bars.start()

    def watch(
        self, admission: Admission, feed: JobSource | None = None, clean: Callable[[str], str] = str
    ) -> None:
        """Show, too, what is in flight, what was asked again, what is waited for, and what it cost.

        Args:
            admission: Lets calls go.
            feed: Pulls examples.
            clean: Takes secrets out of what a system raised.
        """
        self._admission, self._feed, self._clean = admission, feed, clean
        if self._bars is None:
            Thread(target=self._keep_time, name="context-bench-progress", daemon=True).start()

    def _keep_time(self) -> None:
        while not self._closed.wait(_SECONDS_BETWEEN_LINES):
            self.tick()

    def tick(self) -> None:
        """Write a line, though no row has ended, where there is news: a failure, or something else
        that is waited for."""
        now = monotonic()
        if now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._write()

    def resume(self, done: Mapping[int, int]) -> None:
        """Begin with the rows that an earlier session of the run has done, by slot."""
        for slot, count in done.items():
            self._tallies[slot].done = self._tallies[slot].kept = count
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

    def state(self, slot: int) -> dict[str, Any]:
        """Return what is known of a system's rows; ``eta`` and ``p95`` are seconds."""
        tally, admission = self._tallies[slot], self._admission
        seconds = monotonic() - self._started
        fresh = tally.done - tally.reused - tally.kept
        left = None if self._total is None else max(0, self._total - tally.done)
        _, failure = max(
            tally.failure, admission.failures.get(slot, _NO_FAILURE) if admission else _NO_FAILURE
        )
        waiting = (admission and admission.waiting(slot)) or (self._feed and self._feed.waiting)
        return {
            "system": self._labels[slot],
            "done": tally.done,
            "total": self._total,
            "reused": tally.reused,
            "failed": tally.failed,
            "scoring_failed": tally.unjudged,
            "retried": admission.retried.get(slot, 0) if admission else 0,
            "in_flight": admission.in_flight.get(slot, 0) if admission else 0,
            "rows_per_second": round((tally.done - tally.kept) / max(seconds, 1e-9), 4),
            "p95": None if tally.p95 is None else round(tally.p95, 6),
            "tokens": tally.tokens,
            "cost": admission.cost.get(slot) if admission else None,
            "currency": admission.currency if admission else "USD",
            "eta": None if left is None or not fresh else round(left * seconds / fresh, 1),
            "latest_failure": " ".join(self._clean(failure).split())[:_LONGEST_FAILURE] or None,
            "waiting": self._clean(waiting) if waiting and left != 0 else None,
        }

    def _write(self, is_last: bool = False) -> None:
        """Write a line for each system; meanwhile only for those that have rows left, and of none
        the same line twice."""
        with self._lock:
            for slot in self._labels:
                state = self.state(slot)
                news = (
                    state["done"],
                    state["latest_failure"],
                    (state["waiting"] or "").partition(" ")[2],
                )
                if not is_last and (
                    state["done"] == state["total"] or news == self._told.get(slot, _NO_NEWS)
                ):
                    continue
                self._told[slot] = news
                line = json_text({"event": "progress", **state}) if self._is_json else _line(state)
                self._show(line)

    def _show(self, line: str) -> None:
        if self._stream is not None:
            try:
                write_line(self._stream, line)
            except (
                OSError,
                ValueError,
            ):  # nobody reads it any more, which is no reason to end a run
                self._stream = None


def _is_terminal(stream: TextIO) -> bool:
    """Whether bars can be drawn: a dumb terminal moves no cursor."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _line(state: dict[str, Any]) -> str:
    total = "" if state["total"] is None else f"/{state['total']}"
    counts = f"{state['system']}: {state['done']}{total} rows, {state['failed']} failed"
    speed = state["rows_per_second"] and _rate(
        state["rows_per_second"]
    )  # without a fresh row there is none
    left = state["eta"] and f"about {state['eta']:.0f} s left"
    return ", ".join(
        filter(None, [counts, speed, *_facts({**state, "failed": 0}), left, *_trouble(state)])
    )


def _note(state: dict[str, Any]) -> str:
    return ", ".join(filter(None, [*_facts(state), *_trouble(state)]))


def _facts(state: dict[str, Any]) -> Iterator[str]:
    """Yield what has been counted and measured, but for what is nothing."""
    for name in ("reused", "failed", "scoring_failed", "retried", "in_flight"):
        if state[name]:
            yield f"{state[name]} {name.replace('_', ' ')}"
    if state["p95"] is not None:
        yield (
            f"p95 {state['p95']:.1f} s"
            if state["p95"] >= 0.9995
            else f"p95 {1000 * state['p95']:.3g} ms"
        )
    if state["tokens"]:
        yield f"{state['tokens']:,} tokens"
    if state["cost"] is not None:
        yield f"{state['cost']:.4f} {state['currency']}"


def _trouble(state: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return what is waited for, and what failed last; None for nothing."""
    failure, waiting = state["latest_failure"], state["waiting"]
    return (
        waiting and f"waiting {waiting}",
        failure and f"latest failure: {failure[:_SHOWN_OF_FAILURE]}",
    )


def _rate(rows_per_second: float) -> str:
    """Return a speed in the unit in which it is at least one row."""
    for seconds, unit in ((1, "s"), (60, "min")):
        if rows_per_second * seconds >= 0.95:
            return f"{rows_per_second * seconds:.0f} rows/{unit}"
    return f"{rows_per_second * 3600:.0f} rows/h"
