"""Who observes the stored rows of a run: the progress, hooks, the limit of failed rows, and the
circuit breaker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from context_bench.session.limits import Observer, limits_of_failures
from context_bench.session.prepare import PreparedRun
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.progress import Progress
    from context_bench.session.hooks import RunHooks


def observers_of(
    prepared: PreparedRun, store: RunFile, progress: Progress | None = None
) -> list[Observer]:
    """Return what is called with each group of stored rows: first what shows them, then what may
    stop the run."""
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
        """Show rows to the extensions that need them; one that failed may have been switched off by
        now."""
        if not self._hooks.needs_rows:
            return
        for row in self._store.rows_at(stored.id.pack() for stored in rows):
            self._hooks.row_finished(row)
