"""What a server answered."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from context_bench.outcomes import outcome_of_finish
from context_bench_http.errors import UnusableReplyError
from context_bench_http.usage import ReportedUsage
from context_bench_openai.refusals import error_in_success
from context_bench_openai.usage import read_usage


@dataclass(frozen=True)
class ChatReply:
    """One reply of a model, to messages or to a prompt.

    Attributes:
        text: What the model said; empty when it only called tools or said nothing, never None.
        usage: Token counts that the server reported, see `context_bench_openai.usage`.
        usage_problem: Why a count that the server reported is unknown; None when none is.
        finish_reason: Why the model stopped, in the server's words.
        headers: Recorded response headers, names in lower case.
        latency: Seconds from sending the successful request to its last byte.
        ttft: Seconds to the first token, known only when streaming.
        model: The model that answered, as the server names it.
        tool_calls: ``{"id", "name", "arguments"}`` of each call; the arguments are the text that the model wrote.
        refusal: The model's words when the server marked them as a refusal; `text` holds them too.
        reasoning: The model's reasoning, where the server sends it apart from the answer.
        envelope: ``id`` and ``created`` of the completion, as far as the server sends them: a cache repeats them.
        logprobs: Log probabilities of the tokens as the server wrote them, where they were asked for.
        is_cached: Whether the reply comes from a cache of replies.
    """

    text: str
    usage: Mapping[str, int] = field(default_factory=dict)
    usage_problem: str | None = None
    finish_reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    ttft: float | None = None
    model: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    logprobs: Mapping[str, Any] | None = None
    is_cached: bool = False


@dataclass(frozen=True)
class EmbeddingReply:
    """The vectors of some texts.

    Attributes:
        vectors: One for each text, in their order.
        usage, headers, latency, model: As in `ChatReply`.
    """

    vectors: tuple[list[float], ...]
    usage: Mapping[str, int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    model: str | None = None

    def checked(self, count: int, where: str) -> EmbeddingReply:
        """Return the reply when it has as many vectors as there were texts.

        Raises:
            UnusableReplyError: It has not.
        """
        if len(self.vectors) != count:
            raise UnusableReplyError(
                f"{where} answered with {len(self.vectors)} vectors for {count} texts.", status=200
            )
        return self


def read_chat(where: str, content: Any, **received: Any) -> ChatReply:
    """Return the reply that the body of a chat completion holds.

    Raises:
        EndpointError: The body is an error, or no completion.
    """
    choice = _first_choice(where, content, "chat completion")
    message = choice.get("message")
    if not isinstance(message, dict):
        if "text" not in choice and outcome_of_finish(choice.get("finish_reason")) is None:
            raise UnusableReplyError(
                f"{where} answered with a choice that holds no message.", status=200
            )
        message = {"content": choice.get("text")}
    text = text_of(message.get("content"))
    refusal = text_of(message.get("refusal") or None)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    tool_calls = tuple(_tool_calls(message))
    return ChatReply(
        text=text or refusal,
        refusal=refusal or None,
        reasoning=text_of(reasoning) or reasoning_in(message.get("content")) or None,
        tool_calls=tool_calls,
        **_common(choice, content, has_text=bool(text or refusal or tool_calls)),
        **received,
    )


def read_text_completion(where: str, content: Any, **received: Any) -> ChatReply:
    """Return the reply that the body of a completion of a prompt holds.

    Raises:
        EndpointError: The body is an error, or no completion.
    """
    choice = _first_choice(where, content, "completion")
    if "text" not in choice:
        raise UnusableReplyError(f"{where} answered with a choice that holds no text.", status=200)
    text = text_of(choice["text"])
    return ChatReply(text=text, **_common(choice, content, has_text=bool(text)), **received)


def read_embeddings(where: str, content: Any, **received: Any) -> EmbeddingReply:
    """Return the vectors that a body holds, ordered by their index.

    Raises:
        EndpointError: The body is an error, or holds no vectors.
    """
    _check_body(where, content, "embeddings")
    found = content.get("data")
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise UnusableReplyError(
            f"{where} answered without embeddings: there is no list 'data'.", status=200
        )
    ordered = sorted(enumerate(found), key=lambda pair: _index(pair[1], pair[0]))
    received.pop("ttft", None)
    return EmbeddingReply(
        vectors=tuple(_vector(where, entry.get("embedding")) for _, entry in ordered),
        model=content.get("model"),
        usage=read_usage(content.get("usage")).counts,
        **received,
    )


def _check_body(where: str, content: Any, wanted: str) -> None:
    if not isinstance(content, dict):
        raise UnusableReplyError(
            f"{where} answered with {type(content).__name__} instead of a {wanted}.", status=200
        )
    choice = _choice_of(content)
    message = choice.get("message")
    message = message if isinstance(message, dict) else choice
    has_reply = any(message.get(name) for name in ("content", "text", "tool_calls", "refusal"))
    has_reply = has_reply or bool(content.get("data"))
    error = error_in_success(where, content, choice, has_reply)
    if error is not None:
        raise error


def _choice_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choice whose index is 0, else the first one; an empty one when there is none."""
    choices = content.get("choices")
    if not isinstance(choices, list):
        return {}
    known = [choice for choice in choices if isinstance(choice, dict)]
    return next((choice for choice in known if choice.get("index") == 0), known[0] if known else {})


