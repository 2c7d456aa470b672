"""Refusals: errors by which a server says that it is asked too often, whatever library raised them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

_TOO_OFTEN = frozenset({429, 529})
_LONGEST_WAIT = 300.0


def is_refusal(error: BaseException) -> bool:
    """Whether an error says that its endpoint is asked too often.

    Seen is a status of 429 or 529 in ``status``, ``status_code`` or ``code`` of the error or of its ``response``. An error
    that says of itself ``retryable = False`` is none: a quota that is spent does not come back by waiting.
    """
    if getattr(error, "retryable", None) is False:
        return False
    return any(
        getattr(holder, name, None) in _TOO_OFTEN
        for holder in (error, getattr(error, "response", None))
        for name in ("status", "status_code", "code")
        if isinstance(getattr(holder, name, None), int)
    )


def wait_asked_for(error: BaseException, now: datetime | None = None) -> float | None:
    """Return the seconds that a refusal asks to wait, or None when it does not say.

    Understood are an attribute ``retry_after`` and the header ``Retry-After``, in seconds or as a date; a date is
    measured against the answer's own ``Date``, so that a wrong clock does no harm (RFC 9110, 10.2.3).
    """
    said = getattr(error, "retry_after", None)
    if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < float("inf"):
        return float(said)
    for holder in (error, getattr(error, "response", None)):
        headers = getattr(holder, "headers", None)
        if isinstance(headers, Mapping) or hasattr(headers, "get"):
            found = _from_headers(headers, now)
            if found is not None:
                return found
    return None


def headers_of(error: BaseException) -> Any:
    """Return the response headers that an error carries, or None."""
    for holder in (error, getattr(error, "response", None)):
        headers = getattr(holder, "headers", None)
        if isinstance(headers, Mapping):
            return headers
    return None


def pause(attempt: int, asked: float | None, longest: float = 30.0) -> float | None:
    """Return how long to wait before asking again: full jitter, never less than was asked for.

    None when the server asks for more than five minutes: such a row is better resumed.
    """
    import random  # here and below: most runs are refused nothing, and these imports take a while

    if asked is not None and asked > _LONGEST_WAIT:
        return None
    return max(asked or 0.0, random.uniform(0.0, min(longest, 0.5 * 2.0 ** min(attempt, 16))))


def _from_headers(headers: Any, now: datetime | None) -> float | None:
    text = headers.get("Retry-After") or headers.get("retry-after")
    if not isinstance(text, str):
        return None
    try:
        seconds = float(text)
    except ValueError:
        until = _date(text)
        if until is None:
            return None
        from datetime import datetime, timezone

        start = _date(headers.get("Date") or headers.get("date")) or now or datetime.now(timezone.utc)
        return max(0.0, (until - start).total_seconds())
    return seconds if 0 <= seconds < float("inf") else None


def _date(text: Any) -> datetime | None:
    from datetime import timezone
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
