"""Sessions in one form: what an agent was told, what it said, what it called and what came back.

A message is a plain dict, as every example is: ``role`` (``system``, ``user``, ``assistant`` or ``tool``), ``content`` (text),
for assistants ``tool_calls`` - a list of ``{"id", "name", "arguments"}``, the arguments as the JSON text that was recorded where
there is one - and for tools ``tool_call_id``. Reasoning stays out: no provider is sent it again as text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import Factory, frozen

Message = dict[str, Any]

ROLES = ("system", "user", "assistant", "tool")

IMAGE = "[image]"
"""Stands where a picture or another part that is no text was."""


@frozen(eq=False)
class Compaction:
    """A compaction that the agent really made.

    Attributes:
        at: Index of the first message that was written after it.
        summary: Text that took the place of what was dropped; empty where the file holds none that can be read.
        first_kept: Index of the first message that was kept as it was.
        replacement: The whole history that the agent went on with, where the file holds it: messages that it kept, and the
            summary among them; empty where the summary alone took the place.
    """

    at: int
    summary: str
    first_kept: int
    replacement: Sequence[Message] = ()


@frozen(eq=False)
class Session:
    """One recorded session.

    Attributes:
        id: What it is called: unique in its file, stable.
        messages: Its messages in order.
        dialect: ``"openai"`` or ``"anthropic"``: how its raw messages are written.
        raw: The messages as they were recorded, where the file holds them in a provider's form; else empty.
        origins: For each message the number of the raw one that it comes from; empty without raw ones.
        tools: Tool definitions, as recorded.
        format: The format that its messages turned out to have; empty where it is the file's.
        raw_system: The system prompt as recorded beside the messages, with its ``cache_control``; None where there is none.
        compactions: Compactions in the order in which they were made.
        notes: What was left out, by what it is, with counts.
    """

    id: str
    messages: Sequence[Message]
    dialect: str = "openai"
    raw: Sequence[Mapping[str, Any]] = ()
    origins: Sequence[int] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    compactions: Sequence[Compaction] = ()
    notes: Mapping[str, int] = Factory(dict)
    raw_system: Any = None
    format: str = ""


def call(identity: object, name: object, arguments: object) -> dict[str, str]:
    """Return a tool call; arguments that are no text yet are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(identity or ""), "name": str(name or ""), "arguments": text}


def spoken(role: str, content: str, calls: Sequence[dict[str, str]] = ()) -> Message:
    """Return a message of anybody; proxies put calls into messages that are not the agent's any more."""
    return {"role": role, "content": content, **({"tool_calls": list(calls)} if calls else {})}


def assistant(content: str, calls: Sequence[dict[str, str]] = ()) -> Message:
    """Return a message of the agent."""
    return spoken("assistant", content, calls)


def result(identity: object, content: str) -> Message:
    """Return the result of a tool call."""
    return {"role": "tool", "content": content, "tool_call_id": str(identity or "")}


def text_of(content: object, separator: str = "\n") -> str:
    """Return the text of a content: a string, parts with text, or nested parts; other parts become :data:`IMAGE`."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _part(content)
    if isinstance(content, Iterable):
        return separator.join(part for part in map(text_of, content) if part)
    return str(content)


def _part(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return ""
    if kind in ("server_tool_use", "mcp_tool_use"):
        return f"{part.get('name', '')} {json.dumps(part.get('input', {}), ensure_ascii=False)}".strip()
    if kind in _TOLD_IN_FIELDS:
        return text_of([part.get(key) for key in _TOLD_IN_FIELDS[kind]])
    if kind == "resource":
        return text_of(part.get("resource")) or IMAGE
    if kind == "document":
        return text_of([part.get("title"), _plain_source(part.get("source"))])
    for key in _TEXTS:
        if part.get(key) is not None:
            return text_of(part[key])
    return IMAGE if kind not in (None, "text") else ""


class UnknownPartError(ValueError):
    """A part of a session that its reader does not know: nothing of it may be lost without a word."""


REASONING = "blocks of reasoning"
SHOWN_AS_IMAGE = "pictures and files, shown as [image]"
MARKS = "marks that say nothing to the model"

_REASONING = (
    "thinking",
    "redacted_thinking",
    "reasoning",
    "redactedThinking",
    "summary_text",
    "encrypted_content",
)
_NO_TEXT = (
    "image",
    "image_url",
    "input_image",
    "output_image",
    "computer_screenshot",
    "file",
    "input_file",
    "input_audio",
    "output_audio",
    "audio",
    "video",
    "video_url",
    "media",
    "container_upload",
    "resource",
    "document",
    "resource_link",
)
_MARKS = ("step-start", "cache_point", "compaction", "context_management")
_READ_APART = ("tool_use", "tool_result", "server_tool_use", "mcp_tool_use")


def account(content: object) -> Counter[str]:
    """Return what :func:`text_of` leaves out of a content, by what it is.

    Raises:
        UnknownPartError: A block is of no known type and has no text.
    """
    found: Counter[str] = Counter()
    if isinstance(content, Mapping):
        return _account_of_block(content)
    if isinstance(content, Iterable) and not isinstance(content, str):
        for part in content:
            found += account(part)
    return found


def _account_of_block(block: Mapping[str, Any]) -> Counter[str]:
    kind = block.get("type")
    if kind in _REASONING:
        return Counter({REASONING: 1})
    if kind in _MARKS:
        return Counter({MARKS: 1})
    if kind in _READ_APART or kind in _TOLD_IN_FIELDS:
        return account(block.get("content")) if kind == "tool_result" else Counter()
    texts = [block[key] for key in _TEXTS if block.get(key) is not None]
    if texts:
        return account(texts[0])
    if kind in _NO_TEXT:
        return Counter({SHOWN_AS_IMAGE: 1}) if text_of(block) == IMAGE else Counter()
    if kind == "text" or not block:
        return Counter()
    what = "no type" if kind is None else f"the type {kind!r}"
    raise UnknownPartError(
        f"a block with {what} and the keys {', '.join(map(str, list(block)[:8]))} is not known"
    )


def _plain_source(source: object) -> object:
    """Return what a document tells that is no file: a text, or blocks."""
    if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        return source.get("data", source.get("content"))
    return IMAGE


_TEXTS = ("text", "content", "output", "refusal", "result")
_RAN = ("stdout", "stderr", "content")
_TOLD_IN_FIELDS: Mapping[Any, Sequence[str]] = {
    "web_search_result": ("title", "url"),
    "web_search_tool_result_error": ("error_code",),
    "web_fetch_result": ("url", "content"),
    "web_fetch_tool_result_error": ("error_code",),
    "code_execution_result": _RAN,
    "bash_code_execution_result": _RAN,
    "code_execution_tool_result_error": ("error_code",),
    "bash_code_execution_tool_result_error": ("error_code",),
    "search_result": ("title", "source", "content"),
    "tool_reference": ("tool_name",),
}
"""Blocks that tell what the model was shown in several fields: those of a server's own tools, mostly, and of searches."""


def count_pairs(messages: Sequence[Message]) -> tuple[int, int, int, int]:
    """Return how many calls and results there are, calls without a result, and results without a call."""
    calls = Counter(one["id"] for message in messages for one in message.get("tool_calls", ()))
    results = Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    return calls.total(), results.total(), (calls - results).total(), (results - calls).total()
