"""Exports of frameworks: ShareGPT and its like, LangChain's dumps, OpenHands' events, Responses items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_sessions.formats.chat import openai_calls
from context_bench_sessions.formats.codex import add_item
from context_bench_sessions.formats.tools import Pairing, mappings, output_text
from context_bench_sessions.messages import (
    Message,
    UnknownPartError,
    account,
    assistant,
    call,
    result,
    spoken,
    text_of,
)

Raw = Sequence[Mapping[str, Any]]
Read = tuple[list[Message], Counter[str]]

_SHAREGPT = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "assistant": "assistant",
    "system": "system",
}


def sharegpt(raw: Raw) -> Read:
    """Return the messages of ``from`` and ``value``, with the calls that LLaMA-Factory writes."""
    messages: list[Message] = []
    pairing = Pairing()
    for item in raw:
        speaker, value = item.get("from"), text_of(item.get("value"))
        if speaker in ("function_call", "tool_call"):
            for tool_call in _calls_in(value):
                identity = pairing.of_call(tool_call.get("id"), tool_call.get("name"))
                written = call(identity, tool_call.get("name"), tool_call.get("arguments", {}))
                if messages and messages[-1]["role"] == "assistant":
                    messages[-1].setdefault("tool_calls", []).append(written)
                else:
                    messages.append(assistant("", [written]))
        elif speaker in ("observation", "tool", "function_response"):
            messages.append(result(pairing.of_result(None), value))
        elif speaker in _SHAREGPT:
            messages.append(spoken(_SHAREGPT[str(speaker)], value))
        else:
            raise UnknownPartError(f"a message from {speaker!r} is not known")
    return messages, Counter()


def _calls_in(value: str) -> list[Mapping[str, Any]]:
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return [{"name": "", "arguments": value}]
    return list(mappings(parsed if isinstance(parsed, list) else [parsed]))


def responses(raw: Raw) -> Read:
    """Return the messages of items of OpenAI's Responses interface, requested or answered."""
    messages: list[Message] = []
    notes: Counter[str] = Counter()
    for item in raw:
        add_item(messages, {"type": "message", **item}, notes)
    return messages, notes


_LANGCHAIN = {"human": "user", "system": "system", "developer": "system", "generic": "user"}
_OF_CLASS = {
    "HumanMessage": "human", "AIMessage": "ai", "SystemMessage": "system", "ToolMessage": "tool",
    "FunctionMessage": "function", "ChatMessage": "chat", "AIMessageChunk": "ai", "HumanMessageChunk": "human",
    "RemoveMessage": "remove",
}  # fmt: skip


def langchain_message(item: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return kind and fields of a message that LangChain dumped, or None where it is none."""
    identity = item.get("id")
    if item.get("type") == "constructor" and isinstance(item.get("kwargs"), Mapping):
        name = str(identity[-1]) if isinstance(identity, list) and identity else ""
        return (_OF_CLASS[name], item["kwargs"]) if name in _OF_CLASS else None
    if isinstance(item.get("data"), Mapping) and isinstance(item.get("type"), str):
        return str(item["type"]).removesuffix("MessageChunk").lower(), item["data"]
    return None


def langchain(raw: Raw) -> Read:
    """Return the messages of LangChain's ``messages_to_dict``, or of its constructor dumps."""
    messages: list[Message] = []
    notes: Counter[str] = Counter()
    for item in raw:
        kind_and_fields = langchain_message(item)
        if kind_and_fields is None:
            raise UnknownPartError(
                f"a message with the keys {', '.join(map(str, item))} is not known"
            )
        kind, fields = kind_and_fields
        if kind == "remove":
            notes["marks that remove a message"] += 1
            continue
        notes += account(fields.get("content"))
        text = text_of(fields.get("content"))
        if kind == "ai" or (kind == "chat" and fields.get("role") == "assistant"):
            messages.append(assistant(text, _langchain_calls(fields)))
        elif kind in ("tool", "function"):
            messages.append(result(fields.get("tool_call_id", fields.get("name")), text))
        elif kind == "chat":
            messages.append(spoken("system" if fields.get("role") == "system" else "user", text))
        elif kind in _LANGCHAIN:
            messages.append(spoken(_LANGCHAIN[kind], text))
        else:
            raise UnknownPartError(f"a message of the type {kind!r} is not known")
    return messages, notes


def _langchain_calls(fields: Mapping[str, Any]) -> list[dict[str, str]]:
    tool_call = [
        call(item.get("id"), item.get("name"), item.get("args", {}))
        for item in mappings(fields.get("tool_calls"))
    ]
    broken = mappings(fields.get("invalid_tool_calls"))
    tool_call += [call(item.get("id"), item.get("name"), item.get("args") or "") for item in broken]
    return tool_call or openai_calls(fields.get("additional_kwargs") or {})


_OF_THE_ENVIRONMENT = (
    "agent_state_changed", "null", "recall", "change_agent_state", "loop_detection_pause", "condensation",
    "condensation_request", "user_rejected",
)  # fmt: skip


def openhands(raw: Raw) -> Read:
    """Return the messages of OpenHands' events: actions are calls, and observations are their results."""
    messages: list[Message] = []
    notes: Counter[str] = Counter()
    calls: dict[str, str] = {}
    for event in raw:
        action, observation = event.get("action"), event.get("observation")
        arguments = event.get("args") or {}
        if (observation or action) in _OF_THE_ENVIRONMENT:
            notes["events of the environment"] += 1
        elif observation is not None:
            identity = calls.get(str(event.get("cause")), "")
            messages.append(result(identity, output_text(event.get("content"))))
        elif action == "system":
            messages.append(spoken("system", text_of(arguments.get("content"))))
        elif action == "message":
            text = text_of(arguments.get("content"))
            messages.append(
                assistant(text) if event.get("source") == "agent" else spoken("user", text)
            )
        elif action == "finish":
            last_text = (
                arguments.get("final_thought") or arguments.get("thought") or event.get("message")
            )
            messages.append(assistant(text_of(last_text)))
        elif isinstance(action, str):
            metadata = event.get("tool_call_metadata") or {}
            identity = str(metadata.get("tool_call_id") or event.get("id", ""))
            calls[str(event.get("id"))] = identity
            fields = {key: value for key, value in arguments.items() if key != "thought"}
            name = metadata.get("function_name") or action
            messages.append(
                assistant(text_of(arguments.get("thought")), [call(identity, name, fields)])
            )
        else:
            raise UnknownPartError(
                f"an event with the keys {', '.join(map(str, event))} is not known"
            )
    return messages, notes
