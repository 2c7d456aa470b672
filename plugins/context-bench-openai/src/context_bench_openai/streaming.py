"""Server-sent events, put together into the completion that the server would have sent at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_http.errors import EndpointUnreachableError
from context_bench_http.events import ServerEvents, error_of_event
from context_bench_http.usage import latest_usage
from context_bench_openai.reply import reasoning_in, text_of


class EventStream:
    """Collects the chunks of a streamed completion.

    Feed it bytes as they arrive; `content` then has the shape of an ordinary response body.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._events = ServerEvents(where)
        self._done = False
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}
        self._calls = StreamedCalls()
        self._logprobs: dict[str, list[Any]] = {}
        self._finish_reason: Any = None
        self._seen: dict[str, Any] = {}
        self._has_choice = False
        self._error: Any = None
        self.has_token = False

    @property
    def is_complete(self) -> bool:
        """Whether the server has ended the stream, so that nothing of the reply is to come."""
        return self._done

    @property
    def has_finished(self) -> bool:
        """Whether the model has finished, so that only the usage may be to come."""
        return self._finish_reason is not None

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
        if not self._done and self._finish_reason is None and not self._error:
            raise EndpointUnreachableError(
                f"{self._where} broke off the stream before the reply was complete.",
                status=200,
                retryable=True,
            )
        message: dict[str, Any] = {name: "".join(parts) for name, parts in self._texts.items()}
        message["tool_calls"] = self._calls.complete()
        choice: dict[str, Any] = {
            "message": message,
            "text": message["content"],
            "finish_reason": self._finish_reason,
        }
        choice["logprobs"] = self._logprobs
        if self._error:
            choice["error"] = self._error
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
            for name in ("id", "created", "model", "timings", "error")
            if event.get(name)
        )
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        for place in (event.get("x_groq"), choice, event):
            self._add_usage(place)
        if not isinstance(choice, Mapping) or choice.get("index") not in (0, None):
            return
        self._has_choice = True
        self._error = choice.get("error") or self._error
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        self._add_logprobs(choice.get("logprobs"))
        delta = choice.get("delta")
        if not isinstance(delta, Mapping) or not delta:
            self._text("content", choice.get("text"))
            if isinstance(choice.get("message"), Mapping):
                self._take_whole(choice["message"])
            return
        self._text("content", choice.get("text") if delta.get("content") is None else None)
        self._text("content", delta.get("content"))
        self._text("reasoning_content", reasoning_in(delta.get("content")))
        self._text("refusal", delta.get("refusal"))
        self._text("reasoning_content", delta.get("reasoning_content") or delta.get("reasoning"))
        calls = delta.get("tool_calls")
        if not calls and isinstance(delta.get("function_call"), Mapping):
            calls = [{"index": 0, "function": delta["function_call"]}]
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                self.has_token = True
                self._calls.add(call)

    def _add_usage(self, place: Any) -> None:
        usage = place.get("usage") if isinstance(place, Mapping) else None
        if isinstance(usage, Mapping):
            self._seen["usage"] = latest_usage(self._seen.get("usage"), usage)

    def _take_whole(self, message: Mapping[str, Any]) -> None:
        """Take a message that repeats what was streamed before, where it is longer."""
        text = text_of(message.get("content"))
        if len(text) > len("".join(self._texts["content"])):
            self._texts["content"] = [text]
            self.has_token = True
        if not self._calls.complete():
            for call in message.get("tool_calls") or ():
                if isinstance(call, Mapping):
                    self._calls.add(call)

    def _text(self, name: str, piece: Any) -> None:
        text = text_of(piece)
        if text:
            self._texts[name].append(text)
            self.has_token = True

    def _add_logprobs(self, logprobs: Any) -> None:
        for name, entries in logprobs.items() if isinstance(logprobs, Mapping) else ():
            if isinstance(entries, list):
                self._logprobs.setdefault(name, []).extend(entries)


class StreamedCalls:
    """Puts the tool calls of a stream together from their pieces.

    A piece continues the call with its ``id``; one without an id, or with an id that servers repeat or leave empty, the
    call with its ``index``. Servers number every call 0, or none at all: a piece with a new id begins a new call, and so does
    a name behind arguments that are complete.
    """

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._indexes: list[Any] = []

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take the next piece of a call."""
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        name = text_of(function.get("name"))
        arguments = text_of(function.get("arguments"))
        call = self._continued(piece, name)
        if call is None:
            call = {"id": None, "function": {"name": "", "arguments": ""}}
            self._calls.append(call)
            self._indexes.append(piece.get("index"))
        call["id"] = piece.get("id") or call["id"]
        known = call["function"]
        if name and not known["arguments"] and not name.startswith(known["name"] or name):
            known["name"] += name  # the name itself came in pieces
        elif not known["name"] or len(name) > len(known["name"]):
            known["name"] = name or known["name"]
        if arguments == known["arguments"] and arguments and _is_json(arguments):
            return  # the whole call once more, at the end
        known["arguments"] += arguments

    def complete(self) -> list[dict[str, Any]]:
        """Return the calls in the order of their indexes, where each has one of its own; else in the order of arrival."""
        numbers = self._indexes
        if all(isinstance(number, int) for number in numbers) and len(set(numbers)) == len(numbers):
            return [call for _, call in sorted(zip(numbers, self._calls), key=lambda pair: pair[0])]
        return list(self._calls)

    def _continued(self, piece: Mapping[str, Any], name: str) -> dict[str, Any] | None:
        """Return the call that a piece continues; None when it begins a new one."""
        identity, index = piece.get("id"), piece.get("index")
        if identity:
            for call in self._calls:
                if call["id"] == identity:
                    return call
        for call, known_index in zip(reversed(self._calls), reversed(self._indexes)):
            if index is not None and known_index is not None and index != known_index:
                continue
            is_another = identity and call["id"] and identity != call["id"]
            function = call["function"]
            is_over = bool(name) and _is_json(function["arguments"])
            return None if is_another or is_over else call
        return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
