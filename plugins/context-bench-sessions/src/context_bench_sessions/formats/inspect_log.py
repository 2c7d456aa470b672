"""Logs of Inspect: a session for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_bench_sessions.formats.chat import is_messages, recorded_session
from context_bench_sessions.messages import Session


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield the session of each sample that has messages.

    Args:
        documents: Line number and parsed log.
    """
    for _, document in documents:
        for sample in document.get("samples") or ():
            if is_messages(sample.get("messages")):
                attachments = sample.get("attachments") or {}
                raw = [_shown(_resolved(message, attachments)) for message in sample["messages"]]
                session = recorded_session(
                    f"{sample.get('id')}-{sample.get('epoch', 1)}", raw, sample, "openai"
                )
                yield Session(session.id, session.messages, "openai", notes=session.notes)


def _shown(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as Inspect sends it: of a tool that failed the model is shown the error, and not what it put out."""
    error = message.get("error")
    if message.get("role") == "tool" and isinstance(error, Mapping) and error.get("message"):
        return {**message, "content": f"Error: {error['message']}"}
    return message


def _resolved(value: Any, attachments: Mapping[str, str]) -> Any:
    """Put long texts back in their place: a log keeps them once, and says ``attachment://HASH`` elsewhere."""
    if isinstance(value, str) and value.startswith("attachment://"):
        return attachments.get(value.removeprefix("attachment://"), value)
    if isinstance(value, Mapping):
        return {key: _resolved(one, attachments) for key, one in value.items()}
    if isinstance(value, list):
        return [_resolved(one, attachments) for one in value]
    return value
