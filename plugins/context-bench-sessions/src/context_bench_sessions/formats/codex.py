"""Codex's rollout files: ``response_item`` is what the model saw and said; ``compacted`` begins its history anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_bench_sessions.messages import Compaction, Message, Session, assistant, call, result, text_of

_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "tool_search_call": "arguments",
    "local_shell_call": "action",
}
_OUTPUTS = {"function_call_output": "output", "custom_tool_call_output": "output", "tool_search_output": "tools"}


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of a rollout; one without a message of the agent holds none.

    Args:
        documents: Line number and parsed item, in order.
    """
    identity = "1"
    messages: list[Message] = []
    compactions: list[Compaction] = []
    for _, item in documents:
        payload = item.get("payload") if isinstance(item, Mapping) else None
        if not isinstance(payload, Mapping):
            continue
        if item.get("type") == "session_meta":
            identity = str(payload.get("id", identity))
        elif item.get("type") == "compacted":
            summary = text_of(payload.get("message"))
            if summary:
                compactions.append(Compaction(len(messages), summary, len(messages)))
        elif item.get("type") == "response_item":
            _add(messages, payload)
    if any(message["role"] == "assistant" and message["content"] for message in messages) and len(messages) > 2:
        yield Session(identity, messages, "openai", compactions=compactions)


def _add(messages: list[Message], item: Mapping[str, Any]) -> None:
    kind = str(item.get("type"))
    if kind == "message":
        role, text = item.get("role"), text_of(item.get("content"))
        if role == "assistant":
            messages.append(assistant(text))
        else:
            messages.append({"role": "system" if role in ("system", "developer") else "user", "content": text})
    elif kind in _CALLS:
        made = call(item.get("call_id", item.get("id")), item.get("name", kind), item.get(_CALLS[kind], ""))
        if messages and messages[-1]["role"] == "assistant":
            messages[-1].setdefault("tool_calls", []).append(made)
        else:
            messages.append(assistant("", [made]))
    elif kind in _OUTPUTS:
        messages.append(result(item.get("call_id"), text_of(item.get(_OUTPUTS[kind]))))
