"""What an endpoint says of its limits in headers: how much it allows, how much is left, and when it is all there again.

Read are the patterns that many servers share, whatever stands before them: ``PREFIX-limit-requests``, ``-remaining-tokens``
and ``-reset-requests``, ``PREFIX-requests-limit`` and its like, ``ratelimit-limit`` without a kind (requests), the window of
``ratelimit-policy`` (``100;w=60``), and the structured fields of the IETF draft (``"default";q=100;w=60`` with
``"default";r=50;t=30``). A reset is seconds, a span such as ``6m0s`` or ``20ms``, a moment in seconds since 1970, or a date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from time import time
from typing import Any

from attrs import define

REQUESTS, TOKENS = "requests", "tokens"

_NAME = re.compile(
    r"^(?:[a-z0-9]+-)*?(?:ratelimit|rate-limit)-(?:(?P<kind>requests|tokens)-)?(?P<fact>limit|remaining|reset|policy)"
    r"(?:-(?P<after>requests|tokens))?$"
)
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
    found: dict[str, Advice] = {}
    for name, value in headers.items():
        lowered = str(name).lower()
        if "limit" not in lowered or not isinstance(value, str):
            continue
        if lowered in ("ratelimit", "ratelimit-policy", "x-ratelimit-policy"):
            _read_fields(found.setdefault(REQUESTS, Advice()), value)
            continue
        match = _NAME.match(lowered)
        if match is None or match["fact"] == "policy":
            continue
        advice = found.setdefault(match["kind"] or match["after"] or REQUESTS, Advice())
        if match["fact"] == "reset":
            advice.reset = _seconds(value, now)
        else:
            _read_amount(advice, match["fact"], value)
    return {kind: advice for kind, advice in found.items() if advice.limit is not None or advice.remaining is not None}


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
