"""What a system was given, and what it left: both in the canonical form of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.messages import whole_text
from context_bench_sessions.formats.chat import session_of
from context_bench_sessions.messages import Message, text_of
from context_bench_survival.probes import told


def given(original: Mapping[str, Any]) -> tuple[list[Message] | None, tuple[int, int]]:
    """Return what a system was given in the canonical form, and its region; None when there is no context."""
    messages = original.get("messages")
    if messages:
        start, end = original.get("region") or (0, len(messages))
        return canonical(messages), (int(start), int(end))
    context = original.get("context")
    if not context:
        return None, (0, 0)
    return [{"role": "user", "content": text_of(context)}], (0, 1)


def left(original: Mapping[str, Any], processed: Mapping[str, Any]) -> list[Message] | None:
    """Return what a system left, in the canonical form: the messages, or the context, that it put out."""
    if processed.get("messages") is not None and original.get("messages"):
        return canonical(processed["messages"])
    context = processed.get("context")
    if context is None:
        return None
    if original.get("messages"):  # the region as one text, between head and tail as they were
        start, end = original.get("region") or (0, len(original["messages"]))
        before = canonical(original["messages"])
        return [*before[:start], {"role": "user", "content": text_of(context)}, *before[end:]]
    return [{"role": "user", "content": text_of(context)}]


def standing(region: Sequence[Message], text: str) -> list[str]:
    """Return what is told by those messages of a region that still stand whole in a text that took its place.

    A message of JSON is read by its keys, which a text that holds many messages cannot be.
    """
    return [
        told(message)
        for message in region
        if (whole := whole_text(message)).strip() and whole in text
    ]


def canonical(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return messages of either provider, or canonical ones, in the canonical form."""
    if all(map(_is_canonical, messages)):
        return [dict(message) for message in messages]
    return provider_messages(messages)


def provider_messages(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return messages of either provider in the canonical form, as the readers of sessions do.

    What a system broke stays broken, to be counted: a role that is none is told as it is, a call that is none is left out, and
    an id that is missing is empty.

    Raises:
        TypeError: One of them is no mapping.
    """
    for message in messages:
        if not isinstance(message, Mapping):
            raise TypeError(
                f"messages must hold a mapping each, and one is of type {type(message).__name__}."
            )
    raw = [
        {**message, "role": str(message.get("role")), "tool_calls": _calls_in(message)}
        for message in messages
    ]
    session = session_of("", raw, {})
    roles = [str(raw[number]["role"]) for number in session.origins]
    return [
        dict(message) if role in _ROLES else {**message, "role": role}
        for message, role in zip(session.messages, roles, strict=True)
    ]


def _calls_in(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return (
        [one for one in calls if isinstance(one, Mapping)]
        if isinstance(calls, list | tuple)
        else []
    )


def _is_canonical(message: object) -> bool:
    if not isinstance(message, Mapping) or not _are_texts(message, ("role", "content")):
        return False
    calls = message.get("tool_calls", [])
    return (
        isinstance(calls, list | tuple)
        and all(
            isinstance(one, Mapping) and _are_texts(one, ("id", "name", "arguments"))
            for one in calls
        )
        and (message["role"] != "tool" or _are_texts(message, ("tool_call_id",)))
    )


def _are_texts(found: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(isinstance(found.get(name), str) for name in names)


_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
