"""Error answers of the Messages API, turned into one line that keeps the server's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench_http.errors import EndpointError
from context_bench_http.retrying import wait_asked_for
from context_bench_http.server_words import (
    error_class,
    parsed,
    refusal_line,
    server_words,
    with_hint,
)
from context_bench_http.upstream_failures import reported_failure

OVERLOADED = 529
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
    words = server_words(parsed(body), body)
    said = refusal_line(where, status, words, _HINTS, {OVERLOADED: "Overloaded"})
    return _error(said, status, words, headers)


def error_of(where: str, body: Mapping[str, Any]) -> EndpointError | None:
    """Return the error that a body or an event of a stream holds although its status was 200, or None."""
    is_error = body.get("type") == "error"
    may_be_reply = (
        body.get("type") is not None and not is_error
    )  # a message, or an event of a stream
    choice = body if may_be_reply or "choices" in body else {}
    failure = reported_failure(body, choice, has_reply=bool(body.get("content")))
    if failure is None:
        return (
            _error(f"{where} answered with an error: no reason given", 500, "", {})
            if is_error
            else None
        )
    kinds = sorted(failure.codes & _STATUSES.keys())
    status = _STATUSES[kinds[0]] if kinds else failure.status
    message = f"{where} answered with an error: {failure.words or 'no reason given'}"
    error = _error(with_hint(message, status or 500, _HINTS), status or 500, failure.words, {})
    if status is None and not is_error:
        error.retryable = failure.may_pass
    return error


def _error(said: str, status: int, words: str, headers: Mapping[str, str]) -> EndpointError:
    too_long = status == 413 or (status == 400 and bool(_TOO_LONG.search(words)))
    told = headers.get("x-should-retry", "").strip().lower()
    retryable = (
        told == "true" if told in ("true", "false") else status >= 500 or status in (408, 409, 429)
    )
    return error_class(status, too_long)(
        said,
        status=status,
        retryable=retryable and not too_long,
        retry_after=wait_asked_for(headers),
    )
