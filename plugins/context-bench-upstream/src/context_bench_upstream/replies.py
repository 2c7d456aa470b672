"""Canned replies in three interfaces, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_ENDS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}


def dialect_of(path: str) -> str | None:
    """Return which interface a path belongs to.

    >>> dialect_of("/v1/chat/completions")
    'chat'
    """
    return next((dialect for end, dialect in _ENDS.items() if path.rstrip("/").endswith(end)), None)


def canned(dialect: str, body: Mapping[str, Any], text: str) -> tuple[int, str, bytes]:
    """Return status, content type and body of a reply that says ``text``, streamed when the request asks for it."""
    model = str(body.get("model") or "recording-upstream")
    whole, events = {"chat": _chat, "responses": _responses, "messages": _messages}[dialect](model, text)
    if not body.get("stream"):
        return 200, "application/json", json.dumps(whole).encode()
    lines = "".join(
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    )
    return 200, "text/event-stream", (lines + ("data: [DONE]\n\n" if dialect == "chat" else "")).encode()


Made = tuple[dict[str, Any], Sequence[dict[str, Any]]]


def _chat(model: str, text: str) -> Made:
    base = {"id": "chatcmpl-recorded", "created": 0, "model": model}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    chunk = {**base, "object": "chat.completion.chunk"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    return {**base, "object": "chat.completion", "choices": [choice]}, events


def _responses(model: str, text: str) -> Made:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": "msg_recorded", "role": "assistant", "status": "completed", "content": content}
    whole = {
        "id": "resp_recorded",
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": "completed",
        "output": [item],
    }
    delta = {
        "type": "response.output_text.delta",
        "item_id": "msg_recorded",
        "output_index": 0,
        "content_index": 0,
        "delta": text,
    }
    return whole, [
        {"type": "response.created", "response": whole},
        delta,
        {"type": "response.completed", "response": whole},
    ]


def _messages(model: str, text: str) -> Made:
    base = {"id": "msg_recorded", "type": "message", "role": "assistant", "model": model}
    block = {"type": "text", "text": text}
    usage = {"input_tokens": 0, "output_tokens": 0}
    whole = {**base, "content": [block], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    start: dict[str, Any] = {**base, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 0},
        },
        {"type": "message_stop"},
    ]
    return whole, events
