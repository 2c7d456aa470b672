"""Redaction: what may name a person or open a door is taken out of sessions, and counted.

Keys and tokens by the forms that their issuers publish, values of variables and fields that are called secret, e-mail addresses,
and the names of home folders. The same text always gets the same mark, so that a literal which comes twice still does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("key", r"\b(?:sk|pk|rk)-(?:ant-|proj-|live_|test_)?[A-Za-z0-9_-]{16,}"),
    ("key", r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("key", r"\bAKIA[0-9A-Z]{16}\b"),
    ("key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("token", r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    ("token", r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    ("token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    ("token", r"\bhf_[A-Za-z0-9]{20,}"),
    ("token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("token", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("token", r"(?i:\bbearer\s+)([A-Za-z0-9._~+/=-]{16,})"),
    ("password", r"(?<=://)[^\s/:@]+:([^\s/@]+)(?=@)"),
    (
        "secret",
        r"(?i:\b[\w-]*(?:api[_-]?key|secret|token|passwd|password|access[_-]?key|authorization)[\w-]*"
        r"(?:\\?[\"'])?\s*[:=]\s*(?:\\?[\"'])?)([A-Za-z0-9._~+/@%$!-]{8,})",
    ),
    ("e-mail address", r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"),
    ("home folder", r"(?:/home/|/Users/|[A-Za-z]:\\{1,2}Users\\{1,2})([A-Za-z0-9._-]+)"),
)

_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS)


class Redactor:
    """Takes secrets and names out of sessions.

    Attributes:
        counts: How many different ones were taken out, by what they are.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._marks: dict[tuple[str, str], str] = {}

    def text(self, text: str) -> str:
        """Return a text without what was found in it."""
        for name, pattern in _COMPILED:
            text = pattern.sub(self._replacing(name), text)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON-like value with every text in it redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return value

    def report(self) -> str:
        """Return what was taken out as a line."""
        told = ", ".join(f"{count} x {name}" for name, count in sorted(self.counts.items()))
        return f"Redacted: {told}." if told else "Redacted: nothing was found."

    def _replacing(self, name: str) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            place = 1 if found.lastindex else 0
            secret = found[place]
            if secret.startswith("[") or secret in ("Shared", "Public"):
                return found[0]
            mark = self._marks.get((name, secret))
            if mark is None:
                self.counts[name] += 1
                mark = self._marks[name, secret] = f"[{name.replace(' ', '-')}-{len(self._marks) + 1}]"
            start, end = found.span(place)
            return found[0][: start - found.start()] + mark + found[0][end - found.start() :]

        return replace
