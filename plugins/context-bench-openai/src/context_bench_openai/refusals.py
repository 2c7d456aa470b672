"""Error answers, turned into one line that keeps the server's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from context_bench_openai.errors import (
    ContextTooLongError,
    CredentialsRefusedError,
    EndpointError,
    RateLimitedError,
    RequestRefusedError,
    ServerFailedError,
)
from context_bench_openai.retrying import wait_asked_for

_LONGEST_WORDS = 600
_RETRYABLE_CLIENT_STATUSES = {408, 425, 429}
_NEVER_IMPLEMENTED = {501, 505}
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (length|size|window)|"
    r"(prompt|input|request) (is )?too (long|large)|too many (input )?tokens|exceeds? the (available )?context|"
    r"model_max_prompt_tokens|reduce the length",
    re.IGNORECASE,
)
_SPENT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits"}
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
    content = _parsed(body)
    words, codes = server_words(content, body)
    message = f"{where} answered {status} {_phrase(status)}".rstrip() + (f": {words}" if words else ".")
    too_long = 400 <= status < 500 and status not in (401, 403, 404, 429) and _says_too_long(words, codes)
    if status in _HINTS:
        message = f"{message.rstrip('.')}. {_HINTS[status]}"
    return _kind(status, too_long)(
        message,
        status=status,
        retryable=not too_long and _is_worth_another_try(status, headers, codes),
        retry_after=wait_asked_for(headers),
    )


def error_in_success(where: str, content: Mapping[str, Any]) -> EndpointError | None:
    """Return the error that a body holds although its status was 200, or None.

    Gateways that have already begun an answer report the upstream's failure in this way, its status as ``error.code``.
    """
    error = content.get("error")
    if not error or content.get("choices"):
        return None
    words, codes = server_words(content, b"")
    code = str(error.get("code", error.get("status"))) if isinstance(error, Mapping) else ""
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else None
    too_long = _says_too_long(words, codes)
    return _kind(status or 500, too_long)(
        f"{where} answered with an error: {words or 'no reason given'}",
        status=status,
        retryable=not too_long and status is not None and _is_worth_another_try(status, {}, codes),
    )


def server_words(content: Any, body: bytes) -> tuple[str, set[str]]:
    """Return what the server said in one line, and the error codes in it."""
    error = content.get("error", content) if isinstance(content, Mapping) else content
    if isinstance(error, Mapping):
        codes = {str(error[name]) for name in ("code", "type", "status") if error.get(name) is not None}
        said = next((error[name] for name in ("message", "detail", "error", "msg", "title") if error.get(name)), None)
        return _one_line(said if isinstance(said, str) else json.dumps(said or error, ensure_ascii=False)), codes
    if isinstance(error, str):
        return _one_line(error), set()
    return _one_line(_visible_text(body.decode("utf-8", "replace"))), set()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _kind(status: int, too_long: bool) -> type[EndpointError]:
    if too_long:
        return ContextTooLongError
    if status in (401, 403):
        return CredentialsRefusedError
    if status == 429:
        return RateLimitedError
    return ServerFailedError if status >= 500 else RequestRefusedError


def _is_worth_another_try(status: int, headers: Mapping[str, str], codes: set[str]) -> bool:
    if codes & _SPENT:
        return False
    told = headers.get("x-should-retry", "").strip().lower()
    if told in ("true", "false"):
        return told == "true"
    return (status >= 500 and status not in _NEVER_IMPLEMENTED) or status in _RETRYABLE_CLIENT_STATUSES


def _says_too_long(words: str, codes: set[str]) -> bool:
    return any(_TOO_LONG.search(text) for text in (words, *codes))


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


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 8 * _LONGEST_WORDS]).split())
    return line if len(line) <= _LONGEST_WORDS else line[: _LONGEST_WORDS - 1] + "…"
