"""Messages as one text, for a reader that is asked about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def rendered(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return messages as a text: who speaks, what is said, and what is called.

    >>> rendered([{"role": "user", "content": "why?"}])
    '[user]\\nwhy?'
    """
    parts = []
    for message in messages:
        lines = [f"[{message['role']}]", str(message["content"])]
        lines += [
            f"calls {one['name']} with {one['arguments']}"
            for one in message.get("tool_calls") or ()
        ]
        parts.append("\n".join(line for line in lines if line))
    return "\n\n".join(parts)


def rendered_tools(
    tools: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]
) -> str:
    """Return the tools as a text: their definitions, or, where none were recorded, the names that were called."""
    if tools:
        return "The tools:\n" + "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    called = dict.fromkeys(
        one["name"] for message in messages for one in message.get("tool_calls") or ()
    )
    return f"The tools that it has called: {', '.join(called) or 'none'}."
