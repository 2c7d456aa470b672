"""Headers: what an endpoint says of its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from attrs import define

REQUESTS, TOKENS = "requests", "tokens"

_KIND = "requests|(?:input-|output-)?tokens"
_NAME = re.compile(
    rf"^(?:[a-z0-9]+-)*?(?:ratelimit|rate-limit)-(?:(?P<kind>{_KIND})-)?(?P<fact>limit|remaining|reset)"
    rf"(?:-(?P<after>{_KIND}))?(?:-(?P<window>second|minute|hour|day))?$"
)
_FIELDS = ("ratelimit", "ratelimit-policy", "x-ratelimit-policy")
_WINDOWS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_WORD = re.compile(r"\b(limit|remaining|reset)\s*=\s*([\d.]+)")
_SPANS = re.compile(
    r"^(?:(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?)$"
)
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_PARAMETER = re.compile(r';\s*(\w+)\s*=\s*"?([\w.]+)"?')
_SINCE_1970 = 1e9
_NAMES = (
    (REQUESTS, REQUESTS),
    (TOKENS, "output-tokens"),
    (TOKENS, "input-tokens"),
    (TOKENS, TOKENS),
)
"""Kinds by the names that servers use, the best last: input and output are counted together here."""


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

    Read are the patterns that many servers share, whatever stands before them: ``PREFIX-limit-requests``,
    ``-remaining-tokens`` and ``-reset-requests``, ``PREFIX-requests-limit`` and its like, ``ratelimit-limit`` without a kind
    (requests), a window as the last word (``-limit-tokens-minute``), the window of ``ratelimit-policy`` (``100;w=60``), and
    the fields of the IETF drafts (``"default";q=100;w=60`` with ``"default";r=50;t=30``; ``limit=100, remaining=50,
    reset=30``). A reset is seconds, a span such as ``6m0s`` or ``20ms``, a moment in seconds since 1970, or a date; a moment
    is measured against the answer's ``Date``.

    >>> advice_in({"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1m0s"})
    {'requests': Advice(limit=60.0, remaining=None, reset=60.0, window=None)}
    """
    if not isinstance(headers, Mapping):
        return {}
    found: dict[tuple[str, str | None], Advice] = {}
    for name, value in headers.items():
        lowered = str(name).lower()
        if "limit" not in lowered or not isinstance(value, str):
            continue
        if lowered in _FIELDS:
            _read_fields(found.setdefault((REQUESTS, None), Advice()), value)
        elif match := _NAME.match(lowered):
            place = match["kind"] or match["after"] or REQUESTS, match["window"]
            advice = found.setdefault(place, Advice(window=_WINDOWS.get(match["window"])))
            if match["fact"] == "reset":
                advice.reset = _seconds(value.strip(), headers, now)
            else:
                setattr(advice, match["fact"], _number(re.split(r"[,;]", value)[0]))
                advice.window = _parameters(value).get(
                    "w", advice.window
                )  # a policy may stand behind: 100, 100;w=60
    best: dict[str, Advice] = {}
    for kind, name in _NAMES:
        told = [
            one
            for (named, _), one in found.items()
            if named == name and (one.limit, one.remaining) != (None, None)
        ]
        if told:
            best[kind] = min(told, key=_tightness)
    return best


def _tightness(advice: Advice) -> tuple[float, ...]:
    """Of several windows the one with the least left binds, then the shortest."""
    return tuple(
        float("inf") if part is None else part for part in (advice.remaining, advice.window)
    )


def _read_fields(advice: Advice, value: str) -> None:
    """Read structured fields; of several policies the one with the longest window holds for a run."""
    for fact, amount in _WORD.findall(value):
        setattr(advice, fact, _number(amount))
    for item in value.split(","):
        said, old = _parameters(item), _number(item.partition(";")[0])
        window = said.get("w")
        if window is not None and window >= (advice.window or 0.0):
            advice.window, advice.limit = (
                window,
                said.get("q", advice.limit if old is None else old),
            )
        advice.remaining, advice.reset = (
            said.get("r", advice.remaining),
            said.get("t", advice.reset),
        )


def _parameters(text: str) -> dict[str, float | None]:
    return {name: _number(value) for name, value in _PARAMETER.findall(text)}


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None


def _seconds(text: str, headers: Mapping[str, Any], now: float | None) -> float | None:
    """Return the seconds until a reset."""
    moment = _number(text)
    if moment is None:
        spans = _SPANS.match(text)
        if spans is not None and text:
            return sum(
                float(part) * unit
                for part, unit in zip(spans.groups(), _UNITS, strict=True)
                if part
            )
        try:
            date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            return None
        moment = (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    elif moment <= _SINCE_1970:
        return moment
    if now is None:
        said = _date(headers.get("date") or headers.get("Date"))
        now = time() if said is None else said.timestamp()
    return max(0.0, moment - now)


def _date(text: Any) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
