"""Server-sent events of the Messages API, put together into the message that the server would have sent at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_anthropic.refusals import error_of
from context_bench_http import EndpointUnreachableError
from context_bench_http.events import ServerEvents, error_of_event
from context_bench_http.usage import latest_usage

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class EventStream:
    """Collects the events of a streamed message; feed it bytes as they arrive.

    Args:
        where: The endpoint, without secrets.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._events = ServerEvents(where)
        self._message: dict[str, Any] = {}
        self._blocks: list[tuple[int, dict[str, Any]]] = []
        self._open_blocks: dict[int, dict[str, Any]] = {}
        self._has_stopped = False
        self.has_token = False

    @property
    def is_complete(self) -> bool:
        """Whether the server has ended the message, so that nothing of it is to come."""
        return self._has_stopped

    @property
    def has_finished(self) -> bool:
        """Whether the model has finished, so that only the end of the stream may be to come."""
        return bool(self._message.get("stop_reason"))

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body.

        Raises:
            EndpointError: An event is an error, or no JSON.
        """
        self._take(self._events.read(chunk))

    def content(self) -> dict[str, Any]:
        """Return the whole message.

        Raises:
            EndpointUnreachableError: The stream ended before the model had finished.
        """
        self._take(self._events.rest())
        if not self._has_stopped and not self.has_finished:
            raise EndpointUnreachableError(
                f"{self._where} broke off the stream before the reply was complete.",
                status=200,
                retryable=True,
            )
        return {
            **self._message,
            "content": [_finished(block) for _, block in self._ordered_blocks()],
        }

    def _take(self, events: Iterable[tuple[str, Any]]) -> None:
        for name, event in events:
            told = error_of_event(name, event)
            if told is not None or isinstance(event, Mapping):
                self._add(event if told is None else {"type": "error", "error": told})

    def _add(self, event: Mapping[str, Any]) -> None:
        error = error_of(self._where, event)
        if error is not None:
            raise error
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start" and isinstance(event.get("message"), Mapping):
            self._message.update(event["message"])
        elif (
            kind == "content_block_start"
            and isinstance(index, int)
            and isinstance(event.get("content_block"), Mapping)
        ):
            self._start(index, event["content_block"])
        elif (
            kind == "content_block_delta"
            and isinstance(index, int)
            and isinstance(event.get("delta"), Mapping)
        ):
            if index not in self._open_blocks:
                self._start(index, {"type": "text"})
            self._extend(self._open_blocks[index], event["delta"])
        elif kind == "message_delta":
            self._finish(event)
        elif kind == "message_stop":
            self._has_stopped = True

    def _extend(self, block: dict[str, Any], delta: Mapping[str, Any]) -> None:
        name = _TEXTS.get(str(delta.get("type")))
        piece = delta.get(name) if name else None
        if name and isinstance(piece, str) and piece:
            block[name] = str(block.get(name) or "") + piece
            self.has_token = True

    def _start(self, index: int, block: Mapping[str, Any]) -> None:
        """Start a block; one whose index is that of an earlier block is a further block."""
        self._open_blocks[index] = dict(block)
        self._blocks.append((index, self._open_blocks[index]))

    def _ordered_blocks(self) -> list[tuple[int, dict[str, Any]]]:
        return sorted(self._blocks, key=lambda numbered: numbered[0])

    def _finish(self, event: Mapping[str, Any]) -> None:
        delta, usage = event.get("delta"), event.get("usage")
        if isinstance(delta, Mapping):
            self._message.update(
                (name, value) for name, value in delta.items() if value is not None
            )
        if isinstance(usage, Mapping):  # its counts are cumulative
            self._message["usage"] = latest_usage(self._message.get("usage"), usage)


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") != "tool_use" or "partial_json" not in block:
        return block
    text = block.pop("partial_json")
    try:
        block["input"] = json.loads(text)
    except (ValueError, RecursionError):
        block["input"] = text
    return block
