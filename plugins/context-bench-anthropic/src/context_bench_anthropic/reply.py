"""What a message said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from context_bench_anthropic.refusals import error_of
from context_bench_anthropic.usage import read_usage
from context_bench_http import UnusableReplyError


@dataclass(frozen=True)
class MessageReply:
    """One reply of the Messages API.

    Attributes:
        text: What the model said; empty when it only called tools or said nothing, never None.
        usage: Token counts that the server reported, see `context_bench_anthropic.usage`.
        usage_problem: Why a count that the server reported is unknown; None when none is.
        finish_reason: The ``stop_reason``.
        headers: Recorded response headers, names in lower case.
        latency: Seconds from sending the successful request to its last byte.
        ttft: Seconds to the first token, known only when streaming.
        model: The model that answered, as the server names it.
        tool_calls: ``{"id", "name", "arguments"}`` of each call; the arguments are JSON text.
        refusal: The model's words when it stopped because it refused; `text` holds them too.
        reasoning: The text of the thinking blocks, where there are any.
    """

    text: str
    usage: Mapping[str, int] = field(default_factory=dict)
    usage_problem: str | None = None
    finish_reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    ttft: float | None = None
    model: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    refusal: str | None = None
    reasoning: str | None = None


def read_reply(where: str, body: Any, **received: Any) -> MessageReply:
    """Return the reply that a body is.

    Args:
        where: The endpoint, without secrets.
        body: The content of the body.
        received: What is known besides: ``headers``, ``latency``, ``ttft``.

    Raises:
        EndpointError: The body is an error, or no message.
    """
    return MessageReply(**read_message(where, body), **received)


def read_message(where: str, body: Any) -> dict[str, Any]:
    """Return the fields of a `MessageReply` that a body holds.

    Raises:
        EndpointError: The body is an error, or no message.
    """
    if not isinstance(body, Mapping):
        raise UnusableReplyError(
            f"{where} answered with {type(body).__name__} instead of a message.", status=200
        )
    error = error_of(where, body)
    if error is not None:
        raise error
    content = body.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        lack = (
            "a message whose content is null"
            if "content" in body and content is None
            else "no content"
        )
        if "choices" in body:
            lack = "a chat completion: it is an OpenAI-compatible endpoint, to be asked with --system openai"
        raise UnusableReplyError(
            f"{where} answered with {lack}; there is no reply to score.", status=200
        )
    blocks = [block for block in content if isinstance(block, Mapping)]
    text = "".join(_texts(blocks, "text", "text"))
    reason = body.get("stop_reason")
    tool_calls = tuple(_tool_call(block) for block in blocks if block.get("type") == "tool_use")
    usage = read_usage(body.get("usage"), has_text=bool(text or tool_calls))
    return {
        "text": text,
        "refusal": (text or "the model refused to answer") if reason == "refusal" else None,
        "reasoning": "".join(_texts(blocks, "thinking", "thinking")) or None,
        "tool_calls": tool_calls,
        "finish_reason": reason,
        "model": body.get("model"),
        "usage": usage.counts,
        "usage_problem": usage.problem,
    }


def output_of(reply: MessageReply) -> dict[str, Any]:
    """Return the output row of a reply; what the server did not send is not in it, except ``usage``."""
    output: dict[str, Any] = {
        "response": reply.text,
        "usage": dict(reply.usage),
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "headers": dict(reply.headers),
        "latency": reply.latency,
    }
    present = {
        "usage_problem": reply.usage_problem,
        "ttft": reply.ttft,
        "refusal": reply.refusal,
        "reasoning": reply.reasoning,
    }
    output.update((name, value) for name, value in present.items() if value is not None)
    if reply.tool_calls:
        output["tool_calls"] = [dict(call) for call in reply.tool_calls]
    return output


def _texts(blocks: list[Mapping[str, Any]], kind: str, name: str) -> list[str]:
    return [
        block[name]
        for block in blocks
        if block.get("type") == kind and isinstance(block.get(name), str)
    ]


def _tool_call(block: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = json.dumps(block.get("input"), ensure_ascii=False)
    return {"id": block.get("id"), "name": block.get("name"), "arguments": arguments}
