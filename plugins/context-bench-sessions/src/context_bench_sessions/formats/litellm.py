"""Logs of LiteLLM and its proxy: one document a request, each with the whole history so far.

Requests whose messages begin with another's are one session: the longest is kept, with the answer that it got.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from context_bench_sessions.formats.chat import is_messages, session_of
from context_bench_sessions.messages import Session


def read(documents: Iterator[tuple[int, Any]]) -> Iterator[Session]:
    """Yield a session for each group of requests.

    Args:
        documents: Number of the document and the parsed log; those of several files come one after another.
    """
    longest: list[tuple[list[str], Mapping[str, Any]]] = []
    for _, document in documents:
        if not isinstance(document, Mapping) or not is_messages(document.get("messages")):
            continue
        keys = [_key(message) for message in document["messages"]]
        for number, (known, _) in enumerate(longest):
            if keys[: len(known)] == known:
                longest[number] = (keys, document)
                break
            if known[: len(keys)] == keys:
                break
        else:
            longest.append((keys, document))
    for number, (_, document) in enumerate(longest, 1):
        answer = _answer(document)
        raw = [*document["messages"], *([answer] if answer is not None else [])]
        response = document.get("response")
        identity = response.get("id") if isinstance(response, Mapping) else None
        yield session_of(str(identity or number), raw, document)


def _answer(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    response = document.get("response")
    choices = response.get("choices") if isinstance(response, Mapping) else None
    if not choices or not isinstance(choices[0], Mapping):
        return None
    message = choices[0].get("message")
    return {"role": "assistant", **message} if isinstance(message, Mapping) else None


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
