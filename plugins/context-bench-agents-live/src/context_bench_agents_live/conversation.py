"""Requests of three interfaces as one list of messages: texts, and calls of tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

Body = Mapping[str, Any]


@frozen
class ToolCall:
    """A call of a tool, as a request or a reply contains it.

    Attributes:
        id: Names the call.
        name: Name of the tool.
        arguments: Its arguments; empty where they are not a JSON object.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, call_id: object, name: object, arguments: object) -> ToolCall:
        """Return the call with arguments that are an object or its JSON text."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = {}
        if not isinstance(arguments, Mapping):
            arguments = {}
        return cls(str(call_id or ""), str(name or ""), dict(arguments))


@frozen
class Turn:
    """A message of a request.

    Attributes:
        is_model: Whether the model wrote it: its role says so, or it calls tools. A proxy may change the role.
        texts: Its texts; the results of tools are texts, too.
        calls: The calls of tools that it contains.
    """

    is_model: bool
    texts: Sequence[str]
    calls: Sequence[ToolCall] = ()


@frozen
class Tool:
    """A tool that a request offers.

    Attributes:
        name: Its name.
        parameters: The properties of its arguments, as JSON Schema.
    """

    name: str
    parameters: Mapping[str, Any]


def turns_of(dialect: str, body: Body) -> list[Turn]:
    """Return the messages of a request, the system prompt first.

    Args:
        dialect: ``chat``, ``responses`` or ``messages``.
        body: The request.
    """
    if dialect == "responses":
        return list(_responses_turns(body))
    turns = [Turn(is_model=False, texts=_texts(body["system"]))] if body.get("system") else []
    messages = [item for item in body.get("messages") or () if isinstance(item, Mapping)]
    return turns + [_turn(message) for message in messages]


def tools_of(body: Body) -> list[Tool]:
    """Return the tools that a request of any of the three interfaces offers."""
    tools = []
    for entry in body.get("tools") or ():
        if isinstance(entry, Mapping):
            function = entry.get("function")
            described = function if isinstance(function, Mapping) else entry
            schema = described.get("parameters") or described.get("input_schema") or {}
            tools.append(Tool(str(described.get("name")), dict(schema.get("properties") or {})))
    return tools


def prompt_text(body: Body) -> str:
    """Return the part of a request that a model reads, as one text in the order of a cached prompt."""
    names = ("tools", "system", "instructions", "messages", "input")
    parts = [body[name] for name in names if name in body]
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in parts)


def _turn(message: Mapping[str, Any]) -> Turn:
    content = message.get("content")
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        calls.append(ToolCall.of(call.get("id"), function.get("name"), function.get("arguments")))
    for block in content if isinstance(content, list) else ():
        is_call = isinstance(block, Mapping) and block.get("type") == "tool_use"
        calls += (
            [ToolCall.of(block.get("id"), block.get("name"), block.get("input"))] if is_call else []
        )
    is_model = message.get("role") == "assistant" or bool(calls)
    return Turn(is_model, _texts(content), calls)


def _responses_turns(body: Body) -> Iterator[Turn]:
    if body.get("instructions"):
        yield Turn(is_model=False, texts=_texts(body["instructions"]))
    items = body.get("input")
    if isinstance(items, str):
        yield Turn(is_model=False, texts=[items])
        return
    for item in items or ():
        if not isinstance(item, Mapping):
            continue
        if item.get("type") == "function_call":
            call = ToolCall.of(item.get("call_id"), item.get("name"), item.get("arguments"))
            yield Turn(is_model=True, texts=[], calls=[call])
        elif item.get("type") == "function_call_output":
            yield Turn(is_model=False, texts=_texts(item.get("output")))
        else:
            yield Turn(item.get("role") == "assistant", _texts(item.get("content")))


def _texts(content: object) -> list[str]:
    """Return the texts of a content: a text, or blocks with texts in ``text`` or ``content``."""
    if isinstance(content, str):
        return [content]
    texts: list[str] = []
    if isinstance(content, list):
        for block in content:
            if isinstance(block, Mapping):
                texts += _texts(block.get("text")) + _texts(block.get("content"))
            elif isinstance(block, str):
                texts.append(block)
    return texts
