"""Canned replies in three interfaces, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

_ENDS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}


def dialect_of(path: str) -> str | None:
    """Return which interface a path belongs to.

    >>> dialect_of("/v1/chat/completions")
    'chat'
    """
    return next((dialect for end, dialect in _ENDS.items() if path.rstrip("/").endswith(end)), None)


@frozen
class Call:
    """A call of a tool, as a model makes it.

    Attributes:
        id: Names the call.
        name: Name of the tool.
        arguments: What it is given.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]

    @property
    def written(self) -> str:
        """The arguments as JSON."""
        return json.dumps(dict(self.arguments), ensure_ascii=False)


def canned(
    dialect: str, body: Mapping[str, Any], text: str, calls: Sequence[Call] = ()
) -> tuple[int, str, bytes]:
    """Return status, content type and body of a reply, streamed when the request asks for it.

    Args:
        dialect: ``chat``, ``responses`` or ``messages``.
        body: The request.
        text: Text of the reply.
        calls: Its calls of tools; an empty text beside them is left out.
    """
    model = str(body.get("model") or "recording-upstream")
    if calls:
        whole, events = {
            "chat": _chat_calls,
            "responses": _responses_calls,
            "messages": _messages_calls,
        }[dialect](model, text, calls)
    else:
        whole, events = {"chat": _chat, "responses": _responses, "messages": _messages}[dialect](
            model, text
        )
    if not body.get("stream"):
        return 200, "application/json", json.dumps(whole).encode()
    lines = "".join(
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    )
    return (
        200,
        "text/event-stream",
        (lines + ("data: [DONE]\n\n" if dialect == "chat" else "")).encode(),
    )


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
    item = {
        "type": "message",
        "id": "msg_recorded",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
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
    whole = {
        **base,
        "content": [block],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    start: dict[str, Any] = {
        **base,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
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


def _chat_calls(model: str, text: str, calls: Sequence[Call]) -> Made:
    base = {"id": "chatcmpl-recorded", "created": 0, "model": model}
    made = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.written}}
        for one in calls
    ]
    message = {"role": "assistant", "content": text or None, "tool_calls": made}
    chunk = {**base, "object": "chat.completion.chunk"}
    delta = {**message, "tool_calls": [{"index": number, **one} for number, one in enumerate(made)]}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {**base, "object": "chat.completion", "choices": [choice]}, events


def _responses_calls(model: str, text: str, calls: Sequence[Call]) -> Made:
    items: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{one.id}",
            "call_id": one.id,
            "name": one.name,
            "arguments": one.written,
            "status": "completed",
        }
        for one in calls
    ]
    base = {"id": "resp_recorded", "object": "response", "created_at": 0, "model": model}
    message = _responses(model, text)[0]["output"] if text else []
    whole = {**base, "status": "completed", "output": [*message, *items]}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**base, "status": "in_progress", "output": []}}
    ]
    if text:
        events += _text_events(message[0])
    for number, item in enumerate(items, len(message)):
        place = {"item_id": item["id"], "output_index": number}
        begun = {**item, "arguments": "", "status": "in_progress"}
        events += [
            {"type": "response.output_item.added", "output_index": number, "item": begun},
            {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]},
            {
                "type": "response.function_call_arguments.done",
                **place,
                "arguments": item["arguments"],
            },
            {"type": "response.output_item.done", "output_index": number, "item": item},
        ]
    return whole, [*events, {"type": "response.completed", "response": whole}]


def _text_events(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a message that is the first item of a response."""
    part = item["content"][0]
    empty_part = {**part, "text": ""}
    begun = {**item, "status": "in_progress", "content": []}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.content_part.added", **place, "part": empty_part},
        {"type": "response.output_text.delta", **place, "delta": part["text"]},
        {"type": "response.output_text.done", **place, "text": part["text"]},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


def _messages_calls(model: str, text: str, calls: Sequence[Call]) -> Made:
    base = {"id": "msg_recorded", "type": "message", "role": "assistant", "model": model}
    usage = {"input_tokens": 0, "output_tokens": 0}
    blocks = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": dict(one.arguments)}
        for one in calls
    ]
    ended = {"stop_reason": "tool_use", "stop_sequence": None}
    begun: dict[str, Any] = {
        **base,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    if text:
        delta = {"type": "text_delta", "text": text}
        events += [
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
        ]
    for number, (block, one) in enumerate(zip(blocks, calls, strict=True), len(said)):
        events += [
            {
                "type": "content_block_start",
                "index": number,
                "content_block": {**block, "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": number,
                "delta": {"type": "input_json_delta", "partial_json": one.written},
            },
            {"type": "content_block_stop", "index": number},
        ]
    events += [
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 0}},
        {"type": "message_stop"},
    ]
    return {**base, "content": [*said, *blocks], **ended, "usage": usage}, events
