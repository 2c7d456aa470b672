"""What an endpoint says of its limits, in headers and by refusing: how much it allows, what is left, when all is there again.

Read are the patterns that many servers share, whatever stands before them: ``PREFIX-limit-requests``, ``-remaining-tokens``
and ``-reset-requests``, ``PREFIX-requests-limit`` and its like, ``ratelimit-limit`` without a kind (requests), a window as the
last word (``-limit-tokens-minute``), the window of ``ratelimit-policy`` (``100;w=60``), and the fields of the IETF drafts
(``"default";q=100;w=60`` with ``"default";r=50;t=30``; ``limit=100, remaining=50, reset=30``). A reset is seconds, a span
such as ``6m0s`` or ``20ms``, a moment in seconds since 1970, or a date; a moment is measured against the answer's ``Date``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from time import time
from typing import TYPE_CHECKING, Any

from attrs import define

if TYPE_CHECKING:
    from datetime import datetime


REQUESTS, TOKENS = "requests", "tokens"

_KIND = "requests|(?:input-|output-)?tokens"
_NAME = re.compile(
    rf"^(?:[a-z0-9]+-)*?(?:ratelimit|rate-limit)-(?:(?P<kind>{_KIND})-)?(?P<fact>limit|remaining|reset)"
    rf"(?:-(?P<after>{_KIND}))?(?:-(?P<window>second|minute|hour|day))?$"
)
_WINDOWS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_WORD = re.compile(r"\b(limit|remaining|reset)\s*=\s*([\d.]+)")
_SPAN = re.compile(r"^(?:(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?)$")
_PARAMETER = re.compile(r';\s*(\w+)\s*=\s*"?([\w.]+)"?')
_A_MOMENT = 1e9
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)


@define
class Advice:
    """What an endpoint says of one of its limits.

    Attributes:
        limit: How much it allows in a window.
        remaining: How much is left of it.
        reset: Seconds until it is all there again.
        window: Seconds of the window; None when it does not say.
    """

    limit: float | None = None
    remaining: float | None = None
    reset: float | None = None
    window: float | None = None


def advice_in(headers: Any, now: float | None = None) -> dict[str, Advice]:
    """Return what headers say of the limits of requests and of tokens; nothing where they say nothing.

    >>> advice_in({"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1m0s"})
    {'requests': Advice(limit=60.0, remaining=None, reset=60.0, window=None)}
    """
    if not isinstance(headers, Mapping):
        return {}
    date = headers.get("date") or headers.get("Date")
    moment = _date(date) if now is None and date else None
    now = moment.timestamp() if moment is not None else now
    found: dict[tuple[str, str | None], Advice] = {}
    for name, value in headers.items():
        lowered = str(name).lower()
        if "limit" not in lowered or not isinstance(value, str):
            continue
        if lowered in ("ratelimit", "ratelimit-policy", "x-ratelimit-policy"):
            _read_fields(found.setdefault((REQUESTS, None), Advice()), value)
            continue
        match = _NAME.match(lowered)
        if match is None:
            continue
        place = match["kind"] or match["after"] or REQUESTS, match["window"]
        advice = found.setdefault(place, Advice(window=_WINDOWS.get(match["window"])))
        if match["fact"] == "reset":
            advice.reset = _seconds(value, now)
        else:
            _read_amount(advice, match["fact"], value)
    told = {place: one for place, one in found.items() if one.limit is not None or one.remaining is not None}
    return {kind: _tightest(told, *names) for kind, *names in _NAMES if any(name in names for name, _ in told)}


_NAMES = ((REQUESTS, REQUESTS), (TOKENS, TOKENS, "input-tokens", "output-tokens"))
"""By kind, the names that servers use, the best first: input and output are counted together here."""


def _tightest(told: Mapping[tuple[str, str | None], Advice], *names: str) -> Advice:
    """Return what binds, of the limits of one kind: of several windows the one with the least left, then the shortest."""
    said = {name for name, _ in told}
    best = next(name for name in names if name in said)
    return min(
        (one for (name, _), one in told.items() if name == best),
        key=lambda one: (
            float("inf") if one.remaining is None else one.remaining,
            float("inf") if one.window is None else one.window,
        ),
    )


def _read_amount(advice: Advice, fact: str, value: str) -> None:
    """Read a number, after which a policy may stand: ``100, 100;w=60``."""
    amount = _number(re.split(r"[,;]", value, maxsplit=1)[0])
    if fact == "limit":
        advice.limit = amount
    else:
        advice.remaining = amount
    parameters = dict(_PARAMETER.findall(value))
    if "w" in parameters:
        advice.window = _number(parameters["w"])


def _read_fields(advice: Advice, value: str) -> None:
    """Read structured fields; of several policies the one with the longest window holds for a run."""
    for fact, amount in _WORD.findall(value):
        setattr(advice, fact, _number(amount))
    for item in value.split(","):
        parameters = {key: _number(number) for key, number in _PARAMETER.findall(item)}
        old = _number(item.split(";", 1)[0])
        window = parameters.get("w")
        if window is not None and (advice.window is None or window >= advice.window):
            advice.window = window
            advice.limit = parameters.get("q", old if old is not None else advice.limit)
        if "r" in parameters:
            advice.remaining = parameters["r"]
        if "t" in parameters:
            advice.reset = parameters["t"]


def _number(text: str) -> float | None:
    try:
        found = float(text.strip())
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None


def _seconds(text: str, now: float | None) -> float | None:
    text = text.strip()
    number = _number(text)
    if number is not None:
        return max(0.0, number - (time() if now is None else now)) if number > _A_MOMENT else number
    span = _SPAN.match(text)
    if span is not None and text:
        return sum(float(part) * unit for part, unit in zip(span.groups(), _UNITS, strict=True) if part)
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, moment.timestamp() - (time() if now is None else now))


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
