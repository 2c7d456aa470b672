"""Redaction: what may name a person or open a door is taken out of sessions, and counted.

Keys and tokens by the forms that their issuers publish, values of variables and fields that are called secret, e-mail addresses,
and the names of home folders. The same text always gets the same mark, so that a literal which comes twice still does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf]))"
"""The beginning of a word, also behind an escape of JSON: in ``\nAKIA...`` no letter n belongs to the key."""

_NAME_START = r"(?<![\w-])"  # looked through from its beginning, and not again from each word in it
_SECRET_NAME = r"(?=[\w-]*(?:api[_-]?key|secret|token(?!s)|passwd|password|access[_-]?key|authorization))[\w-]+"
_TO_VALUE = r"(?:\\*[\"'])?\s*[:=]\s*(?:\\*[\"'])?"

_VALUE = r"[A-Za-z0-9._~+/@%$!*#^=-]"
_WORD = rf"({_VALUE}{{4,7}})(?!{_VALUE}|\w|\s*[(\[{{])"
"""A short value: a whole word, and neither a call nor the beginning of a table."""

_NO_WORD = r"(?!(?i:true|false|none|null|str|string|bytes|text|bearer|basic|digest|token|secret|passwd|value)\b)"
_WHOLE_NAME = (
    _NAME_START
    + r"[\w-]*(?:api[_-]?key|secret|token|passwd|password|access[_-]?key|authorization)\d?"
)
_LETTERS = rf"(?={_VALUE}*[0-9])(?={_VALUE}*[A-Za-z])"
_QUOTED = r"(?:\\*[\"'])?\s*[:=]\s*\\*[\"']"

_PRIVATE_KEY = r"[A-Z ]*PRIVATE KEY(?: BLOCK)?-----"

_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        "private key",
        rf"-----BEGIN {_PRIVATE_KEY}(?:[^\"\\]|\\[^\"])*?(?:-----END {_PRIVATE_KEY}|(?=\\*\")|\Z)",
    ),
    ("key", _START + r"(?:sk|pk|rk)-(?:ant-|proj-|live_|test_)?[A-Za-z0-9_-]{16,}"),
    ("key", _START + r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("key", _START + r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}\b"),
    ("key", _START + r"AIza[0-9A-Za-z_-]{35}"),
    ("token", _START + r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("token", _START + r"github_pat_[A-Za-z0-9_]{20,}"),
    ("token", _START + r"glpat-[A-Za-z0-9_-]{16,}"),
    ("token", _START + r"(?:hf|npm)_[A-Za-z0-9]{20,}"),
    ("token", _START + r"pypi-[A-Za-z0-9_-]{16,}"),
    ("token", _START + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
    ("token", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]+)"),
    ("token", _START + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("token", r"(?i:\bbearer\s+)([A-Za-z0-9._~+/=-]{16,})"),
    (
        "token",
        rf"(?i:authorization{_TO_VALUE}(?:bearer|basic|digest|token)\s+)([A-Za-z0-9._~+/=:-]+)",
    ),
    ("password", r"(?<=://)[^\s/:@\"'\\]*:([^\s/@\"'\\]+)(?=@)"),
    ("secret", rf"(?i:{_NAME_START}{_SECRET_NAME}{_TO_VALUE})({_VALUE}{{8,}})"),
    ("secret", rf"(?i:{_WHOLE_NAME}(?:{_QUOTED}|=(?=\S))){_NO_WORD}{_WORD}"),
    ("secret", rf"(?i:{_WHOLE_NAME}\s*[:=]\s*){_LETTERS}{_NO_WORD}{_WORD}"),
    (
        "secret",
        rf"(?i:{_NAME_START}[\w-]*(?:passwd|password)\d?\s*[:=]\s*)(?={_VALUE}*[0-9]){_WORD}",
    ),
    (
        "e-mail address",
        r"(?:(?<![\w.%+\\-])|(?<=\\[nrtbf])|(?<=\\)(?![nrtbfu])|(?<=\\u[0-9a-fA-F]{4}))"
        r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}\b",
    ),
    ("home folder", r"[A-Za-z]:\\+Users\\+([^\\/:*?\"<>|\r\n]{1,64})(?=\\)"),
    ("home folder", r"(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)([^\s\\/\"'<>:|*?,;()\[\]{}`$]+)"),
    ("home folder", r"(?<=[/\\])-(?:home|Users)-([A-Za-z0-9._]+)(?=-)"),
)

_IS_SECRET = re.compile(_SECRET_NAME, re.IGNORECASE)
_SHORTEST = 4
"""Letters of the shortest value of a field called secret that is taken for one."""

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:\s*)?')

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
        """Return a text without what was found in it; of JSON only strings change, so that it stays JSON."""
        if is_json(text):
            return self._document(text)
        for name, pattern in _COMPILED:
            text = pattern.sub(self._replacing(name), text)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON-like value with every text in it redacted, names of fields too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.value(key): self._field(key, one) if isinstance(one, str) else self.value(one)
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return value

    def report(self) -> str:
        """Return what was taken out as a line."""
        told = ", ".join(f"{count} x {name}" for name, count in sorted(self.counts.items()))
        what = (
            f"{told} (different ones; each was taken out wherever it stood)"
            if told
            else "nothing was found"
        )
        return f"Redacted: {what}."

    def _field(self, name: object, text: str) -> str:
        """Return the value of a field; one that is called secret goes whole, whatever it looks like."""
        found = self.text(text)
        if (
            found == text
            and len(text) >= _SHORTEST
            and isinstance(name, str)
            and _IS_SECRET.fullmatch(name)
        ):
            return self._mark("secret", text)
        return found

    def _document(self, text: str) -> str:
        """Return a JSON text with its strings redacted one by one; the rest stays as it is, byte for byte."""
        name, value_at = "", -1

        def replace(found: re.Match[str]) -> str:
            nonlocal name, value_at
            told, colon = json.loads(found[1]), found[2]
            new = (
                self._field(name, told)
                if found.start() == value_at and colon is None
                else self.text(told)
            )
            if colon is not None:
                name, value_at = told, found.end()
            return (
                found[0]
                if new == told
                else json.dumps(new, ensure_ascii=found[1].isascii()) + (colon or "")
            )

        return _STRING.sub(replace, text)

    def _mark(self, name: str, secret: str) -> str:
        mark = self._marks.get((name, secret))
        if mark is None:
            self.counts[name] += 1
            mark = self._marks[name, secret] = f"[{name.replace(' ', '-')}-{len(self._marks) + 1}]"
        return mark

    def _replacing(self, name: str) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            place = found.lastindex or 0
            secret = found[place]
            if secret.startswith("[") or secret in ("Shared", "Public"):
                return found[0]
            mark = self._mark(name, secret)
            start, end = found.span(place)
            return found[0][: start - found.start()] + mark + found[0][end - found.start() :]

        return replace


def is_json(text: str) -> bool:
    """Whether a text is an object or an array of JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
