"""Bodies of three interfaces as messages: ``role``, ``content``, ``tool_calls`` and ``tool_call_id``.

They are read as recorded sessions are, so that what a proxy passes on as it came tells what the session told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench_survival.contexts import provider_messages

Message = dict[str, Any]

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def messages_of(dialect: str, body: Mapping[str, Any]) -> list[Message]:
    """Return what a body tells the model, in the canonical form; tool definitions are not in it.

    Args:
        dialect: ``chat``, ``responses`` or ``messages``.
        body: The request.
    """
    if dialect == "responses":
        opening, given = body.get("instructions"), body.get("input") or ()
        messages = _of_items(
            [{"role": "user", "content": given}] if isinstance(given, str) else given
        )
    else:
        opening = body.get("system")
        messages = [
            {**one, "role": str(one.get("role"))} for one in _mappings(body.get("messages") or ())
        ]
    return provider_messages(
        [*([{"role": "system", "content": opening}] if opening else []), *messages]
    )


def _of_items(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the items of a response as messages of a chat; calls belong to the message of the agent in front of them."""
    found: list[dict[str, Any]] = []
    for item in _mappings(items):
        kind = item.get("type", "message")
        if kind in _CALLS:
            function = {"name": item.get("name"), "arguments": item.get(_CALLS[kind], "")}
            if not found or found[-1]["role"] != "assistant":
                found.append({"role": "assistant", "content": None})
            found[-1].setdefault("tool_calls", []).append(
                {"id": item.get("call_id"), "function": function}
            )
        elif kind in _OUTPUTS:
            found.append(
                {"role": "tool", "content": item.get("output"), "tool_call_id": item.get("call_id")}
            )
        elif kind == "message":
            found.append({"role": str(item.get("role", "user")), "content": item.get("content")})
    return found


def _mappings(found: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    return (one for one in found if isinstance(one, Mapping))
