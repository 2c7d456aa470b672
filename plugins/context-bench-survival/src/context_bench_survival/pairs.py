"""Calls and results that do not fit together: what a provider answers with 400, the recording's own faults taken off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from context_bench_sessions.messages import Message

Fault = tuple[str, str]
"""What is wrong, and with which call, message or role."""

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def pair_faults(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Return how many faults there are that the recording did not have; one that it had excuses no other.

    Counted are calls without a result, results without a call or in front of it, results that are parted from their call by
    another message, ids that were not there, changed arguments, a conversation that no user opens any more, and roles that no
    provider knows.
    """
    return (faults(after, before) - faults(before, before)).total()


def faults(messages: Sequence[Message], before: Sequence[Message]) -> Counter[Fault]:
    """Return the faults of messages, those of ids and arguments against the recording.

    Args:
        messages: What is looked at, in the canonical form.
        before: The recording.
    """
    recorded: dict[str, set[str]] = {}
    for message in before:
        for one in message.get("tool_calls", ()):
            recorded.setdefault(one["id"], set()).add(_plain(one["arguments"]))
    found: Counter[Fault] = Counter(_role_faults(messages))
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    seen: set[str] = set()
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            if identity not in open_calls:
                found["parted from its call" if identity in seen else "without a call", identity] += 1
            continue
        open_calls = {one["id"] for one in message.get("tool_calls", ())}
        for one in message.get("tool_calls", ()):
            seen.add(one["id"])
            found["without a result", one["id"]] = int(one["id"] not in answered)
            if _plain(one["arguments"]) not in recorded.get(one["id"], ()):
                found["id" if one["id"] not in recorded else "arguments", one["id"]] += 1
    return found


def _role_faults(messages: Sequence[Message]) -> list[Fault]:
    unknown = [("role", str(message["role"])) for message in messages if message["role"] not in _ROLES]
    first = next((str(one["role"]) for one in messages if one["role"] not in ("system", "developer")), "user")
    return unknown + ([("opened by", first)] if first != "user" and first in _ROLES else [])


def _plain(arguments: str) -> str:
    return "".join(arguments.split())
