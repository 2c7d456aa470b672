"""The headers that a user adds to requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from types import MappingProxyType

from context_bench.redaction import is_harmless_header
from context_bench_http.endpoint import names_a_secret

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OF_THE_TRANSPORT = (
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "expect",
    "te",
    "trailer",
)


_ADDED: ContextVar[Mapping[str, str]] = ContextVar("added_headers", default=MappingProxyType({}))


@contextmanager
def adding_headers(headers: Mapping[str, str]) -> Iterator[None]:
    """Add headers to every request that a client of this package sends meanwhile, in this thread or task.

    Args:
        headers: The headers, names in lower case.
    """
    before = _ADDED.set({**_ADDED.get(), **headers})
    try:
        yield
    finally:
        _ADDED.reset(before)


def added_headers() -> Mapping[str, str]:
    """Return the headers of :func:`adding_headers`."""
    return _ADDED.get()


def header_mapping(headers: Mapping[str, str] | Iterable[str] | None) -> dict[str, str]:
    """Return headers that are given as a mapping or as ``name: value`` lines as a mapping, names in lower case.

    >>> header_mapping(["X-Team: red"])
    {'x-team': 'red'}

    Raises:
        ValueError: A header lacks its name or its value, or HTTP cannot carry it.
    """
    if headers is None:
        return {}
    if isinstance(headers, str):
        headers = [line for line in headers.splitlines() if line.strip()]
    pairs = (
        headers.items()
        if isinstance(headers, Mapping)
        else (line.partition(":")[::2] for line in headers)
    )
    mapping = {str(name).strip().lower(): str(value).strip() for name, value in pairs}
    for name, value in mapping.items():
        if not name or not value:
            raise ValueError(
                f"A request header is written 'name: value'; one named {name!r} lacks a half."
            )
        if not _TOKEN.fullmatch(name):
            raise ValueError(
                f"{name!r} is no name of a request header: it holds a character that HTTP does not allow."
            )
        if name in _OF_THE_TRANSPORT:
            raise ValueError(f"The header {name!r} belongs to the connection and cannot be set.")
        check_header_value(f"The header {name!r}", value)
    return mapping


def headers_identity(headers: Mapping[str, str]) -> dict[str, str | None]:
    """Return what a fingerprint holds of the headers that a user adds: two values differ in it, and none can be read.

    A harmless header stands there as it is. One with a name that sounds like a credential does not change an answer. Of any
    other there are 48 bits of a hash, from which a value that can be guessed can be confirmed.

    >>> headers_identity({"x-mode": "hard", "cookie": "a=b", "api-version": "2"})
    {'api-version': '2', 'cookie': None, 'x-mode': 'sha256:ed5465b9220d'}

    Args:
        headers: The headers, names in lower case.
    """
    return {name: _identity_of(name, value) for name, value in sorted(headers.items())}


def _identity_of(name: str, value: str) -> str | None:
    if names_a_secret(name):
        return None
    if is_harmless_header(name):
        return value
    return f"sha256:{sha256(value.encode()).hexdigest()[:12]}"


def check_header_value(what: str, value: str) -> None:
    """Refuse what HTTP cannot carry as the value of a header.

    Raises:
        ValueError: It holds a line break, a control character, or is not ASCII; the message does not repeat it.
    """
    if not value.isascii() or not value.isprintable():
        raise ValueError(
            f"{what} holds a character that an HTTP header cannot carry. Was it copied with a line break?"
        )
