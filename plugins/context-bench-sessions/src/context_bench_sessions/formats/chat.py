"""Messages as the two providers' interfaces take them, alone or inside of a record (tau-bench, logs, exports)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.messages import Message, Session, call, result, spoken, text_of

HOLDERS = ("messages", "traj", "conversation", "history", "transcript")
"""Keys under which records keep their list of messages."""


def messages_in(document: object) -> Sequence[Any] | None:
    """Return the list of messages that a document is or holds, or None."""
    if isinstance(document, Mapping):
        for key in HOLDERS:
            if is_messages(document.get(key)):
                return list(document[key])
        return None
    return list(document) if is_messages(document) else None  # type: ignore[call-overload]


def is_messages(found: object) -> bool:
    """Whether a value is a list of messages with roles."""
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in found)
    )


def dialect_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return whose form messages have: blocks of tool use and results are Anthropic's, everything else is OpenAI's.

    Where a single message has calls or a role that Anthropic does not know, all are OpenAI's: gateways put blocks of thinking,
    and what a server's own tool did, into messages of that form too.
    """
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


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield a session for each document; a file of one message a line is one session.

    Args:
        documents: Line number and parsed document, in order.
    """
    loose: list[Mapping[str, Any]] = []
    for line, document in documents:
        found = messages_in(document)
        if found is not None:
            identity = (
                document.get("id", document.get("task_id"))
                if isinstance(document, Mapping)
                else None
            )
            trial = document.get("trial") if isinstance(document, Mapping) else None
            name = str(line if identity is None else identity) + (
                f"-{trial}" if trial not in (None, 0) else ""
            )
            yield session_of(name, found, document if isinstance(document, Mapping) else {})
        elif isinstance(document, Mapping) and isinstance(document.get("role"), str):
            loose.append(document)
    if loose:
        yield session_of("1", loose, {})


def session_of(
    identity: str,
    raw: Sequence[Mapping[str, Any]],
    record: Mapping[str, Any],
    dialect: str | None = None,
) -> Session:
    """Return the session of raw messages in either dialect, told or seen, with the system prompt and tools of their record."""
    dialect = dialect or dialect_of(raw)
    read_one = _anthropic if dialect == "anthropic" else _openai
    read = [(number, message) for number, one in enumerate(raw) for message in read_one(one)]
    system = text_of(record.get("system"))
    if system and dialect == "anthropic":
        read.insert(0, (0, {"role": "system", "content": system}))
    origins, messages = [number for number, _ in read], [message for _, message in read]
    raw_system = record["system"] if system and dialect == "anthropic" else None
    tools = list(record.get("tools") or ())
    return Session(identity, messages, dialect, list(raw), origins, tools, raw_system=raw_system)


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
