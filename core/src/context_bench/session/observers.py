"""Observers of the stored rows of a run, and the limits of its calls.

The progress, hooks, the limit of failed rows, and the circuit breaker observe the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_bench.plan.locked import lock_of
from context_bench.protocols import RateLimiter
from context_bench.run.admission import Admission
from context_bench.run.stopping import CancelToken, CircuitBreaker, Failures
from context_bench.session.prepare import PreparedRun
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.progress import Progress
    from context_bench.session.hooks import RunHooks

Observer = Callable[[Sequence[StoredRow]], None]
"""Is called with each group of stored rows, and may raise an error that stops the run."""


def admission_of(prepared: PreparedRun, store: RunFile, stop: CancelToken) -> Admission:
    """Return what admits the calls of a run.

    Args:
        prepared: The run.
        store: Its run file, with the limits of endpoints that earlier sessions learned.
        stop: Stops the run.
    """
    config = prepared.config

    def rates(
        endpoint: str,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        learned: Mapping[str, Any],
    ) -> RateLimiter | None:
        """Return the rates of an endpoint; the rate limiter is loaded now if no system named one,
        unless the run is locked."""
        if lock_of(config) is None:
            prepared.hooks.activate_rate_limiter()
        limiter: RateLimiter | None = prepared.hooks.rate_limiter(
            endpoint, requests_per_minute, tokens_per_minute, learned
        )
        return limiter

    return Admission(
        prepared.systems,
        workers=prepared.max_workers,
        requests_per_minute=config.requests_per_minute,
        tokens_per_minute=config.tokens_per_minute,
        hooks=prepared.hooks.calls,
        stop=stop,
        learned=store.run()["provenance"].get("limits", {}),
        is_patient=config.keep_going,
        rates=rates,
    )


def limits_of_failures(prepared: PreparedRun, store: RunFile) -> list[Observer]:
    """Return the observers that stop a run in which too many rows fail."""
    config = prepared.config
    observers: list[Observer] = []
    if config.max_failed is not None:
        observers.append(Failures(config.max_failed, prepared.expected_rows).rows)
    if not config.keep_going:
        counts = {} if store.is_new else store.counts()
        breaker = CircuitBreaker(prepared.expected_rows, counts, prepared.endpoints)
        observers.append(breaker.rows)
    return observers


def observers_of(
    prepared: PreparedRun, store: RunFile, progress: Progress | None = None
) -> list[Observer]:
    """Return the observers of stored rows: first those that show them, then those that may stop
    the run."""
    observers: list[Observer] = []
    if progress is not None:
        observers.append(progress.rows)
    observers.append(HookObserver(prepared.hooks, store).rows)
    return [*observers, *limits_of_failures(prepared, store)]


def combine(observers: Sequence[Observer]) -> Observer:
    """Return one observer that calls all of them in order."""

    def observe(rows: Sequence[StoredRow]) -> None:
        for observer in observers:
            observer(rows)

    return observe


class HookObserver:
    """Shows rows, as they are stored, to the hooks of a run.

    Args:
        hooks: The hooks.
        store: The run file.
    """

    def __init__(self, hooks: RunHooks, store: RunFile) -> None:
        self._hooks = hooks
        self._store = store

    def rows(self, rows: Sequence[StoredRow]) -> None:
        """Show rows to the extensions that need them and have not failed."""
        if not self._hooks.needs_rows:
            return
        for row in self._store.rows_at(stored.id.pack() for stored in rows):
            self._hooks.row_finished(row)
