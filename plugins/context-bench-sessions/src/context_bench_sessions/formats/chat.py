"""Messages as the interfaces of OpenAI and Anthropic take them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from context_bench_sessions.formats.tools import Pairing
from context_bench_sessions.messages import (
    REASONING,
    Message,
    Session,
    UnknownPartError,
    account,
    call,
    result,
    spoken,
    text_of,
)

HOLDERS = ("messages", "traj", "conversation", "conversations", "history", "transcript")
"""Keys under which records keep their list of messages."""

_BESIDE_CONTENT = ("parts", "toolCalls", "tool_invocations", "toolInvocations", "functionCall")
"""Keys of messages of other tools, in which texts and calls stand that these readers would not see."""


def is_messages(found: object) -> bool:
    """Whether a value is a list of messages with roles."""
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in found)
    )


def dialect_of(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return whose form messages have: blocks of tool use and results are Anthropic's, everything else is OpenAI's.

    Where a single message has calls or a role that Anthropic does not know, all are OpenAI's: gateways put blocks of thinking,
    and what a server's own tool did, into messages of that form too. None where a message has another tool's keys.
    """
    if any(key in message for message in messages for key in _BESIDE_CONTENT):
        return None
    if any(_is_openai(message) for message in messages):
        return "openai"
    for message in messages:
        content = message.get("content")
        if isinstance(content, list) and any(
            isinstance(block, Mapping)
            and block.get("type") in ("tool_use", "tool_result", "thinking", "server_tool_use")
            for block in content
        ):
            return "anthropic"
    return "openai"


def _is_openai(message: Mapping[str, Any]) -> bool:
    return message["role"] in ("tool", "function", "developer") or any(
        message.get(key) for key in ("tool_calls", "function_call")
    )


def session_of(
    identity: str,
    raw: Sequence[Mapping[str, Any]],
    record: Mapping[str, Any],
    dialect: str | None = None,
) -> Session:
    """Return the session of raw messages in either dialect, with the system prompt and tools of their record.

    What is not known in a message is shown as :data:`~context_bench_sessions.messages.IMAGE`; for files see
    :func:`recorded_session`.
    """
    dialect = dialect or dialect_of(raw) or "openai"
    read_one = _anthropic if dialect == "anthropic" else _openai
    read = [(number, message) for number, one in enumerate(raw) for message in read_one(one)]
    system = text_of(record.get("system"))
    if system and dialect == "anthropic":
        read.insert(0, (0, {"role": "system", "content": system}))
    origins = [number for number, _ in read]
    messages = [message for _, message in read]
    if dialect == "openai":
        messages = with_calls_in_text(messages)
    raw_system = record["system"] if system and dialect == "anthropic" else None
    tools = record.get("tools")
    return Session(
        identity,
        messages,
        dialect,
        list(raw),
        origins,
        list(tools) if isinstance(tools, list) else [],
        raw_system=raw_system,
    )


def recorded_session(
    identity: str,
    raw: Sequence[Mapping[str, Any]],
    record: Mapping[str, Any],
    dialect: str | None = None,
) -> Session:
    """Return the session of the messages of a file, with what is left out of them.

    Raises:
        UnknownPartError: A message has a block or a role that is not known.
    """
    notes: Counter[str] = Counter()
    for message in raw:
        if message["role"] not in _ROLES:
            raise UnknownPartError(f"a message of the role {message['role']!r} is not known")
        notes += account(message.get("content"))
        if (
            message.get("reasoning_content")
            or message.get("reasoning")
            or message.get("reasoning_details")
        ):
            notes[REASONING] += 1
    return evolve(session_of(identity, raw, record, dialect), notes=notes)


_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "exit")
_CALL_IN_TEXT = re.compile(r"<tool_call>\s*(\{.*?\})\s*(?:</tool_call>|\Z)", re.DOTALL)
_RESULT_IN_TEXT = re.compile(r"\s*<tool_response>\s?(.*?)\s?</tool_response>\s*", re.DOTALL)


