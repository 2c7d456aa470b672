"""The limits of a run: of its calls, and of the rows that may fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from context_bench.plan.locked import lock_of
from context_bench.run.admission import Admission
from context_bench.run.stopping import CancelToken, CircuitBreaker, Failures
from context_bench.session.prepare import PreparedRun
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

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

    def rates(*arguments: Any) -> Any:
        """Return the rates of an endpoint; the rate limiter is loaded now if no system named one,
        unless the run is locked."""
        if lock_of(config) is None:
            prepared.hooks.activate_rate_limiter()
        return prepared.hooks.rate_limiter(*arguments)

    return Admission(
        prepared.systems,
        prepared.max_workers,
        config.requests_per_minute,
        config.tokens_per_minute,
        prepared.hooks.calls,
        stop,
        store.run()["provenance"].get("limits", {}),
        config.keep_going,
        rates,
    )


def limits_of_failures(prepared: PreparedRun, store: RunFile) -> list[Observer]:
    """Return what stops a run in which too many rows fail."""
    config = prepared.config
    observers: list[Observer] = []
    if config.max_failed is not None:
        observers.append(Failures(config.max_failed, prepared.expected_rows).rows)
    if not config.keep_going:
        counts = {} if store.is_new else store.counts()
        breaker = CircuitBreaker(prepared.expected_rows, counts, prepared.endpoints)
        observers.append(breaker.rows)
    return observers
