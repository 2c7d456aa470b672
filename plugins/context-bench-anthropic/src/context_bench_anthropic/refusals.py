"""Error answers of the Messages API, turned into one line that keeps the server's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from context_bench_anthropic.retrying import wait_asked_for
from context_bench_openai import (
    ContextTooLongError,
    CredentialsRefusedError,
    EndpointError,
    RateLimitedError,
    RequestRefusedError,
    ServerFailedError,
)

OVERLOADED = 529
_LONGEST_WORDS = 600
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": OVERLOADED,
}
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(context|model'?s? context)|context (window|length|limit)|maximum context|"
    r"input is too long|too many (input )?tokens",
    re.IGNORECASE,
)
_HINTS: Mapping[int, str] = {
    401: "Set ANTHROPIC_API_KEY or pass api_key.",
    403: "Is the key allowed to use this model?",
    404: "Is the base URL right, and does the server have this model?",
    405: "Is this an endpoint of the Messages API?",
    OVERLOADED: "The server is overloaded; ask fewer at once, or later.",
}


def refusal(where: str, status: int, headers: Mapping[str, str], body: bytes) -> EndpointError:
    """Return the error for a response that is no success.

    Args:
        where: The endpoint, without secrets.
        status: The HTTP status.
        headers: The response headers, names in lower case.
        body: The response body.
    """
    words, kind = _words(_parsed(body), body)
    said = f"{where} answered {status} {_phrase(status)}".rstrip() + (f": {words}" if words else ".")
    return _error(said, status, kind, words, headers)


def error_of(where: str, body: Mapping[str, Any]) -> EndpointError | None:
    """Return the error that a body or an event of a stream holds although its status was 200, or None."""
    error = body.get("error")
    if not error and body.get("type") != "error":
        return None
    words, kind = _words(body, b"")
    status = _STATUSES.get(kind, 500)
    return _error(f"{where} answered with an error: {words or kind or 'no reason given'}", status, kind, words, {})


def _error(said: str, status: int, kind: str, words: str, headers: Mapping[str, str]) -> EndpointError:
    too_long = status == 413 or (status == 400 and bool(_TOO_LONG.search(words)))
    if status in _HINTS:
        said = f"{said.rstrip('.')}. {_HINTS[status]}"
    told = headers.get("x-should-retry", "").strip().lower()
    retryable = told == "true" if told in ("true", "false") else status >= 500 or status in (408, 409, 429)
    return _class(status, too_long)(
        said, status=status, retryable=retryable and not too_long, retry_after=wait_asked_for(headers)
    )


def _class(status: int, too_long: bool) -> type[EndpointError]:
    if too_long:
        return ContextTooLongError
    if status in (401, 403):
        return CredentialsRefusedError
    if status == 429:
        return RateLimitedError
    return ServerFailedError if status >= 500 else RequestRefusedError


def _words(content: Any, body: bytes) -> tuple[str, str]:
    """Return what the server said in one line, and the type of its error."""
    error = content.get("error", content) if isinstance(content, Mapping) else content
    if isinstance(error, Mapping):
        said = next((error[name] for name in ("message", "detail", "error", "msg", "title") if error.get(name)), None)
        text = said if isinstance(said, str) else json.dumps(said or error, ensure_ascii=False)
        return _one_line(text), str(error.get("type") or "")
    if isinstance(error, str):
        return _one_line(error), ""
    text = body.decode("utf-8", "replace")
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    return _one_line(title.group(1) if title else re.sub(r"<[^>]*>", " ", text)), ""


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _phrase(status: int) -> str:
    if status == OVERLOADED:
        return "Overloaded"
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 8 * _LONGEST_WORDS]).split())
    return line if len(line) <= _LONGEST_WORDS else line[: _LONGEST_WORDS - 1] + "…"
