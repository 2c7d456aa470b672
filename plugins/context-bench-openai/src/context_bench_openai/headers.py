"""Which response headers are recorded, and which of them declare a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from context_bench_openai.endpoint import names_a_secret

DEFAULT_FAILURE_HEADERS = ("x-headroom-compression-failed=true",)
_RECORDED = re.compile(
    r"x-.*|server-timing|(.*-)?ratelimit(-.*)?|retry-after|openai-(model|version|processing-ms)|age|via|cf-cache-status"
)
_LONGEST_VALUE = 1024
_MOST_HEADERS = 64


def recorded_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a proxy or gateway added about its work, names in lower case.

    Recorded are ``x-*``, ``server-timing``, rate limits and the like. Cookies and everything whose name sounds like a
    credential stay out.

    >>> recorded_headers({"X-Kompact-Tokens-Saved": "29", "Set-Cookie": "a=b", "X-Api-Key": "sk"})
    {'x-kompact-tokens-saved': '29'}
    """
    named = ((name.lower(), value[:_LONGEST_VALUE]) for name, value in headers.items())
    safe = [(name, value) for name, value in named if _RECORDED.fullmatch(name) and not names_a_secret(name)]
    return dict(sorted(safe)[:_MOST_HEADERS])


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
