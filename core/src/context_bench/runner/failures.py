"""Failures: a run stops when too many rows have failed, or when its system is plainly dead."""

from __future__ import annotations

import re
from collections.abc import Mapping

from context_bench.errors import ContextBenchError
from context_bench.store.stored_rows import StoredRow

FIRST, LATER = 10, 30
"""Rows that fail with one cause and stop a run: its first ones, and later ones in a row."""

_LONGEST = 300
_TOGETHER, _EACH = 24, 3
_NUMBER = re.compile(r"[\w-]*\d[\w-]*|\w{16,}")


def cause_of(row: StoredRow) -> str:
    """Return why a row failed, in one line."""
    return " ".join(str(row.failures[0][1]).split())[:_LONGEST] if row.failures else "unknown"


class TooManyFailuresError(ContextBenchError):
    """More rows failed than may."""

    exit_code = 12


class DeadSystemError(ContextBenchError):
    """A system fails row after row with one cause."""

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
                f"(--max-failed). The last one: {cause_of(row)}"
            )


class Breaker:
    """Stops a run whose system is dead: its first rows, or later many in a row, failed with one cause.

    It does not need to know how long the run is. A row that is answered closes it again. Systems that ask one endpoint
    count together, until one of them is answered; and as long as an endpoint has answered nothing, a cause is the kind of
    an error: servers like to say of each request something else.

    Args:
        expected: Rows of the whole run; None when nobody knows. Where these have all been seen there is nothing to stop.
        before: Rows that were answered and that failed in earlier sessions, by slot. The failed ones are asked again first,
            so they may fail again, unless nothing was ever answered.
        endpoints: What each slot asks; None for one that asks no endpoint.
    """

    def __init__(
        self,
        expected: int | None,
        before: Mapping[int, tuple[int, int]] | None = None,
        endpoints: Mapping[int, str | None] | None = None,
    ) -> None:
        self._expected = expected
        self._failed_before = {slot: failed for slot, (answered, failed) in (before or {}).items() if answered}
        self._endpoints = endpoints or {}
        self._seen = 0
        self._causes: dict[int, tuple[str, int]] = {}
        self._answered: set[int] = set()

    def row(self, row: StoredRow) -> None:
        """Look at a row.

        Raises:
            DeadSystemError: Its system fails again and again with one cause.
        """
        if row.again:
            return
        self._seen += 1
        slot = row.id.slot
        if row.output is not None:
            if not row.reused:
                self._answered.add(slot)
                self._causes.pop(slot, None)
            return
        failure = row.failures[0][1]
        endpoint = self._endpoints.get(slot)
        group = [one for one, its in self._endpoints.items() if its == endpoint and its is not None] or [slot]
        has_answered = not self._answered.isdisjoint(group)
        is_kind_enough = endpoint is not None and not has_answered
        cause = failure.kind if is_kind_enough else f"{failure.kind}: {_NUMBER.sub('0', failure.message)}"
        before, count = self._causes.get(slot, (cause, 0))
        self._causes[slot] = cause, count + 1 if before == cause else 1
        counted = [slot] if has_answered else group
        count = sum(self._causes.get(one, ("", 0))[1] for one in counted)
        most = LATER if slot in self._answered else max(FIRST, min(_TOGETHER, _EACH * len(counted)))
        most += sum(self._failed_before.get(one, 0) for one in counted)
        if count >= most and self._seen != self._expected:
            which = f"{count} rows in a row" if slot in self._answered else f"The first {count} rows"
            whose = "one system" if len(counted) == 1 else f"the {len(counted)} systems that ask {endpoint}"
            raise DeadSystemError(
                f"{which} of {whose} failed with one cause, which asking again will not mend (--keep-going goes on): "
                f"{cause_of(row)}"
            )
