"""Which response headers are recorded, and which of them declare a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from context_bench_http.endpoint import names_a_secret

DEFAULT_FAILURE_HEADERS = ("x-headroom-compression-failed=true",)
_FRAMING = re.compile(
    r"content-.*|transfer-encoding|connection|keep-alive|proxy-connection|upgrade|trailer|te|date|vary|expires|pragma|"
    r"last-modified|accept-ranges|allow|location|access-control-.*|strict-transport-security|alt-svc|nel|report-to|"
    r"reporting-endpoints|referrer-policy|permissions-policy|cross-origin-.*|x-content-type-options|x-frame-options|"
    r"x-xss-protection|www-authenticate|proxy-authenticate|.*organization.*"
)
_LONGEST_VALUE = 1024
_MOST_HEADERS = 64


def recorded_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that server, proxy and gateway added about their work, names in lower case.

    Recorded is all but what every HTTP response has (lengths, types, dates, policies for browsers), cookies, the account's
    organization, and whatever has a name that sounds like a credential. The date stays where limits are told: a moment at which
    all is there again is measured against it.

    >>> recorded_headers({"X-Kompact-Tokens-Saved": "29", "Set-Cookie": "a=b", "X-Api-Key": "sk"})
    {'x-kompact-tokens-saved': '29'}
    """
    safe = [
        (name.lower(), value[:_LONGEST_VALUE])
        for name, value in headers.items()
        if _is_recorded(name.lower())
    ]
    if any("ratelimit" in name for name, _ in safe):
        safe += [
            ("date", value[:_LONGEST_VALUE])
            for name, value in headers.items()
            if name.lower() == "date"
        ]
    return dict(sorted(safe)[:_MOST_HEADERS])


@lru_cache(maxsize=1024)
def _is_recorded(name: str) -> bool:
    return not _FRAMING.fullmatch(name) and not names_a_secret(name)


class FailureHeaders:
    """Response headers by which a proxy admits that it passed a request through without doing its work.

    Each rule is ``name=value`` (the value is compared without regard to case) or ``name`` alone (any value).

    >>> FailureHeaders(["x-headroom-compression-failed=true"]).found_in({"x-headroom-compression-failed": "True"})
    'x-headroom-compression-failed: True'
    """

    def __init__(self, rules: Iterable[str]) -> None:
        if isinstance(rules, str):
            rules = [rules]
        self._rules = [_rule(text) for text in rules]

    @property
    def rules(self) -> list[str]:
        """The rules in their written form."""
        return sorted(name if value is None else f"{name}={value}" for name, value in self._rules)

    def found_in(self, headers: Mapping[str, str]) -> str | None:
        """Return the first header that declares a failure, as ``name: value``, or None."""
        for name, value in self._rules:
            present = headers.get(name)
            if present is not None and (value is None or present.strip().lower() == value):
                return f"{name}: {present.strip()}"
        return None


def _rule(text: str) -> tuple[str, str | None]:
    name, separator, value = re.sub(r"\s*[:=]\s*", "=", text.strip(), count=1).partition("=")
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise ValueError(f"A failure header is 'name' or 'name=value', not {text!r}.")
    return name.lower(), value.strip().lower() if separator else None
