"""Server-sent events, put together into the completion that the server would have sent at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_http.errors import EndpointUnreachableError
from context_bench_http.events import ServerEvents, error_of_event
from context_bench_openai.reply import text_of


class EventStream:
    """Collects the chunks of a streamed completion.

    Feed it bytes as they arrive; `content` then has the shape of an ordinary response body.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._events = ServerEvents(where)
        self._done = False
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}
        self._calls: dict[int, dict[str, Any]] = {}
        self._logprobs: dict[str, list[Any]] = {}
        self._finish_reason: Any = None
        self._seen: dict[str, Any] = {}
        self._has_choice = False
        self.has_token = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._take(self._events.read(chunk))

    def content(self) -> dict[str, Any]:
        """Return the whole completion.

        Raises:
            EndpointUnreachableError: The stream ended before the model had finished.
        """
        self._take(self._events.rest())
        if "error" in self._seen:
            return self._seen
        if not self._done and self._finish_reason is None:
            raise EndpointUnreachableError(
                f"{self._where} broke off the stream before the reply was complete.",
                status=200,
                retryable=True,
            )
        message: dict[str, Any] = {name: "".join(parts) for name, parts in self._texts.items()}
        message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice: dict[str, Any] = {
            "message": message,
            "text": message["content"],
            "finish_reason": self._finish_reason,
        }
        choice["logprobs"] = self._logprobs
        return {**self._seen, "choices": [choice] if self._has_choice else []}

    def _take(self, events: Iterable[tuple[str, Any]]) -> None:
        for name, event in events:
            error = error_of_event(name, event)
            if error is not None:
                self._seen["error"] = error
            elif event is None:
                self._done = True
            elif isinstance(event, Mapping) and not self._done:
                self._add(event)

    def _add(self, event: Mapping[str, Any]) -> None:
        self._seen.update(
            (name, event[name])
            for name in ("id", "created", "model", "usage", "timings", "error")
            if event.get(name)
        )
        groq = event.get("x_groq")
        if isinstance(groq, Mapping) and groq.get("usage"):
            self._seen.setdefault("usage", groq["usage"])
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping) or choice.get("index") not in (0, None):
            return
        self._has_choice = True
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        self._add_logprobs(choice.get("logprobs"))
        self._text("content", choice.get("text"))
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, Mapping):
            return
        self._text("content", delta.get("content"))
        self._text("refusal", delta.get("refusal"))
        self._text("reasoning_content", delta.get("reasoning_content") or delta.get("reasoning"))
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, Mapping):
                self._add_call(call, position)

    def _text(self, name: str, piece: Any) -> None:
        text = text_of(piece)
        if text:
            self._texts[name].append(text)
            self.has_token = True

    def _add_logprobs(self, logprobs: Any) -> None:
        for name, entries in logprobs.items() if isinstance(logprobs, Mapping) else ():
            if isinstance(entries, list):
                self._logprobs.setdefault(name, []).extend(entries)

    def _add_call(self, call: Mapping[str, Any], position: int) -> None:
        self.has_token = True
        index = call.get("index")
        known = self._calls.setdefault(
            index if isinstance(index, int) else position,
            {"id": None, "function": {"name": "", "arguments": ""}},
        )
        known["id"] = call.get("id") or known["id"]
        function = call.get("function")
        if isinstance(function, Mapping):
            for name in ("name", "arguments"):
                known["function"][name] += text_of(function.get(name))
