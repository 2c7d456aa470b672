"""The layout ``messages``: the messages of a recorded session, sent as they were recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.messages import region_text

Message = dict[str, Any]


def session_messages(
    example: Mapping[str, Any], dialect: str = "openai"
) -> tuple[list[Message], bool]:
    """Return the messages of an example, and whether they are those that were recorded in this dialect.

    Those are the very same values. Others - of a session in another form, or after a compressor - are the canonical ones:
    ``role``, ``content``, ``tool_calls`` with ``id``, ``name`` and ``arguments``, ``tool_call_id``. Where an earlier step rewrote
    the ``context``, the text stands in place of the region.

    Raises:
        ValueError: The example has no messages.
    """
    messages = example.get("messages")
    if not messages:
        raise ValueError(
            "layout=messages sends recorded messages, and the example has none. Choose another layout."
        )
    region = example.get("region")
    context = example.get("context")
    if region and context is not None and context != region_text(messages, region):
        text = context if isinstance(context, str) else "\n\n".join(map(str, context))
        return [
            *messages[: region[0]],
            {"role": "user", "content": text},
            *messages[region[1] :],
        ], False
    if example.get("raw_messages") and example.get("dialect") == dialect:
        return list(example["raw_messages"]), True
    return [dict(message) for message in messages], False


def openai_messages(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return canonical messages as the chat interface takes them.

    >>> call = {"id": "c1", "name": "read", "arguments": "{}"}
    >>> openai_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])[0]["tool_calls"][0]["function"]
    {'name': 'read', 'arguments': '{}'}
    """
    return [_openai(message) for message in messages]


def session_tools(example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools of a session as the chat interface takes them."""
    return [_tool(tool) for tool in example.get("tools") or ()]


def _openai(message: Mapping[str, Any]) -> Message:
    calls = [
        one
        if "function" in one
        else {
            "id": one["id"],
            "type": "function",
            "function": {"name": one["name"], "arguments": one["arguments"]},
        }
        for one in message.get("tool_calls") or ()
    ]
    plain = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**plain, **({"tool_calls": calls} if calls else {})}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    if "input_schema" not in tool:
        return dict(tool)
    function = {
        "name": tool.get("name"),
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
    }
    return {"type": "function", "function": function}
