"""What a server answered."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from context_bench_http.errors import UnusableReplyError
from context_bench_openai.refusals import error_in_success
from context_bench_openai.usage import read_usage


@dataclass(frozen=True)
class ChatReply:
    """One reply of a model, to messages or to a prompt.

    Attributes:
        text: What the model said; empty when it only called tools or said nothing, never None.
        usage: Token counts that the server reported, see `context_bench_openai.usage`.
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
        raise UnusableReplyError(
            f"{where} answered with a choice that holds no message.", status=200
        )
    text, refusal = text_of(message.get("content")), message.get("refusal") or None
    return ChatReply(
        text=text or text_of(refusal),
        refusal=text_of(refusal) or None,
        reasoning=text_of(message.get("reasoning_content") or message.get("reasoning")) or None,
        tool_calls=tuple(_tool_calls(message)),
        **_common(choice, content),
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
    return ChatReply(text=text_of(choice["text"]), **_common(choice, content), **received)


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
        usage=read_usage(content.get("usage")),
        **received,
    )


def _check_body(where: str, content: Any, wanted: str) -> None:
    if not isinstance(content, dict):
        raise UnusableReplyError(
            f"{where} answered with {type(content).__name__} instead of a {wanted}.", status=200
        )
    error = error_in_success(where, content)
    if error is not None:
        raise error


def _first_choice(where: str, content: Any, wanted: str) -> Mapping[str, Any]:
    _check_body(where, content, wanted)
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices:
        lack = "an empty list of choices" if choices == [] else "no choices"
        raise UnusableReplyError(
            f"{where} answered with {lack}: there is no reply to score.", status=200
        )
    choice = choices[0]
    if not isinstance(choice, dict):
        raise UnusableReplyError(
            f"{where} answered with a choice that holds no message.", status=200
        )
    return choice


def _common(choice: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    logprobs = choice.get("logprobs")
    return {
        "finish_reason": choice.get("finish_reason"),
        "logprobs": logprobs if isinstance(logprobs, dict) and logprobs else None,
        "model": content.get("model"),
        "usage": _usage(content),
        "envelope": {
            name: content[name]
            for name in ("id", "created")
            if isinstance(content.get(name), str | int | float)
        },
    }


def _usage(content: Mapping[str, Any]) -> dict[str, int]:
    """Return the usage; llama.cpp tells in ``timings`` what it took from its cache, also where ``usage`` does not."""
    usage = read_usage(content.get("usage"))
    timings = content.get("timings")
    if usage and "cache_read_tokens" not in usage and isinstance(timings, dict):
        usage.update(read_usage({"cached_tokens": timings.get("cache_n")}))
    return usage


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
        texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
        return "".join(text for text in texts if isinstance(text, str))
    return json.dumps(content, ensure_ascii=False)


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
