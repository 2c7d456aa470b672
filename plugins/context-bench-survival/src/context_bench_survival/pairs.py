"""Calls and results that do not fit together, the recording's own faults taken off: a provider answers 400. And who speaks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from context_bench_sessions.messages import Message

Fault = tuple[str, str]
"""What is wrong, and with which call, message or role."""

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def pair_faults(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Return how many faults there are that the recording did not have; one that it had excuses no other.

    Counted are calls without a result, results without a call or in front of it (a second one of the same call is without,
    too), results that are parted from their call by another message, ids that were not there, changed names and arguments, a
    conversation that no user opens any more, and roles that no provider knows. Ids may come again, as some servers count them
    from 0 in each turn: a result answers the latest call that waits for one.
    """
    return (faults(after, before) - faults(before, before)).total()


def faults(messages: Sequence[Message], before: Sequence[Message]) -> Counter[Fault]:
    """Return the faults of messages, those of ids and arguments against the recording.

    Args:
        messages: What is looked at, in the canonical form.
        before: The recording.
    """
    recorded: dict[str, list[Mapping[str, str]]] = {}
    for message in before:
        for one in message.get("tool_calls", ()):
            recorded.setdefault(one["id"], []).append(one)
    found: Counter[Fault] = Counter(_role_faults(messages))
    waiting, parted = Counter[str](), Counter[str]()
    for message in messages:
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            for calls in (waiting, parted):
                if calls[identity]:
                    calls[identity] -= 1
                    found["parted from its call", identity] += calls is parted
                    break
            else:
                found["without a call", identity] += 1
            continue
        parted, waiting = parted + waiting, Counter[str]()
        for one in message.get("tool_calls", ()):
            waiting[one["id"]] += 1
            if (kind := _changed(one, recorded.get(one["id"], ()))) is not None:
                found[kind, one["id"]] += 1
    for identity, count in (
        parted + waiting
    ).items():  # a result in front of its call is one fault and not two
        found["without a result", identity] += max(0, count - found["without a call", identity])
    return found


def role_changes(messages: Sequence[Message], before: Sequence[Message]) -> int:
    """Return how many messages are spoken by another one than in the recording: calls by anyone but the agent, texts by another.

    Nothing of them is lost, but a provider may refuse them, and a model takes them for what another one said. A text counts that
    stands as it was recorded; a role that is none is a fault of pairs.

    Args:
        messages: What is looked at, in the canonical form.
        before: The recording.
    """
    said = Counter((_speaker(message), str(message["content"]).strip()) for message in before)
    called = Counter(
        (_speaker(message), one["id"])
        for message in before
        for one in message.get("tool_calls", ())
    )
    count = 0
    unknown: list[tuple[str, str]] = []
    for message in messages:
        key = speaker, text = _speaker(message), str(message["content"]).strip()
        calls = message.get("tool_calls", ())
        if speaker not in _SPEAKERS:
            continue
        if speaker != "assistant" and any(not called[speaker, one["id"]] for one in calls):
            count += 1
        elif said[key]:
            said[key] -= 1
        elif text:
            unknown.append(key)
    for speaker, text in unknown:
        other = next((one for one in _SPEAKERS if one != speaker and said[one, text]), None)
        if other is not None:
            said[other, text] -= 1
            count += 1
    return count


_SPEAKERS = ("system", "user", "assistant", "tool")
_OTHER_NAMES = {"developer": "system", "function": "tool"}


def _speaker(message: Message) -> str:
    role = str(message["role"])
    return _OTHER_NAMES.get(role, role)


def _changed(one: Mapping[str, str], recorded: Sequence[Mapping[str, str]]) -> str | None:
    """Return what of a call was not recorded so: its id, its name or its arguments; None where all was."""
    if not recorded:
        return "id"
    named = [other["arguments"] for other in recorded if other["name"] == one["name"]]
    if not named:
        return "name"
    same = one["arguments"] in named or _plain(one["arguments"]) in map(_plain, named)
    return None if same else "arguments"


def _role_faults(messages: Sequence[Message]) -> list[Fault]:
    unknown = [
        ("role", str(message["role"])) for message in messages if message["role"] not in _ROLES
    ]
    first = next(
        (str(one["role"]) for one in messages if one["role"] not in ("system", "developer")), "user"
    )
    return unknown + ([("opened by", first)] if first != "user" and first in _ROLES else [])


def _plain(arguments: str) -> str:
    """Return arguments as one text for all ways to write the same JSON; those that are none are themselves."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments.strip()
