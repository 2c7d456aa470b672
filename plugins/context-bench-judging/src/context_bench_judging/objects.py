"""Asking for a JSON object, and for a better one when it cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

from context_bench.answers import part_answer
from context_bench_judging.asking import ClientPolicy, Request
from context_bench_judging.json_reply import json_objects
from context_bench_judging.transcript import Transcript
from context_bench_judging.unreadable import UnreadableReply, beginning_of
from context_bench_openai import ChatReply

_Read = TypeVar("_Read")
_REPAIR = (
    "That cannot be read: {reason}. Reply with the JSON object alone, with the field{s} {fields}."
)

Message = Mapping[str, str]


def ask_object(
    messages: Sequence[Message],
    fields: Mapping[str, Any],
    read: Callable[[Mapping[str, Any]], _Read],
    *,
    parameters: Mapping[str, Any],
    client_policy: ClientPolicy,
    transcript: Transcript,
    repairs: int = 3,
) -> Generator[Request, ChatReply, _Read]:
    """Yield requests for a JSON object until one can be read; return what was read.

    Args:
        messages: What is asked.
        fields: JSON schema of each field; all are required. The reply is held to it where the server takes it.
        read: Reads an object.
        parameters: Further fields of the request.
        client_policy: What the server takes.
        transcript: Is told every reply.
        repairs: How often a reply that cannot be read is sent back with the reason.

    Raises:
        UnreadableReply: The model refused, or no reply could be read.
        EndpointError: No reply came.
    """
    asked = [dict(message) for message in messages]
    wanted = {**parameters, "response_format": _format(fields)}
    for rounds_left in range(repairs, -1, -1):
        reply = transcript.add((yield from client_policy.exchange(_always(asked), wanted)))
        try:
            return _read(reply, tuple(fields), read)
        except _Refused:
            raise
        except UnreadableReply as reason:
            if not rounds_left:
                raise
            repair = _REPAIR.format(
                reason=reason, s="s" if len(fields) > 1 else "", fields=", ".join(fields)
            )
            answered = {"role": "assistant", "content": reply.text or "(nothing)"}
            asked = [*map(dict, messages), answered, {"role": "user", "content": repair}]
    raise AssertionError("unreachable")


def _always(messages: list[dict[str, str]]) -> Callable[[bool], list[dict[str, str]]]:
    return lambda _: messages


class _Refused(UnreadableReply):
    """The model will not answer: asking again is of no use."""


def _read(
    reply: ChatReply, fields: Sequence[str], read: Callable[[Mapping[str, Any]], _Read]
) -> _Read:
    if reply.refusal or reply.finish_reason == "content_filter":
        raise _Refused(
            f"the judge refused: {beginning_of(reply.refusal or reply.text or 'no words')}"
        )
    text = part_answer(reply.text).answer.strip()
    if not text:
        raise UnreadableReply("the reply is empty")
    for found in json_objects(text):
        plain = {_plain(name): value for name, value in found.items()}
        named = {name: plain[name] for name in fields if name in plain}
        if len(named) == len(fields):
            return read(named)
    if reply.finish_reason == "length":
        raise UnreadableReply("the reply was cut at its token limit")
    raise UnreadableReply(
        f"there is no JSON object with {' and '.join(map(repr, fields))} in {beginning_of(text)}"
    )


def _plain(name: str) -> str:
    return "_".join(str(name).lower().replace("-", " ").replace("_", " ").split())


def _format(fields: Mapping[str, Any]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": schema},
    }
