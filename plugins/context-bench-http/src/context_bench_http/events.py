"""Server-sent events, as the HTML standard has them (section 9.2.6, "Interpreting an event stream")."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from context_bench_http.errors import UnusableReplyError

_MARK = b"\xef\xbb\xbf"
_ERROR = "error"
_JSON_STARTS = (b"{", b"[", b'"')


class ServerEvents:
    """Reads the events of a body that comes in pieces, whatever ends its lines and wherever the network cuts it.

    >>> list(ServerEvents("here").read(b'data: {"a": 1}\\n\\n'))
    [('message', {'a': 1})]

    Args:
        where: The endpoint, without secrets.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._pieces: list[bytes] = []  # of a line that has not ended
        self._is_first = True
        self._was_return = False
        self._name = ""
        self._data: list[bytes] = []
        self._is_cut = False

    def read(self, chunk: bytes) -> Iterator[tuple[str, Any]]:
        """Yield the events that are complete with these bytes: what they are called, and their data as JSON.

        An error may be in plain words, which are then its data. ``[DONE]``, with which some servers end, is None. Plain
        words in any other event are a sign of life, such as ``keepalive`` or a comment: they are left out.

        Raises:
            UnusableReplyError: Another event begins as JSON does, and is not JSON.
        """
        if self._was_return and chunk:
            self._was_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\n" not in chunk and b"\r" not in chunk:
            self._pieces.append(chunk)  # joined once: a line may come in a million pieces
            return
        lines = b"".join([*self._pieces, chunk]).splitlines(keepends=True)
        self._pieces = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        self._was_return = not self._pieces and lines[-1].endswith(b"\r")
        for line in lines:
            yield from self._take(line.rstrip(b"\r\n"))

    def rest(self) -> Iterator[tuple[str, Any]]:
        """Yield what follows the last blank line of a body that has ended; an event that was cut short is left out."""
        line = b"".join(self._pieces)
        self._pieces = []
        self._is_cut = True
        yield from self._take(line)
        yield from self._take(b"")

    def _take(self, line: bytes) -> Iterator[tuple[str, Any]]:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_MARK)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            yield from self._events()
        elif name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace").strip()
        elif name == _ERROR.encode():  # llama.cpp's server writes it so
            yield from self._events()
            self._name = _ERROR
            self._data = [value]

    def _events(self) -> Iterator[tuple[str, Any]]:
        """Yield the event whose lines have been read: one, or one for each line where somebody forgot the blank ones."""
        name = self._name or "message"
        lines = self._data
        self._name = ""
        self._data = []
        if len(lines) > 1:
            try:
                yield name, json.loads(b"\n".join(lines))
                return
            except (ValueError, RecursionError):
                pass
        for line in lines:
            data = line.strip()
            if data == b"[DONE]":
                yield name, None
            elif data:
                yield from self._event(name, data)

    def _event(self, name: str, data: bytes) -> Iterator[tuple[str, Any]]:
        try:
            yield name, json.loads(data)
            return
        except (ValueError, RecursionError):
            pass
        if name == _ERROR:
            yield name, data.decode("utf-8", "replace")
        elif data.startswith(_JSON_STARTS) and not self._is_cut:
            raise UnusableReplyError(
                f"{self._where} streamed an event that is not JSON: {data[:80]!r}.", status=200
            )


def error_of_event(name: str, content: Any) -> Any:
    """Return the error that an event called ``error`` tells, None for any other event.

    >>> error_of_event("error", {"error": {"code": 500}}), error_of_event("error", "gone"), error_of_event("message", "gone")
    ({'code': 500}, {'message': 'gone'}, None)
    """
    if name != _ERROR or not content:
        return None
    error = content.get("error", content) if isinstance(content, dict) else content
    return error if isinstance(error, dict) else {"message": str(error)}
