"""Lists of messages in any tool's form: alone, inside of a record (tau-bench, logs, exports), or a message a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from context_bench_sessions.formats import chat, exports, parts
from context_bench_sessions.formats.codex import is_item
from context_bench_sessions.messages import Session, UnknownPartError, text_of

Raw = Sequence[Mapping[str, Any]]

_FOREIGN: Mapping[str, Callable[[Raw], exports.Read]] = {
    "goose": parts.goose,
    "amp": parts.amp,
    "ai-sdk": parts.ai_sdk,
    "bedrock": parts.bedrock,
    "gemini": parts.gemini,
    "gemini-cli": parts.gemini_cli,
    "opencode": parts.opencode,
    "sharegpt": exports.sharegpt,
    "langchain": exports.langchain,
    "openhands": exports.openhands,
    "responses": exports.responses,
}

LIST_FORMATS = ("openai", "anthropic", *_FOREIGN)
"""Formats whose sessions are a list of messages."""

_HOLDERS = (*chat.HOLDERS, "contents", "input", "items", "events", "trajectory")
_GOOSE = ("toolRequest", "toolResponse", "frontendToolRequest", "toolConfirmationRequest")
_AI_SDK = ("tool-call", "tool-result", "tool-invocation", "dynamic-tool", "step-start")
_BEDROCK = ("toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent")
_GEMINI = ("functionCall", "functionResponse", "inlineData", "fileData", "executableCode")
_ITEMS = (
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
    "web_search_call", "file_search_call", "computer_call", "computer_call_output", "item_reference",
)  # fmt: skip
_GOOSE_HEADER = {"working_dir", "message_count"}


def form_of(value: object) -> str | None:
    """Return the form of a list of messages by its keys and blocks, or None where it is no such list."""
    if not isinstance(value, list) or not value:
        return None
    messages = [item for item in value if isinstance(item, Mapping)]
    if len(messages) < len(value):
        return None
    if all("from" in item and "value" in item for item in messages):
        return "sharegpt"
    if all(
        isinstance(item.get("info"), Mapping) and isinstance(item.get("parts"), list)
        for item in messages
    ):
        return "opencode"
    if all(exports.langchain_message(item) is not None for item in messages):
        return "langchain"
    if all("source" in item and ("action" in item or "observation" in item) for item in messages):
        return "openhands"
    if any(item.get("type") == "gemini" for item in messages) and all(
        "content" in item for item in messages
    ):
        return "gemini-cli"
    if any(item.get("type") in _ITEMS for item in messages):
        return "responses" if all("role" in item or "type" in item for item in messages) else None
    return _form_of_roles(messages) if chat.is_messages(value) else None


def _form_of_roles(messages: Raw) -> str | None:
    blocks = [block for item in messages for block in _blocks_of(item)]
    kinds = {block.get("type") for block in blocks}
    keys = {key for block in blocks for key in block}
    if any("parts" in item for item in messages):
        if all("parts" in item for item in messages) and (kinds == {None} or not blocks):
            return "gemini"
        return "ai-sdk"
    if kinds & set(_GOOSE):
        return "goose"
    if kinds & set(_AI_SDK):
        return "ai-sdk"
    if "toolUseID" in keys and "tool_result" in kinds:
        return "amp"
    if None in kinds and keys & set(_BEDROCK):
        return "bedrock"
    if None in kinds and keys & set(_GEMINI):
        return None
    if None in kinds and keys == {"text"} and kinds == {None}:
        return "bedrock"
    if any(kind in ("input_text", "output_text") for kind in kinds) and is_item(
        {"type": "message", **messages[0]}
    ):
        return "responses"
    return chat.dialect_of(messages)


def _blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("parts", message.get("content"))
    return (
        [item for item in content if isinstance(item, Mapping)] if isinstance(content, list) else []
    )


def messages_in(document: object) -> tuple[str, Raw] | None:
    """Return the form and the list of messages that a document is or holds, or None."""
    if isinstance(document, Mapping):
        for key in _HOLDERS:
            form = form_of(document.get(key))
            if form is not None:
                return form, list(document[key])
        return None
    form = form_of(document)
    return None if form is None else (form, list(document))  # type: ignore[call-overload]


def records_in(document: object) -> list[Mapping[str, Any]]:
    """Return the records of a list of which each holds messages, as benchmarks write their results; else none."""
    if not isinstance(document, list) or not document:
        return []
    records = [
        item for item in document if isinstance(item, Mapping) and messages_in(item) is not None
    ]
    return records if len(records) == len(document) else []


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield a session for each document or record; a file of one message a line is one session.

    Args:
        documents: Line number and parsed document, in order.

    Raises:
        UnknownPartError: A record holds no messages, or a message has a part that is not known.
    """
    loose: list[Mapping[str, Any]] = []
    for line, document in documents:
        if records := records_in(document):
            for number, record in enumerate(records, 1):
                yield _session_of_record(number, record)
        elif messages_in(document) is not None and not _is_message(document):
            yield _session_of_record(line, document)
        elif _is_message(document):
            loose.append(document)
        elif not (isinstance(document, Mapping) and document.keys() >= _GOOSE_HEADER):
            raise UnknownPartError("a record without messages is not known")
    if loose:
        yield session_of_list("1", loose, {}, form_of(loose))


def _is_message(document: object) -> bool:
    return isinstance(document, Mapping) and form_of([document]) is not None


def _session_of_record(number: int, document: Any) -> Session:
    form_and_messages = messages_in(document)
    assert form_and_messages is not None
    form, raw = form_and_messages
    record = document if isinstance(document, Mapping) else {}
    return session_of_list(_name_of(record, number), raw, record, form)


def _name_of(record: Mapping[str, Any], number: int) -> str:
    info = record.get("info")
    inner = info if isinstance(info, Mapping) else {}
    names = (record.get(key) for key in ("id", "task_id", "sessionId", "instance_id", "session_id"))
    name = next((item for item in (*names, inner.get("id")) if item is not None), number)
    trial = record.get("trial")
    return str(name) if trial in (None, 0) else f"{name}-{trial}"


def session_of_list(
    identity: str, raw: Raw, record: Mapping[str, Any], form: str | None
) -> Session:
    """Return the session of a list of messages in a form."""
    if form is None:
        raise UnknownPartError("messages of two forms, or of none that is known")
    if form not in _FOREIGN:
        return evolve(chat.recorded_session(identity, raw, record, form), format=form)
    messages, notes = _FOREIGN[form](raw)
    system = _system_of(record)
    if system and not (messages and messages[0]["role"] == "system"):
        messages.insert(0, {"role": "system", "content": system})
    tools = record.get("tools")
    return Session(
        identity,
        messages,
        "openai",
        tools=tools if isinstance(tools, list) else [],
        notes=notes,
        format=form,
    )


def _system_of(record: Mapping[str, Any]) -> str:
    system = record.get("system", record.get("systemInstruction", record.get("instructions")))
    if isinstance(system, Mapping) and "parts" in system:
        system = system["parts"]
    return text_of(system) if isinstance(system, (str, list)) else ""
