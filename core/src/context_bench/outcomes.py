"""How a reply of a model ended: answered, cut, filtered, refused or empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CUT = "cut"
"""The reply ends at a token limit, with some text."""

CUT_EMPTY = "cut-empty"
"""The reply ends at a token limit before any text: reasoning used all tokens, for example."""

FILTERED = "filtered"
"""A content filter removed the reply or a part of it."""

REFUSED = "refused"
"""The server marked the reply as a refusal of the model."""

EMPTY = "empty"
"""The reply has neither text nor tool calls, and the server gives no reason."""

OUTCOMES = (CUT, CUT_EMPTY, FILTERED, REFUSED, EMPTY)
"""The outcomes other than a complete answer."""

_BY_FINISH_REASON = {
    "length": CUT,
    "max_tokens": CUT,
    "max_output_tokens": CUT,
    "model_length": CUT,
    "model_context_window_exceeded": CUT,
    "token_limit": CUT,
    "content_filter": FILTERED,
    "content-filter": FILTERED,
    "content_filtered": FILTERED,
    "guardrail_intervened": FILTERED,
    "safety": FILTERED,
    "recitation": FILTERED,
    "blocklist": FILTERED,
    "prohibited_content": FILTERED,
    "spii": FILTERED,
    "sensitive": FILTERED,
    "refusal": REFUSED,
}
"""Outcomes by the finish reasons of common model servers, in lower case."""


def outcome_of_finish(finish_reason: Any) -> str | None:
    """Return the outcome that a finish reason names; None for a reply that ended by itself."""
    return _BY_FINISH_REASON.get(finish_reason.lower()) if isinstance(finish_reason, str) else None


def outcome_of(output: Mapping[str, Any]) -> str | None:
    """Return how the reply in the output of a system ended; None for a complete answer, and for an
    output without a reply.

    >>> outcome_of({"response": "", "finish_reason": "length"}), outcome_of({"response": "Paris"})
    ('cut-empty', None)
    """
    if "response" not in output:
        return None
    response = output["response"]
    is_empty = not output.get("tool_calls") and (
        response is None or (isinstance(response, str) and not response.strip())
    )
    outcome = outcome_of_finish(output.get("finish_reason"))
    if outcome is None:
        if output.get("refusal"):
            return REFUSED
        return EMPTY if is_empty else None
    return CUT_EMPTY if is_empty and outcome == CUT else outcome
