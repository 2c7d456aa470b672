"""Recorded sessions for the Messages API: as they were recorded, or made of the canonical messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_openai.recorded import openai_messages, session_messages


def session_of(example: Mapping[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Return the messages of an example, and whether they are those that were recorded for this interface.

    Others are in the form of chat messages.

    Raises:
        ValueError: The example has no messages.
    """
    messages, is_recorded = session_messages(example, "anthropic")
    return (messages, True) if is_recorded else (openai_messages(messages), False)


def recorded_tools(example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools of a session as this interface takes them."""
    return [_tool(tool) for tool in example.get("tools") or ()]


def with_joined_turns(turns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return turns with those of one role in a row made one: all results of a message's calls must stand in the next one."""
    joined: list[dict[str, Any]] = []
    for turn in turns:
        if joined and joined[-1]["role"] == turn["role"]:
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *turn["content"]]}
        else:
            joined.append(dict(turn))
    return joined


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return dict(tool)
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {
        "name": function.get("name"),
        "description": function.get("description", ""),
        "input_schema": schema,
    }
