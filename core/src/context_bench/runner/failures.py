"""Failures: a run stops when so many rows have failed that the rest cannot make up for it."""

from __future__ import annotations

from context_bench.errors import ContextBenchError
from context_bench.store.stored_rows import StoredRow

_LONGEST = 300


class TooManyFailuresError(ContextBenchError):
    """More rows failed than may."""

    exit_code = 12


class Failures:
    """Counts the rows whose system failed.

    Args:
        most: Share of rows that may fail, 0 to 1; None for any.
        expected: Rows of the whole run; None when nobody knows, and then the run does not stop early.
    """

    def __init__(self, most: float | None, expected: int | None) -> None:
        self._most = most
        self._expected = expected
        self._failed = 0

    @staticmethod
    def _cause(row: StoredRow) -> str:
        return " ".join(str(row.failures[0][1]).split())[:_LONGEST] if row.failures else "unknown"

    def row(self, row: StoredRow) -> None:
        """Count a row.

        Raises:
            TooManyFailuresError: Even if all others succeed, too many have failed.
        """
        if self._most is None or self._expected is None or row.output is not None or row.again:
            return
        self._failed += 1
        if self._failed > self._most * self._expected:
            raise TooManyFailuresError(
                f"{self._failed} of {self._expected} rows have failed, more than the share of {self._most:g} that may "
                f"(--max-failed). The last one: {self._cause(row)}"
            )