def _first_choice(where: str, content: Any, wanted: str) -> Mapping[str, Any]:
    _check_body(where, content, wanted)
    choice = _choice_of(content)
    if choice:
        return choice
    if content.get("choices"):
        lack = "a choice that holds no message"
    elif content.get("choices") == []:
        lack = "an empty list of choices: there is no reply to score"
    elif content.get("type") == "message":
        lack = "a reply of the Messages API: evaluate it with --system anthropic"
    else:
        lack = "no choices: there is no reply to score"
    raise UnusableReplyError(f"{where} answered with {lack}.", status=200)


def _common(
    choice: Mapping[str, Any], content: Mapping[str, Any], has_text: bool
) -> dict[str, Any]:
    logprobs = choice.get("logprobs")
    usage = _usage(choice, content, has_text)
    return {
        "finish_reason": choice.get("finish_reason"),
        "logprobs": logprobs if isinstance(logprobs, dict) and logprobs else None,
        "model": content.get("model"),
        "usage": usage.counts,
        "usage_problem": usage.problem,
        "envelope": {
            name: content[name]
            for name in ("id", "created")
            if isinstance(content.get(name), str | int | float)
        },
    }


def _usage(choice: Mapping[str, Any], content: Mapping[str, Any], has_text: bool) -> ReportedUsage:
    """Return the usage; Moonshot reports it in the choice, and llama.cpp what it read from its cache in ``timings``."""
    timings = content.get("timings")
    cached_tokens = timings.get("cache_n") if isinstance(timings, dict) else None
    return read_usage(content.get("usage") or choice.get("usage"), has_text, cached_tokens)


def _index(entry: Mapping[str, Any], position: int) -> int:
    index = entry.get("index")
    return index if isinstance(index, int) else position


def _vector(where: str, embedding: Any) -> list[float]:
    """Return a vector that is written as numbers, or as base64 of little-endian 32-bit floats."""
    try:
        if isinstance(embedding, str):
            packed = base64.b64decode(embedding, validate=True)
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))
        if isinstance(embedding, list) and embedding:
            return [float(number) for number in embedding]
    except (ValueError, TypeError, struct.error):
        pass
    raise UnusableReplyError(f"{where} answered with an embedding that is no vector.", status=200)


def text_of(content: Any) -> str:
    """Return message content as text: a string as it is, the text of parts joined, nothing for None.

    What is neither is written as JSON, as a server had it that decoded what its model wrote: an object, ``true``, a number.
    """
    if isinstance(content, str):
        return content
    is_one_part = isinstance(content, dict) and content.get("type") in ("text", "output_text")
    parts = [content] if content is None or is_one_part else content
    if isinstance(parts, list) and all(map(_is_part, parts)):
        return "".join(_part_text(part) for part in parts if not _is_reasoning(part))
    return json.dumps(content, ensure_ascii=False)


def reasoning_in(content: Any) -> str:
    """Return the text of the parts of a content that are reasoning."""
    if not isinstance(content, list):
        return ""
    return "".join(_part_text(part) for part in content if _is_reasoning(part))


def _part_text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")


def _is_part(content: Any) -> bool:
    """Whether an item of a list is a part of a content: a text, nothing, or an object with a type or a text."""
    return (
        content is None
        or isinstance(content, str)
        or (isinstance(content, dict) and bool({"type", "text"} & {*content}))
    )


def _tool_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    if not calls and isinstance(message.get("function_call"), dict):
        calls = [{"function": message["function_call"]}]
    if not isinstance(calls, list):
        return []
    return [_tool_call(call) for call in calls if isinstance(call, dict)]


def _tool_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    named = function if isinstance(function, dict) else call
    return {"id": call.get("id"), "name": named.get("name"), "arguments": named.get("arguments")}
