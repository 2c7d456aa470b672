"""Logs of LiteLLM and its proxy: one document a request, each with the whole history so far.

Requests whose messages begin with another's are one session: the longest is kept, with the answer that it got.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from context_bench_sessions.formats.chat import is_messages, recorded_session
from context_bench_sessions.formats.codex import add_item
from context_bench_sessions.messages import Message, Session, UnknownPartError, text_of


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield a session for each group of requests.

    Args:
        documents: Number of the document and the parsed log; those of several files come one after another.
    """
    longest: list[tuple[list[str], Mapping[str, Any]]] = []
    failed = 0
    for _, document in documents:
        if not isinstance(document, Mapping) or "messages" not in document:
            raise UnknownPartError("a record without messages is not known")
        messages = _messages(document)
        if not messages:
            continue
        failed += document.get("status") == "failure" or bool(document.get("error_str"))
        keys = [_key(message) for message in messages]
        for number, (known, earlier) in enumerate(longest):
            is_longer = len(keys) > len(known) or not _answer(earlier)
            if keys[: len(known)] == known and is_longer:
                longest[number] = (keys, document)
                break
            if known[: len(keys)] == keys:
                break
        else:
            longest.append((keys, document))
    for number, (_, document) in enumerate(longest, 1):
        raw = [*_messages(document), *_answer(document)]
        response = document.get("response")
        identity = response.get("id") if isinstance(response, Mapping) else None
        session = recorded_session(
            str(identity or document.get("litellm_call_id") or number), raw, document
        )
        if failed and number == 1:
            session = evolve(session, notes={**session.notes, "requests that failed": failed})
        yield session


def _messages(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages of a request; the prompt of a text completion as one of the user."""
    messages = document["messages"]
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if messages and not is_messages(messages):
        raise UnknownPartError("a request whose messages have no roles is not known")
    return list(messages or ())


def _answer(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the answer in the forms of chat, of text completions, of the Messages API and of Responses; none of a failure.

    Raises:
        UnknownPartError: The response has none of these forms.
    """
    response = document.get("response")
    if isinstance(response, str):
        return [{"role": "assistant", "content": response}] if response else []
    if not isinstance(response, Mapping) or not response:
        return []
    choices = response.get("choices")
    if isinstance(choices, list):
        if not choices or not isinstance(choices[0], Mapping):
            return []
        message = choices[0].get("message")
        if isinstance(message, Mapping):
            return [{"role": "assistant", **message}]
        return [{"role": "assistant", "content": text_of(choices[0].get("text"))}]
    if isinstance(response.get("content"), list):
        return [{"role": "assistant", "content": response["content"]}]
    if isinstance(response.get("output"), list):
        return _of_items(response["output"])
    if "error" in response or document.get("status") == "failure":
        return []
    raise UnknownPartError(f"a response with the keys {', '.join(map(str, response))} is not known")


def _of_items(items: list[Any]) -> list[Mapping[str, Any]]:
    """Return items of the Responses interface as messages of chat."""
    answered: list[Message] = []
    for item in items:
        add_item(answered, item, Counter())
    return [
        {
            "role": message["role"],
            "content": message["content"],
            "tool_calls": [
                {
                    "id": tool_call["id"],
                    "type": "function",
                    "function": {"name": tool_call["name"], "arguments": tool_call["arguments"]},
                }
                for tool_call in message.get("tool_calls", ())
            ],
        }
        for message in answered
    ]


def _key(message: Mapping[str, Any]) -> str:
    """Return what makes two messages the same: cache marks and empty fields come and go between requests."""
    return json.dumps(_plain(message), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _plain(one)
            for key, one in value.items()
            if key != "cache_control" and one not in (None, [], "")
        }
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