def with_calls_in_text(messages: list[Message]) -> list[Message]:
    """Return messages with the calls that Hermes' form writes as text, where results without an id answer them."""
    answers = [one for one in messages if one["role"] == "tool" and not one["tool_call_id"]]
    if not answers:
        return messages
    pairing = Pairing()
    written: list[Message] = []
    for message in messages:
        if message["role"] == "assistant" and not message.get("tool_calls"):
            text = message["content"]
            calls = [_call_in_text(match[1], pairing) for match in _CALL_IN_TEXT.finditer(text)]
            other_text = _CALL_IN_TEXT.sub("", text).strip() if calls else text
            written.append(spoken("assistant", other_text, calls))
        elif message["role"] == "tool" and not message["tool_call_id"]:
            inside = _RESULT_IN_TEXT.fullmatch(message["content"])
            text = inside[1] if inside else message["content"]
            written.append(result(pairing.of_result(None), text))
        else:
            written.append(message)
    return written


def _call_in_text(source: str, pairing: Pairing) -> dict[str, str]:
    try:
        tool_call = json.loads(source)
    except (ValueError, RecursionError):
        tool_call = {"name": "", "arguments": source}
    identity = pairing.of_call(None, tool_call.get("name"))
    return call(identity, tool_call.get("name"), tool_call.get("arguments", {}))


def _openai(message: Mapping[str, Any]) -> Iterator[Message]:
    role, content = message["role"], text_of(message.get("content"))
    if role == "assistant":
        yield spoken(role, content, openai_calls(message))
    elif role in ("tool", "function"):
        yield result(message.get("tool_call_id", message.get("name")), content)
    else:
        yield spoken(
            "system" if role in ("system", "developer") else "user", content, openai_calls(message)
        )


def openai_calls(message: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the calls of a message of OpenAI's form; the one of the older form has its function's name for an id."""
    calls = [openai_call(one) for one in message.get("tool_calls") or ()]
    older = message.get("function_call")
    if not calls and isinstance(older, Mapping):
        return [call(older.get("name"), older.get("name"), older.get("arguments", ""))]
    return calls


def openai_call(found: Mapping[str, Any]) -> dict[str, str]:
    """Return a call of OpenAI's form, of a function or of a custom tool, or of Inspect's, whose function is a name."""
    function, custom = found.get("function"), found.get("custom")
    if isinstance(function, Mapping):
        return call(found.get("id"), function.get("name"), function.get("arguments", ""))
    if isinstance(custom, Mapping):
        return call(found.get("id"), custom.get("name"), custom.get("input", ""))
    return call(found.get("id"), function or found.get("name"), found.get("arguments", ""))


def _anthropic(message: Mapping[str, Any]) -> Iterator[Message]:
    yield from anthropic_messages(message["role"], message.get("content"))


def anthropic_messages(role: str, content: object) -> Iterator[Message]:
    """Yield what one message of blocks holds, in their order: texts of the user, and results of calls.

    Anthropic takes results only in front of all texts, so one that stands behind a text is parted from its call.
    """
    blocks = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
    blocks = [
        block if isinstance(block, Mapping) else {"type": "text", "text": str(block)}
        for block in blocks
    ]
    calls = [
        call(b.get("id"), b.get("name"), b.get("input", {}))
        for b in blocks
        if b.get("type") == "tool_use"
    ]
    speaker = role if role in ("assistant", "system") else "user"
    waiting: list[Mapping[str, Any]] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            if speaker == "user" and (text := text_of(waiting)):
                yield spoken(speaker, text)
                waiting.clear()
            yield result(block.get("tool_use_id"), text_of(block.get("content")))
        elif block.get("type") != "tool_use":
            waiting.append(block)
    text = text_of(waiting)
    if (
        speaker == "assistant"
        or text
        or calls
        or not any(block.get("type") == "tool_result" for block in blocks)
    ):
        yield spoken(speaker, text, calls)
