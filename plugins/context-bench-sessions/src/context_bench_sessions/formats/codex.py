"""Codex's rollout files: ``response_item`` is what the model saw and said; ``compacted`` begins its history anew.

A summary that the provider wrote is encrypted: it is none that can be read. Turns that the user took back stay in the file; a
later ``thread_rolled_back`` says how many of the last ones they are. Files of 2025's first versions hold the items themselves,
without an envelope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.messages import (
    REASONING,
    SHOWN_AS_IMAGE,
    Compaction,
    Message,
    Session,
    UnknownPartError,
    account,
    assistant,
    call,
    result,
    text_of,
)

_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "tool_search_call": "arguments",
    "local_shell_call": "action",
}
_OUTPUTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "tool_search_output": "tools",
}


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
            if is_item(item) or item.get("type") in _LEFT_OUT:
                add_item(messages, item, notes)
            elif isinstance(item.get("role"), str) and "content" in item:
                add_item(messages, {"type": "message", **item}, notes)
            elif identity is None and "id" in item:
                identity = str(item["id"])
            elif item.get("record_type") == "state":
                notes["records of the type state"] += 1
            else:
                raise UnknownPartError(
                    f"an object with the keys {', '.join(map(str, item))} is not known"
                )
            continue
        if item.get("type") == "session_meta":
            identity = str(payload.get("id", 1)) if identity is None else identity
        elif item.get("type") == "event_msg" and payload.get("type") == "thread_rolled_back":
            start = _turn_start(messages, payload.get("num_turns"))
            notes["messages of turns that were taken back"] += len(messages) - start
            del messages[start:]
            compactions = [made for made in compactions if made.at <= start]
        elif item.get("type") == "compacted":
            summary, history = text_of(payload.get("message")), payload.get("replacement_history")
            if history is not None or summary:
                replacement: list[Message] = []
                for one in history or ():
                    add_item(replacement, one, Counter())
                if history is None:
                    replacement = _kept(messages, compactions, summary)
                compactions.append(Compaction(len(messages), summary, len(messages), replacement))
        elif item.get("type") == "response_item":
            add_item(messages, payload, notes)
        elif item.get("type") in _RECORDS:
            notes[f"records of the type {item['type']}"] += 1
        else:
            raise UnknownPartError(f"a record of the type {item.get('type')!r} is not known")
    if any(message["role"] == "assistant" for message in messages):
        yield Session(identity or "1", messages, "openai", compactions=compactions, notes=notes)


def is_item(record: Mapping[str, Any]) -> bool:
    """Whether a record is an item of a response itself, as the first versions wrote them."""
    kind, content = record.get("type"), record.get("content")
    if kind == "message":
        blocks = content if isinstance(content, list) else ()
        return any(
            isinstance(one, Mapping) and one.get("type") in ("input_text", "output_text")
            for one in blocks
        )
    return (kind in _CALLS or kind in _OUTPUTS) and ("call_id" in record or "id" in record)


_RECORDS = (
    "event_msg",
    "turn_context",
    "session_state",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
)
"""Records for the screen and for Codex itself; the model is not shown them."""

_NO_TURN = (
    "<environment_context>",
    "<user_instructions>",
    "# agents.md instructions",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<subagents>",
    "<subagent_notification>",
    "<hook_prompt",
)
"""What messages of the user begin with that Codex writes itself, in any case: they begin no turn."""

_SUMMARY = "Another language model started to solve this problem and produced a summary"
"""What Codex writes before a summary, as the user."""

_KEPT_BYTES = 4 * 20_000
"""Of the user's messages the last 20,000 tokens stay beside a summary, which Codex estimates by four bytes each."""


def _is_of_user(message: Message) -> bool:
    return message["role"] == "user" and not message["content"].lstrip().lower().startswith(
        _NO_TURN
    )


def _kept(
    messages: Sequence[Message], compactions: Sequence[Compaction], summary: str
) -> list[Message]:
    """Return the history that Codex makes where the file holds none: the last messages of the user, and the summary."""
    before = (
        [*compactions[-1].replacement, *messages[compactions[-1].at :]] if compactions else messages
    )
    summaries = {made.summary for made in compactions}
    kept: list[Message] = [{"role": "user", "content": summary}]
    room = _KEPT_BYTES
    for message in reversed(before):
        text = message["content"]
        if not _is_of_user(message) or text in summaries or text.startswith(_SUMMARY):
            continue
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > room:
            half = room // 2
            cut = f"{_prefix(text, half)}…{-(-(size - room) // 4)} tokens truncated…{_prefix(text[::-1], half)[::-1]}"
            return [{"role": "user", "content": cut}, *kept] if room else kept
        kept.insert(0, {"role": "user", "content": text})
        room -= size
    return kept


def _prefix(text: str, size: int) -> str:
    return text.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")


def _turn_start(messages: Sequence[Message], turns: object) -> int:
    """Return where the last turns begin, of which there are so many; with too few of them the first begins it."""
    places = [number for number, message in enumerate(messages) if _is_of_user(message)]
    if not places or not isinstance(turns, int) or turns < 1:
        return len(messages)
    return places[-turns] if turns <= len(places) else places[0]


_LEFT_OUT = {
    "reasoning": REASONING,
    "ghost_snapshot": "snapshots of the files",
    "web_search_call": "searches that the provider made",
    "file_search_call": "searches that the provider made",
    "computer_call_output": SHOWN_AS_IMAGE,
    "image_generation_call": SHOWN_AS_IMAGE,
    "code_interpreter_call": "programs that the provider ran",
    "compaction": "encrypted summaries",
    "compaction_summary": "encrypted summaries",
    "context_compaction": "encrypted summaries",
    "compaction_trigger": "marks that say nothing to the model",
    "item_reference": "references to items of other requests",
    "other": "items that Codex did not know",
}
"""Items that are no message, and what they are."""


def add_item(messages: list[Message], item: Mapping[str, Any], notes: Counter[str]) -> None:
    """Add an item of the Responses interface to the messages.

    Raises:
        UnknownPartError: The item is of a type that is not known.
    """
    kind = str(item.get("type"))
    if kind == "message":
        notes.update(account(item.get("content")))
        role, text = item.get("role"), text_of(item.get("content"))
        if role == "assistant":
            messages.append(assistant(text))
        else:
            messages.append(
                {"role": "system" if role in ("system", "developer") else "user", "content": text}
            )
    elif kind == "agent_message":  # of another agent, some of it for the provider alone
        content = item.get("content")
        blocks = content if isinstance(content, list) else ()
        text = text_of(
            [
                one
                for one in blocks
                if isinstance(one, Mapping) and one.get("type") != "encrypted_content"
            ]
        )
        if text:
            messages.append({"role": "user", "content": text})
    elif kind in _CALLS:
        made = call(
            item.get("call_id", item.get("id")), item.get("name", kind), item.get(_CALLS[kind], "")
        )
        if messages and messages[-1]["role"] == "assistant":
            messages[-1].setdefault("tool_calls", []).append(made)
        else:
            messages.append(assistant("", [made]))
    elif kind in _OUTPUTS:
        messages.append(result(item.get("call_id"), text_of(item.get(_OUTPUTS[kind]))))
    elif kind in _LEFT_OUT:
        notes[_LEFT_OUT[kind]] += 1
    else:
        raise UnknownPartError(f"an item of the type {kind!r} is not known")
