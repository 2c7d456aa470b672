"""Headers: what is sent, what is recorded, what declares a failure, and what must not be shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from context_bench_openai import Endpoint

KEY_VARIABLE = "ANTHROPIC_API_KEY"
DEFAULT_FAILURE_HEADERS = ("x-headroom-compression-failed=true",)
_RECORDED = re.compile(
    r"x-.*|server-timing|(.*-)?ratelimit(-.*)?|retry-after|request-id|age|via|cf-cache-status", re.IGNORECASE
)
_SECRET_NAME = re.compile(
    r"auth|key|token(?!s)|secret|passw|credential|cookie|session|signature|organization", re.IGNORECASE
)
_LONGEST_VALUE, _MOST_HEADERS, _SHORTEST_SECRET = 1024, 64, 4


def names_a_secret(name: str) -> bool:
    """Tell whether a header of this name usually holds a credential.

    >>> names_a_secret("x-api-key"), names_a_secret("anthropic-ratelimit-input-tokens-limit")
    (True, False)
    """
    return bool(_SECRET_NAME.search(name))


def recorded_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that tell of a proxy's or gateway's work, names in lower case."""
    named = ((name.lower(), value[:_LONGEST_VALUE]) for name, value in headers.items())
    return dict(
        sorted(pair for pair in named if _RECORDED.fullmatch(pair[0]) and not names_a_secret(pair[0]))[:_MOST_HEADERS]
    )


def header_mapping(headers: Mapping[str, str] | Iterable[str] | None) -> dict[str, str]:
    """Return headers that are given as a mapping or as ``name: value`` lines as a mapping, names in lower case.

    Raises:
        ValueError: A header lacks its name or its value, or HTTP cannot carry it.
    """
    if headers is None:
        return {}
    if isinstance(headers, str):
        headers = [headers]
    pairs = headers.items() if isinstance(headers, Mapping) else (line.partition(":")[::2] for line in headers)
    mapping = {str(name).strip().lower(): str(value).strip() for name, value in pairs}
    for name, value in mapping.items():
        if not name or not value:
            raise ValueError(f"A request header is written 'name: value'; one named {name!r} lacks a half.")
        _check(f"The header {name!r}", value)
    return mapping


def request_headers(
    endpoint: Endpoint, api_key: str | None, version: str, extra: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the headers of every request, and the secrets among them.

    Raises:
        ValueError: The key or the version cannot stand in a header.
    """
    key = (os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key).strip()
    _check("The API key", key)
    _check("anthropic_version", version)
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "user-agent": "context-bench-anthropic/1.0",
        "anthropic-version": version,
    }
    if key:
        headers["x-api-key"] = key
    if endpoint.authorization:
        headers["authorization"] = endpoint.authorization
    headers.update(extra)
    secrets = [key, *endpoint.secrets, *(value for name, value in extra.items() if names_a_secret(name))]
    return headers, sorted((secret for secret in secrets if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return a text that somebody else wrote without the secrets: servers like to repeat the key that they refuse."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


class FailureHeaders:
    """Response headers by which a proxy admits that it did not do its work, each ``name=value`` or ``name``.

    >>> FailureHeaders(["x-headroom-compression-failed=true"]).found_in({"x-headroom-compression-failed": "True"})
    'x-headroom-compression-failed: True'
    """

    def __init__(self, rules: Iterable[str]) -> None:
        self._rules = sorted(_rule(text) for text in ([rules] if isinstance(rules, str) else rules))

    @property
    def rules(self) -> list[str]:
        """The rules in their written form."""
        return [f"{name}={value}" if value else name for name, value in self._rules]

    def found_in(self, headers: Mapping[str, str]) -> str | None:
        """Return the first header that declares a failure, as ``name: value``, or None."""
        for name, value in self._rules:
            present = headers.get(name)
            if present is not None and (not value or present.strip().lower() == value):
                return f"{name}: {present.strip()}"
        return None


def _rule(text: str) -> tuple[str, str]:
    name, _, value = re.sub(r"\s*[:=]\s*", "=", text.strip(), count=1).partition("=")
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise ValueError(f"A failure header is 'name' or 'name=value', not {text!r}.")
    return name.lower(), value.strip().lower()


def _check(what: str, value: str) -> None:
    if not value.isascii() or not value.isprintable():
        raise ValueError(f"{what} holds a character that an HTTP header cannot carry. Was it copied with a line break?")
