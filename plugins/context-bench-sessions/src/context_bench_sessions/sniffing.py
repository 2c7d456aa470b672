"""What format a file is, told from its content: names of files say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_sessions.formats.chat import dialect_of, is_messages, messages_in
from context_bench_sessions.formats.codex import is_item

FORMATS = (
    "openai",
    "anthropic",
    "claude-code",
    "codex",
    "pi",
    "pi-transcript",
    "swe-agent",
    "litellm",
    "otel",
    "inspect",
)

_CODEX = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_PI = ("session", "message", "compaction", "model_change", "thinking_level_change")


def sniff(document: Any) -> str | None:
    """Return the format that one document of a file has, or None when it tells nothing.

    Args:
        document: The whole of a JSON file, or one line of a JSONL file.
    """
    if isinstance(document, list):
        if document and all(isinstance(one, Mapping) and "attributes" in one for one in document):
            return "otel"
        return dialect_of(document) if is_messages(document) else None
    if not isinstance(document, Mapping):
        return None
    return _record(document)


def _record(record: Mapping[str, Any]) -> str | None:
    if (
        isinstance(record.get("schema"), str)
        and "transcript" in record["schema"]
        and "messages" in record
    ):
        return "pi-transcript"
    if isinstance(record.get("samples"), list) and "eval" in record:
        return "inspect"
    if "trajectory" in record and isinstance(record.get("history"), list):
        return "swe-agent"
    if "attributes" in record and ("trace_id" in record or "traceId" in record):
        return "otel"
    kind = record.get("type")
    if (kind in _CODEX and "payload" in record) or is_item(record):
        return "codex"
    if "uuid" in record and kind in ("user", "assistant", "system", "attachment"):
        return "claude-code"
    if kind in _PI and "timestamp" in record and "uuid" not in record:
        return "pi"
    if is_messages(record.get("messages")) and isinstance(record.get("response"), Mapping):
        return "litellm"
    found = messages_in(record)
    if found is not None:
        return dialect_of(found)
    if isinstance(record.get("role"), str) and "content" in record:
        return dialect_of([record])
    return None


def seen(document: Any) -> str:
    """Return what a document is, for a message: ``an object with the keys a, b``."""
    if isinstance(document, Mapping):
        return f"an object with the keys {', '.join(map(str, list(document)[:8])) or '(none)'}"
    if isinstance(document, list):
        return f"a list of {len(document)}" + (
            f", the first of them {seen(document[0])}" if document else ""
        )
    return f"a {type(document).__name__}"
