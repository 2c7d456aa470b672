"""Failures that a server reports inside a response whose status is 200."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_bench_http.server_words import server_words

FAILED_FINISH_REASONS = frozenset(
    {"error", "failed", "abort", "aborted", "network_error", "insufficient_system_resource"}
)
"""Finish reasons by which a server says that it could not complete the reply: those of OpenRouter, vLLM, SGLang, Zhipu, DeepSeek."""

_REPEATED_STATUSES = (401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504)
_CODE_NAMES = ("code", "type", "status", "status_code", "error_code")
_WORD_NAMES = ("msg", "detail", "error_msg", "errmsg", "error_message", "status_msg", "errors")
_MINIMAX_STATUSES = {
    1001: 504,
    1002: 429,
    1004: 401,
    1008: 402,
    1013: 500,
    1026: 422,
    1039: 429,
    2013: 400,
    2049: 401,
}
"""HTTP statuses by the ``status_code`` of a ``base_resp``."""

_MAY_PASS = re.compile(
    r"\bbusy\b|overload|try (it )?again|later\b|temporar|time[ds]? ?-?out|unavailable|rate.?limit|too many requests|"
    r"capacity|disconnected|crashed|unexpectedly|upstream|interrupted|aborted|loading",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ReportedFailure:
    """A failure inside a response whose status is 200.

    Attributes:
        words: What the server said, in one line.
        codes: The error codes beside them.
        status: The HTTP status that the codes mean; None when they mean none.
    """

    words: str
    codes: frozenset[str]
    status: int | None

    @property
    def may_pass(self) -> bool:
        """Whether the words name a failure that may be gone when the request is repeated."""
        is_of_server = self.status is None or self.status >= 500
        return is_of_server and bool(_MAY_PASS.search(self.words))


def reported_failure(
    content: Mapping[str, Any], choice: Mapping[str, Any], has_reply: bool
) -> ReportedFailure | None:
    """Return the failure that a body reports; None when it reports none.

    Args:
        content: The body.
        choice: What holds the reply: the first choice, or the message; empty when there is none.
        has_reply: Whether that is a text or a tool call.
    """
    finish_reason = choice.get("finish_reason") or choice.get("stop_reason")
    has_failed = isinstance(finish_reason, str) and finish_reason in FAILED_FINISH_REASONS
    error = choice.get("error") or content.get("error")
    if choice.get("error") or (error and (has_failed or not has_reply)):
        return _failure(error)
    if has_failed:
        words = f"the model server stopped with {finish_reason!r}, upstream"
        return ReportedFailure(words, frozenset(), None)
    return None if choice else _failure_without_reply(content)


def _failure_without_reply(content: Mapping[str, Any]) -> ReportedFailure | None:
    """Return the failure in a body that has words in place of a reply."""
    base_response = content.get("base_resp")
    if isinstance(base_response, Mapping):
        code = base_response.get("status_code")
        words = server_words({"error": {"message": base_response.get("status_msg")}}, b"")
        status = _MINIMAX_STATUSES.get(code, 500) if isinstance(code, int) else 500
        return ReportedFailure(words, frozenset({str(code)}), status) if code else None
    has_words = isinstance(content.get("message"), str) or any(map(content.get, _WORD_NAMES))
    return _failure(content) if has_words else None


def error_codes(content: Any) -> frozenset[str]:
    """Return the error codes in a body or in its ``error``."""
    error = content.get("error", content) if isinstance(content, Mapping) else content
    if not isinstance(error, Mapping):
        return frozenset()
    return frozenset(
        str(error[name])
        for name in _CODE_NAMES
        if isinstance(error.get(name), str | int) and not isinstance(error[name], bool)
    )


def _failure(error: Any) -> ReportedFailure:
    words = server_words(_with_message(error), b"")
    codes = error_codes({"error": error})
    statuses = sorted(filter(None, map(_status_of, codes)))
    return ReportedFailure(words, codes, statuses[0] if statuses else None)


def _status_of(code: str) -> int | None:
    """Return the HTTP status of a code such as ``503``, or ``50301``, as Chinese providers number their errors."""
    if not re.fullmatch("[45][0-9]{2}([0-9]{2})?", code):
        return None
    status = int(code[:3])
    return status if len(code) == 3 or status in _REPEATED_STATUSES else status // 100 * 100


def _with_message(error: Any) -> Any:
    """Return an error with its words under ``message``."""
    if not isinstance(error, Mapping) or error.get("message"):
        return {"error": error}
    words = next((error[name] for name in _WORD_NAMES if error.get(name)), None)
    return {"error": {**error, "message": words} if words is not None else error}
