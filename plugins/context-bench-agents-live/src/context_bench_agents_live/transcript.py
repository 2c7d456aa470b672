"""What an agent sent in each turn, and what a proxy forwarded of it, in a bounded form that a row stores."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, frozen

from context_bench.tokens import WordTokenizer
from context_bench_agents_live.conversation import Body

MAX_CHARACTERS = 200_000
_MAX_REQUESTS = 300


@frozen
class Message:
    """A message as a transcript shows it.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        text: Its text; calls of tools are lines of it.
    """

    role: str
    text: str


@define(eq=False)
class _Request:
    """A request, as numbers of messages.

    Attributes:
        sent: The messages that the agent sent.
        has_tools: Whether it offers tools.
        is_open: Whether its reply has not arrived.
        received: The messages that were forwarded; None while nothing was.
    """

    sent: list[int]
    has_tools: bool
    is_open: bool = True
    received: list[int] | None = None


class Transcript:
    """Records the requests of one row. Its methods may be called from several threads.

    Args:
        max_characters: Characters of messages that are stored; of a message beyond them, only role and length are.
    """

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._max_characters = max_characters
        self._lock = threading.Lock()
        self._numbers: dict[Message, int] = {}
        self._requests: list[_Request] = []
        self._left_out = 0

    def send(self, body: Body) -> int | None:
        """Record a request as the agent sends it, and return its number; None where there are too many."""
        with self._lock:
            return self._add(body)

    def settle(self, number: int | None) -> None:
        """Record that a request was answered."""
        with self._lock:
            if number is not None:
                self._requests[number].is_open = False

    def receive(self, sent: Body, received: Body) -> None:
        """Record a request as it was forwarded. It belongs to the one that waits for its reply.

        Args:
            sent: The request as it arrived, which is what the agent sent where none waits.
            received: What is left of it behind a control.
        """
        with self._lock:
            request = self._waiting(bool(sent.get("tools")))
            if request is None:
                number = self._add(sent)
                if number is None:
                    return
                request = self._requests[number]
                request.is_open = False
            request.received = self._numbers_of(received)

    def record(self) -> dict[str, Any]:
        """Return the transcript as a row stores it.

        ``messages`` has each text once, with ``role``, ``tokens`` and ``text``, or the ``length`` of a text that is not stored.
        ``requests`` has for each request what was ``sent`` and ``received``: how many messages are the ``same`` as at the
        beginning of the previous one, and the numbers of those that follow, ``more``. ``received`` is missing where nothing
        was forwarded. ``left_out`` counts requests that are not stored.
        """
        tokenizer = WordTokenizer()
        left = self._max_characters
        messages = []
        for message in self._numbers:
            length = len(message.text)
            is_stored = length <= left
            left -= length if is_stored else 0
            shown = {"text": message.text} if is_stored else {"length": length}
            tokens = tokenizer.count(message.text)
            messages.append({"role": message.role, "tokens": tokens, **shown})
        offering = any(request.has_tools for request in self._requests)
        requests = []
        sent: list[int] = []
        received: list[int] = []
        for request in self._requests:
            entry: dict[str, Any] = {"sent": _difference(sent, request.sent)}
            sent = request.sent
            if request.received is not None:
                entry["received"] = _difference(received, request.received)
                received = request.received
            if offering and not request.has_tools:
                entry["side"] = True
            requests.append(entry)
        return {"messages": messages, "requests": requests, "left_out": self._left_out}

    def _add(self, body: Body) -> int | None:
        if len(self._requests) >= _MAX_REQUESTS:
            self._left_out += 1
            return None
        self._requests.append(_Request(self._numbers_of(body), bool(body.get("tools"))))
        return len(self._requests) - 1

    def _waiting(self, has_tools: bool) -> _Request | None:
        """Return the request whose forwarding is awaited; else the one that a proxy forwards again."""
        waiting = [
            request
            for request in self._requests
            if request.is_open and request.has_tools == has_tools
        ]
        new = [request for request in waiting if request.received is None]
        return next(iter([*new, *waiting]), None)

    def _numbers_of(self, body: Body) -> list[int]:
        return [
            self._numbers.setdefault(message, len(self._numbers)) for message in messages_of(body)
        ]


def _difference(previous: Sequence[int], numbers: Sequence[int]) -> dict[str, Any]:
    same = 0
    for first, second in zip(previous, numbers, strict=False):
        if first != second:
            break
        same += 1
    return {"same": same, "more": list(numbers[same:])}


def messages_of(body: Body) -> list[Message]:
    """Return the messages of a request of any of the three interfaces, the system prompt first.

    >>> messages_of({"messages": [{"role": "user", "content": "hello"}]})
    [Message(role='user', text='hello')]
    """
    messages = []
    for name in ("system", "instructions"):
        text = _text(body.get(name))
        if text:
            messages.append(Message("system", text))
    items = body.get("input", body.get("messages"))
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            messages += _messages_of_item(item)
    return messages


def _messages_of_item(item: Mapping[str, Any]) -> Iterator[Message]:
    """Yield the messages of an item: a result of a tool between other blocks is a message."""
    role = str(item.get("role") or "assistant")
    kind = item.get("type")
    if kind == "function_call":
        yield Message("assistant", _call(item.get("name"), item.get("arguments")))
        return
    if kind == "function_call_output":
        yield Message("tool", _text(item.get("output")))
        return
    content = item.get("content", item.get("summary"))
    texts: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            yield Message("tool", _text(block.get("content")))
        elif isinstance(block, Mapping) and block.get("type") == "tool_use":
            texts.append(_call(block.get("name"), block.get("input")))
        else:
            texts.append(_text([block]))
    for call in item.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            texts.append(_call(function.get("name"), function.get("arguments")))
    text = "\n".join(text for text in texts if text)
    if text:
        yield Message(role, text)


def _call(name: object, arguments: object) -> str:
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return f"calls {name} {arguments}"


def _text(content: object) -> str:
    """Return the texts of a content; a block that has none as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, ensure_ascii=False)
