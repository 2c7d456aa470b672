"""What a chat completion said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from context_bench_openai.errors import UnusableReplyError
from context_bench_openai.refusals import error_in_success
from context_bench_openai.usage import read_usage


@dataclass(frozen=True)
class ChatReply:
    """One reply of a chat model.

    Attributes:
        text: What the model said; empty when it only called tools or said nothing, never None.
        usage: Token counts that the server reported, see `context_bench_openai.usage`.
        finish_reason: Why the model stopped, in the server's words.
        headers: Recorded response headers, names in lower case.
        latency: Seconds from sending the successful request to its last byte.
        ttft: Seconds to the first token, known only when streaming.
        attempts: Requests sent, the successful one included.
        model: The model that answered, as the server names it.
        tool_calls: ``{"id", "name", "arguments"}`` of each call; the arguments are the text that the model wrote.
        refusal: The model's words when the server marked them as a refusal; `text` holds them too.
        reasoning: The model's reasoning, where the server sends it apart from the answer.
        envelope: ``id`` and ``created`` of the completion, as far as the server sends them: a cache repeats them.
    """

    text: str
    usage: Mapping[str, int] = field(default_factory=dict)
    finish_reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    ttft: float | None = None
    attempts: int = 1
    model: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)


def read_completion(where: str, content: Any) -> dict[str, Any]:
    """Return the fields of a `ChatReply` that a completion body holds.

    Raises:
        EndpointError: The body is an error, or no completion.
    """
    if not isinstance(content, Mapping):
        raise UnusableReplyError(
            f"{where} answered with {type(content).__name__} instead of a chat completion.", status=200
        )
    error = error_in_success(where, content)
    if error is not None:
        raise error
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices:
        lack = "an empty list of choices" if choices == [] else "no choices"
        raise UnusableReplyError(f"{where} answered with {lack}: there is no reply to score.", status=200)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise UnusableReplyError(f"{where} answered with a choice that holds no message.", status=200)
    text, refusal = text_of(message.get("content")), message.get("refusal") or None
    return {
        "text": text or text_of(refusal),
        "refusal": text_of(refusal) or None,
        "reasoning": text_of(message.get("reasoning_content") or message.get("reasoning")) or None,
        "tool_calls": tuple(_tool_calls(message)),
        "finish_reason": choice.get("finish_reason"),
        "model": content.get("model"),
        "usage": read_usage(content.get("usage")),
        "envelope": {
            name: content[name] for name in ("id", "created") if isinstance(content.get(name), str | int | float)
        },
    }


def text_of(content: Any) -> str:
    """Return message content as text: a string as it is, the text of parts joined, and nothing for None."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)


def _tool_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [{"function": message["function_call"]}]
    if not isinstance(calls, list):
        return []
    return [_tool_call(call) for call in calls if isinstance(call, Mapping)]


def _tool_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    return {"id": call.get("id"), "name": named.get("name"), "arguments": named.get("arguments")}
