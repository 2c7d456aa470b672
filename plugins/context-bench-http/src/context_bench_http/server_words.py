"""What a server said about a failure, in one line; and which error its status means."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from context_bench_http.errors import (
    ContextTooLongError,
    CredentialsRefusedError,
    EndpointError,
    RateLimitedError,
    RequestRefusedError,
    ServerFailedError,
)

_LONGEST_WORDS = 600
_LONGEST_PAGE = 32_768  # of a page of megabytes the beginning says what it is
_SAYINGS = ("message", "detail", "error", "msg", "title")


def server_words(content: Any, body: bytes) -> str:
    """Return what the server said in one line.

    Args:
        content: The body as JSON, or None when it is none.
        body: The body.
    """
    error = content.get("error", content) if isinstance(content, Mapping) else content
    if isinstance(error, Mapping):
        words = next((error[name] for name in _SAYINGS if error.get(name)), None)
        if isinstance(words, str):
            return one_line(words)
        return one_line(json.dumps(words or error, ensure_ascii=False))
    if isinstance(error, str):
        return one_line(error)
    return one_line(_visible_text(body[:_LONGEST_PAGE].decode("utf-8", "replace")))


def refusal_line(
    where: str, status: int, words: str, hints: Mapping[int, str], phrases: Mapping[int, str]
) -> str:
    """Return the message for a response that is no success.

    Args:
        where: The endpoint, without secrets.
        status: The HTTP status.
        words: What the server said.
        hints: What to do about a status.
        phrases: Names of statuses that HTTP itself does not name.
    """
    message = f"{where} answered {status} {phrases.get(status, _phrase(status))}".rstrip()
    return with_hint(message + (f": {words}" if words else "."), status, hints)


def with_hint(message: str, status: int, hints: Mapping[int, str]) -> str:
    """Return a message with what to do about its status behind it."""
    return f"{message.rstrip('.')}. {hints[status]}" if status in hints else message


def error_class(status: int, is_too_long: bool) -> type[EndpointError]:
    """Return the kind of error that a status means."""
    if is_too_long:
        return ContextTooLongError
    if status in (401, 403):
        return CredentialsRefusedError
    if status == 429:
        return RateLimitedError
    return ServerFailedError if status >= 500 else RequestRefusedError


def parsed(body: bytes) -> Any:
    """Return a body as JSON, or None when it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def one_line(text: str) -> str:
    """Return the beginning of a text in one printable line."""
    line = " ".join(
        "".join(c if c.isprintable() else " " for c in text[: 8 * _LONGEST_WORDS]).split()
    )
    return line if len(line) <= _LONGEST_WORDS else line[: _LONGEST_WORDS - 1] + "…"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _visible_text(text: str) -> str:
    if "<" not in text:
        return text
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    return title.group(1) if title else re.sub(r"<[^>]*>", " ", text)
