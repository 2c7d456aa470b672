"""What foreign formats share: calls whose results stand in the same message, and results without an id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench_sessions.messages import Message, UnknownPartError, assistant, result, text_of


class Turn:
    """A turn of the agent that one record holds whole: texts, calls and their results, in order.

    A text behind a result begins a new message, as it did for the provider.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[dict[str, str]] = []
        self._results: list[Message] = []
        self._done: list[Message] = []

    def say(self, text: str) -> None:
        """Add a text of the agent."""
        if not text:
            return
        if self._results:
            self._close()
        self._texts.append(text)

    def call(self, tool_call: dict[str, str], output: str | None) -> None:
        """Add a call, with its result where there is one."""
        self._calls.append(tool_call)
        if output is not None:
            self._results.append(result(tool_call["id"], output))

    def step(self) -> None:
        """Begin the next request to the model."""
        if self._calls or self._texts:
            self._close()

    def messages(self) -> list[Message]:
        """Return the messages of the turn: one at least."""
        if self._texts or self._calls or not self._done:
            self._close()
        return self._done

    def _close(self) -> None:
        self._done.append(assistant("\n".join(self._texts), self._calls))
        self._done += self._results
        self._texts, self._calls, self._results = [], [], []


class Pairing:
    """Gives calls and results without an id one: a result belongs to the oldest open call of its name."""

    def __init__(self) -> None:
        self._count = 0
        self._open: list[tuple[str, str]] = []

    def of_call(self, identity: object, name: object) -> str:
        """Return the id of a call."""
        self._count += 1
        call_id = str(identity) if identity else f"call-{self._count}"
        self._open.append((call_id, str(name or "")))
        return call_id

    def of_result(self, identity: object, name: object = None) -> str:
        """Return the id of the call that a result answers; ``""`` where no call is open."""
        wanted_id = str(identity) if identity else ""
        named = str(name) if name else ""
        for place, (open_id, called) in enumerate(self._open):
            if open_id == wanted_id or (not wanted_id and named in ("", called)):
                del self._open[place]
                return open_id
        return wanted_id


def output_text(output: object) -> str:
    """Return what a tool gave as text: texts and blocks as they are, anything else as JSON."""
    if output is None or isinstance(output, str):
        return output or ""
    if isinstance(output, list) and all(
        isinstance(item, Mapping) and "text" in item for item in output
    ):
        return text_of(output)
    return json.dumps(output, ensure_ascii=False)


def mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list; nothing where there is no list.

    Raises:
        UnknownPartError: The list holds something else.
    """
    if value is None or isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return
    for item in value:
        if not isinstance(item, Mapping):
            raise UnknownPartError(f"a {type(item).__name__} in place of an object is not known")
        yield item
