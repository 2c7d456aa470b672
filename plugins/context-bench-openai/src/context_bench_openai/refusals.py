"""Error answers, turned into one line that keeps the server's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench_http.errors import EndpointError
from context_bench_http.retrying import wait_asked_for
from context_bench_http.server_words import error_class, parsed, refusal_line, server_words
from context_bench_http.upstream_failures import error_codes, reported_failure

_RETRYABLE_CLIENT_STATUSES = {408, 425, 429}
_NEVER_IMPLEMENTED = {501, 505}
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (length|size|window)|"
    r"(prompt|input|request) (is )?too (long|large)|too many (input )?tokens|exceeds? the (available )?context|"
    r"model_max_prompt_tokens|reduce the length",
    re.IGNORECASE,
)
_STATUSES = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "rate_limited": 429,
    "too_many_requests": 429,
    "requests": 429,
    "tokens": 429,
    "resource_exhausted": 429,
    "insufficient_quota": 429,
    "overloaded_error": 503,
    "overloaded": 503,
    "service_unavailable": 503,
    "service_unavailable_error": 503,
    "unavailable": 503,
    "server_error": 500,
    "internal_server_error": 500,
    "internal_error": 500,
    "api_error": 500,
    "timeout": 504,
    "timeout_error": 504,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
}
"""Statuses by the names that servers give to errors, in their ``code``, ``type`` or ``status``."""

_SPENT = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_credits",
}
_HINTS: Mapping[int, str] = {
    401: "Set OPENAI_API_KEY or pass api_key.",
    403: "Is the key allowed to use this model?",
    404: "Is the base URL right, and does the server have this model?",
    405: "Is this an OpenAI-compatible chat endpoint?",
}


def refusal(where: str, status: int, headers: Mapping[str, str], body: bytes) -> EndpointError:
    """Return the error for a response that is no success.

    Args:
        where: The endpoint, without secrets.
        status: The HTTP status.
        headers: The response headers, names in lower case.
        body: The response body.
    """
    content = parsed(body)
    words, codes = server_words(content, body), error_codes(content)
    too_long = (
        400 <= status < 500 and status not in (401, 403, 404, 429) and _says_too_long(words, codes)
    )
    return error_class(status, too_long)(
        refusal_line(where, status, words, _HINTS, {}),
        status=status,
        retryable=not too_long and _is_worth_another_try(status, headers, codes),
        retry_after=wait_asked_for(headers),
    )


def error_in_success(
    where: str, content: Mapping[str, Any], choice: Mapping[str, Any], has_reply: bool
) -> EndpointError | None:
    """Return the error that a body holds although its status was 200, or None.

    Gateways that have already begun a reply report the upstream's failure in this way: with its status as a code, by its
    name, or in words alone.

    Args:
        where: The endpoint, without secrets.
        content: The body.
        choice: The first choice; empty when there is none.
        has_reply: Whether the choice holds a text or a tool call.
    """
    failure = reported_failure(content, choice, has_reply)
    if failure is None:
        return None
    named = [_STATUSES[code.lower()] for code in failure.codes if code.lower() in _STATUSES]
    status = next(iter([failure.status, *sorted(named)] if failure.status else sorted(named)), None)
    too_long = _says_too_long(failure.words, failure.codes)
    may_pass = failure.may_pass
    if status is not None:
        may_pass = may_pass or _is_worth_another_try(status, {}, failure.codes)
    return error_class(status or 500, too_long)(
        f"{where} answered with an error: {failure.words or 'no reason given'}",
        status=status,
        retryable=may_pass and not too_long,
    )


def _is_worth_another_try(status: int, headers: Mapping[str, str], codes: frozenset[str]) -> bool:
    if codes & _SPENT:
        return False
    told = headers.get("x-should-retry", "").strip().lower()
    if told in ("true", "false"):
        return told == "true"
    return (
        status >= 500 and status not in _NEVER_IMPLEMENTED
    ) or status in _RETRYABLE_CLIENT_STATUSES


def _says_too_long(words: str, codes: frozenset[str]) -> bool:
    return any(_TOO_LONG.search(text) for text in (words, *codes))
