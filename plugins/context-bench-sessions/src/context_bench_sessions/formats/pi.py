"""Sessions of the pi coding agent, and the transcripts that forge keeps of its sub-agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.messages import (
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


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of a pi session file: the branch that its last entry ends.

    Since version 2 entries form a tree, whose branches that were left stay in the file; before that they are a list, and
    ``firstKeptEntryIndex`` counts lines from 0.

    Args:
        documents: Line number, counted from 1, and parsed entry, in order.
    """
    entries = [(line, entry) for line, entry in documents if isinstance(entry, Mapping)]
    identity = "1"
    messages: list[Message] = []
    places: dict[object, int] = {}
    compactions: list[Compaction] = []
    notes: Counter[str] = Counter()
    live = _branch([entry for _, entry in entries])
    for line, entry in entries:
        if entry.get("type") == "session":
            identity = str(entry.get("id", identity))
            continue
        if live is not None and str(entry.get("id")) not in live:
            notes["lines on abandoned branches"] += 1
            continue
        places[line - 1] = places[str(entry.get("id"))] = len(messages)
        if entry.get("type") == "message" and isinstance(entry.get("message"), Mapping):
            notes["answers that broke off, which the model is not sent again"] += _broke_off(
                entry["message"]
            )
            notes += _account(entry["message"])
            messages += _messages(entry["message"])
        elif entry.get("type") in _TOLD and (text := text_of(entry.get(_TOLD[str(entry["type"])]))):
            messages.append({"role": "user", "content": text})
        elif entry.get("type") == "compaction":
            first = entry.get("firstKeptEntryIndex", str(entry.get("firstKeptEntryId")))
            kept = places.get(first, len(messages))
            compactions.append(Compaction(len(messages), text_of(entry.get("summary")), kept))
        elif "message" in entry or entry.get("type") not in _RECORDS:
            raise UnknownPartError(f"an entry of the type {entry.get('type')!r} is not known")
        else:
            notes[f"records of the type {entry['type']}"] += 1
    if messages:
        yield Session(identity, messages, "openai", compactions=compactions, notes=+notes)


_RECORDS = (
    *("session", "model_change", "thinking_level_change", "label", "session_info", "custom"),
    *("custom_message", "branch_summary"),  # those without a text
)
_ROLES = ("user", "assistant", "toolResult", "bashExecution", "system")


def _account(message: Mapping[str, Any]) -> Counter[str]:
    """Return what is left out of a message.

    Raises:
        UnknownPartError: It has a role or a block that is not known.
    """
    if message.get("role") not in _ROLES:
        raise UnknownPartError(f"a message of the role {message.get('role')!r} is not known")
    content = message.get("content")
    if isinstance(content, list):
        content = [
            block
            for block in content
            if not (isinstance(block, Mapping) and block.get("type") == "toolCall")
        ]
    return account(content)


_TOLD = {"custom_message": "content", "branch_summary": "summary"}
"""Entries that the model is shown as a message of the user, and where their text stands."""


def _branch(entries: Sequence[Mapping[str, Any]]) -> set[str] | None:
    """Return the ids of the branch that ends with the last entry; None where entries form no tree."""
    parents = {
        str(entry["id"]): entry["parentId"]
        for entry in entries
        if "id" in entry and "parentId" in entry
    }
    if not parents:
        return None
    live: set[str] = set()
    place: Any = next(reversed(parents))
    while place is not None and str(place) not in live:
        live.add(str(place))
        place = parents.get(str(place))
    return live


def read_transcript(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of a transcript; its first user message is the ``prompt`` beside the messages."""
    for line, document in documents:
        messages: list[Message] = []
        if document.get("prompt"):
            messages.append({"role": "user", "content": text_of(document["prompt"])})
        notes: Counter[str] = Counter()
        for one in document.get("messages", ()):
            notes += _account(one)
            messages += _messages(one)
        if len(messages) > 1:
            yield Session(str(document.get("tag") or line), messages, "openai", notes=notes)


def _broke_off(message: Mapping[str, Any]) -> bool:
    """Whether an answer was stopped or failed: pi sends none of it to the model again (its ``transformMessages``)."""
    return message.get("role") == "assistant" and message.get("stopReason") in ("aborted", "error")


def _messages(message: Mapping[str, Any]) -> Iterator[Message]:
    role, content = message.get("role"), message.get("content")
    if _broke_off(message):
        return
    if role == "assistant":
        blocks = [
            one if isinstance(one, Mapping) else {"type": "text", "text": text_of(one)}
            for one in _list(content)
        ]
        calls = [
            call(b.get("id"), b.get("name"), b.get("arguments", {}))
            for b in blocks
            if b.get("type") == "toolCall"
        ]
        yield assistant(
            text_of([block for block in blocks if block.get("type") != "toolCall"]), calls
        )
    elif role == "toolResult":
        yield result(message.get("toolCallId"), text_of(content))
    elif role == "bashExecution":
        if message.get("excludeFromContext"):  # the user ran it apart: the model is not told
            return
        yield {"role": "user", "content": _ran(message)}
    else:
        yield {"role": "system" if role == "system" else "user", "content": text_of(content)}


def _ran(message: Mapping[str, Any]) -> str:
    """Return what pi tells the model of a command that the user ran (its ``bashExecutionToText``)."""
    output, code = text_of(message.get("output")), message.get("exitCode")
    text = f"Ran `{message.get('command', '')}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def _list(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content]
