"""Bodies of three interfaces as messages: ``role``, ``content``, ``tool_calls`` and ``tool_call_id``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Message = dict[str, Any]


def messages_of(dialect: str, body: Mapping[str, Any]) -> list[Message]:
    """Return what a body tells the model, in the canonical form; tool definitions are not in it.

    Args:
        dialect: ``chat``, ``responses`` or ``messages``.
        body: The request.
    """
    if dialect == "responses":
        opening = [{"role": "system", "content": text_of(body["instructions"])}] if body.get("instructions") else []
        given = body.get("input") or ()
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return [*opening, *(one for item in items for one in _item(item))]
    opening = [{"role": "system", "content": text_of(body["system"])}] if body.get("system") else []
    read = _blocks if dialect == "messages" else _chat
    return [*opening, *(one for message in body.get("messages") or () for one in read(message))]


def text_of(content: Any) -> str:
    """Return the text of a content: a string, a part with text, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text", content.get("content", content.get("output"))))
    return "\n".join(filter(None, map(text_of, content)))


def _chat(message: Mapping[str, Any]) -> Iterator[Message]:
    role = "system" if message.get("role") == "developer" else str(message.get("role"))
    found: Message = {"role": role, "content": text_of(message.get("content"))}
    calls = [
        {
            "id": str(one.get("id")),
            "name": one["function"].get("name"),
            "arguments": one["function"].get("arguments", ""),
        }
        for one in message.get("tool_calls") or ()
    ]
    if calls:
        found["tool_calls"] = calls
    if role == "tool":
        found["tool_call_id"] = str(message.get("tool_call_id"))
    yield found


def _blocks(message: Mapping[str, Any]) -> Iterator[Message]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {
                "role": "tool",
                "content": text_of(block.get("content")),
                "tool_call_id": str(block.get("tool_use_id")),
            }
    calls = [
        {
            "id": str(one.get("id")),
            "name": one.get("name"),
            "arguments": json.dumps(one.get("input"), ensure_ascii=False),
        }
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    text = text_of([one for one in blocks if one.get("type") == "text"])
    if text or calls:
        yield {"role": str(message.get("role")), "content": text, **({"tool_calls": calls} if calls else {})}


def _item(item: Mapping[str, Any]) -> Iterator[Message]:
    kind = item.get("type", "message")
    if kind == "function_call":
        call = {"id": str(item.get("call_id")), "name": item.get("name"), "arguments": item.get("arguments", "")}
        yield {"role": "assistant", "content": "", "tool_calls": [call]}
    elif kind == "function_call_output":
        yield {"role": "tool", "content": text_of(item.get("output")), "tool_call_id": str(item.get("call_id"))}
    elif kind == "message":
        role = str(item.get("role", "user"))
        yield {"role": "system" if role == "developer" else role, "content": text_of(item.get("content"))}
