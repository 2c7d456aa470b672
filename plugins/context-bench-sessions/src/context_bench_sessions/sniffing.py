"""What format a file is, found from its content: names of files say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_sessions.formats.chat import is_messages
from context_bench_sessions.formats.codex import is_item
from context_bench_sessions.formats.messages_in import (
    LIST_FORMATS,
    form_of,
    messages_in,
    records_in,
)

FORMATS = (
    *LIST_FORMATS,
    "claude-code",
    "codex",
    "pi",
    "pi-transcript",
    "swe-agent",
    "litellm",
    "otel",
    "inspect",
    "langfuse",
    "langsmith",
)

_CODEX = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_STRICT = ("claude-code", "codex", "pi")
"""Formats of lines whose readers refuse a line that they do not know."""
_CODEX_HEADER = ("instructions", "git")
_PI = ("session", "message", "compaction", "model_change", "thinking_level_change")
_LITELLM = (
    "response",
    "call_type",
    "litellm_call_id",
    "model_group",
    "error_str",
    "error_information",
)


def sniff(document: Any) -> str | None:
    """Return the format that one document of a file has, or None when it tells nothing.

    Args:
        document: The whole of a JSON file, or one line of a JSONL file.
    """
    if isinstance(document, list):
        if document and all(isinstance(one, Mapping) and _is_span(one) for one in document):
            return "otel"
        form = form_of(document)
        if form is not None:
            return form
        records = records_in(document)
        return sniff(records[0]) if records else None
    if not isinstance(document, Mapping):
        return None
    return _record(document)


def is_compatible(found: str, other: str) -> bool:
    """Whether a document of one format may stand in a file of another: single messages tell little.

    Args:
        found: The format of the file.
        other: The format of one of its documents alone.
    """
    if found == other or (found in LIST_FORMATS and other in LIST_FORMATS):
        return True
    return found in _STRICT and other in LIST_FORMATS


def _is_span(record: Mapping[str, Any]) -> bool:
    if "resourceSpans" in record:
        return True
    context = record.get("context")
    has_trace = "trace_id" in record or "traceId" in record or isinstance(context, Mapping)
    return "attributes" in record and has_trace


def _record(record: Mapping[str, Any]) -> str | None:
    own = _log_of(record) or _line_of(record)
    if own is not None:
        return own
    if "messages" in record and any(name in record for name in _LITELLM):
        return "litellm" if _is_log(record["messages"]) else None
    found = messages_in(record)
    if found is not None:
        return found[0]
    if "id" in record and "timestamp" in record and any(name in record for name in _CODEX_HEADER):
        return "codex"
    return form_of([record])


def _log_of(record: Mapping[str, Any]) -> str | None:
    """The format of a document that is a log of its own."""
    schema = record.get("schema")
    if isinstance(schema, str) and "transcript" in schema and "messages" in record:
        return "pi-transcript"
    if isinstance(record.get("samples"), list) and "eval" in record:
        return "inspect"
    if "trajectory" in record and isinstance(record.get("history"), list):
        return "swe-agent"
    if _is_span(record):
        return "otel"
    if isinstance(record.get("observations"), list):
        return "langfuse"
    if "run_type" in record and isinstance(record.get("inputs"), Mapping):
        return "langsmith"
    return None


def _line_of(record: Mapping[str, Any]) -> str | None:
    """The format of a line that names its type."""
    kind = record.get("type")
    if kind in _CODEX and "payload" in record:
        return "codex"
    if is_item(record):
        return "responses"
    if "uuid" in record and kind in ("user", "assistant", "system", "attachment"):
        return "claude-code"
    if kind in _PI and "timestamp" in record and "uuid" not in record:
        return "pi"
    return None


def _is_log(messages: Any) -> bool:
    return isinstance(messages, str) or is_messages(messages)


def seen(document: Any) -> str:
    """Return what a document is, for a message: ``an object with the keys a, b``."""
    if isinstance(document, Mapping):
        return f"an object with the keys {', '.join(map(str, list(document)[:8])) or '(none)'}"
    if isinstance(document, list):
        return f"a list of {len(document)}" + (
            f", the first of them {seen(document[0])}" if document else ""
        )
    return f"a {type(document).__name__}"
