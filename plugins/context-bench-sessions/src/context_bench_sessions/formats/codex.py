"""Codex's rollout files: ``response_item`` is what the model saw and said; ``compacted`` begins its history anew.

Turns that the user took back stay in the file; a later ``thread_rolled_back`` says how many of the last ones they are. Files of
2025's first versions hold the items themselves, without an envelope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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

    The first ``session_meta`` names it: those behind it are of the sessions that it was forked from.

    Args:
        documents: Line number and parsed item, in order.
    """
    identity: str | None = None
    messages: list[Message] = []
    compactions: list[Compaction] = []
    notes: Counter[str] = Counter()
    for _, item in documents:
        if not isinstance(item, Mapping):
            continue
        payload = item.get("payload")
        if not isinstance(payload, Mapping):
            if is_item(item):
                _add(messages, item)
            elif identity is None and "id" in item:
                identity = str(item["id"])
            continue
        if item.get("type") == "session_meta":
            identity = str(payload.get("id", 1)) if identity is None else identity
        elif item.get("type") == "event_msg" and payload.get("type") == "thread_rolled_back":
            start = _turn_start(messages, payload.get("num_turns"))
            notes["messages of turns that were taken back"] += len(messages) - start
            del messages[start:]
            compactions = [made for made in compactions if made.at <= start]
        elif item.get("type") == "compacted":
            summary = text_of(payload.get("message"))
            if summary:
                replacement: list[Message] = []
                for one in payload.get("replacement_history") or ():
                    _add(replacement, one)
                compactions.append(Compaction(len(messages), summary, len(messages), replacement))
        elif item.get("type") == "response_item":
            _add(messages, payload)
    if any(message["role"] == "assistant" for message in messages):
        yield Session(identity or "1", messages, "openai", compactions=compactions, notes=notes)


def is_item(record: Mapping[str, Any]) -> bool:
    """Whether a record is an item of a response itself, as the first versions wrote them."""
    kind, content = record.get("type"), record.get("content")
    if kind == "message":
        blocks = content if isinstance(content, list) else ()
        return any(isinstance(one, Mapping) and one.get("type") in ("input_text", "output_text") for one in blocks)
    return (kind in _CALLS or kind in _OUTPUTS) and ("call_id" in record or "id" in record)


_NO_TURN = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")
"""What messages of the user begin with that Codex writes itself: they begin no turn."""


def _turn_start(messages: Sequence[Message], turns: object) -> int:
    """Return where the last turns begin, of which there are so many; with too few of them the first begins it."""
    places = [
        number
        for number, message in enumerate(messages)
        if message["role"] == "user" and not message["content"].lstrip().startswith(_NO_TURN)
    ]
    if not places or not isinstance(turns, int) or turns < 1:
        return len(messages)
    return places[-turns] if turns <= len(places) else places[0]


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
