"""Sessions of the pi coding agent, and the transcripts that forge keeps of its sub-agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_bench_sessions.messages import Compaction, Message, Session, assistant, call, result, text_of


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of a pi session file; ``firstKeptEntryIndex`` counts lines from 0.

    Args:
        documents: Line number, counted from 1, and parsed entry, in order.
    """
    identity = "1"
    messages: list[Message] = []
    places: dict[int, int] = {}
    compactions: list[Compaction] = []
    for line, entry in documents:
        places[line - 1] = len(messages)
        if not isinstance(entry, Mapping):
            continue
        if entry.get("type") == "session":
            identity = str(entry.get("id", identity))
        elif entry.get("type") == "message" and isinstance(entry.get("message"), Mapping):
            messages += _messages(entry["message"])
        elif entry.get("type") == "compaction":
            first = int(entry.get("firstKeptEntryIndex", line - 1))
            kept = places.get(first, len(messages))
            compactions.append(Compaction(len(messages), text_of(entry.get("summary")), kept))
    if messages:
        yield Session(identity, messages, "openai", compactions=compactions)


def read_transcript(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of a transcript; its first user message is the ``prompt`` beside the messages."""
    for line, document in documents:
        messages: list[Message] = []
        if document.get("prompt"):
            messages.append({"role": "user", "content": text_of(document["prompt"])})
        messages += [message for one in document.get("messages", ()) for message in _messages(one)]
        if len(messages) > 1:
            yield Session(str(document.get("tag") or line), messages, "openai")


def _messages(message: Mapping[str, Any]) -> Iterator[Message]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        blocks = content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]
        calls = [
            call(b.get("id"), b.get("name"), b.get("arguments", {})) for b in blocks if b.get("type") == "toolCall"
        ]
        yield assistant(text_of([block for block in blocks if block.get("type") != "toolCall"]), calls)
    elif role == "toolResult":
        yield result(message.get("toolCallId"), text_of(content))
    elif role == "bashExecution":
        yield {
            "role": "user",
            "content": f"Ran `{message.get('command', '')}`\n```\n{text_of(message.get('output'))}\n```",
        }
    else:
        yield {"role": "system" if role == "system" else "user", "content": text_of(content)}
