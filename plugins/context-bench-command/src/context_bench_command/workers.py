"""Long-lived programs that answer a line with a line, one for each call in flight.

Each request is one line of JSON, ``{"id": "7", "example": {...}}``, and its answer is one line with the same ``id``:
``{"id": "7", "response": "..."}`` or ``{"id": "7", "error": "..."}``. A program that dies, is too slow or says anything
else fails the row that it was busy with, and is replaced for the next one.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Mapping, Sequence
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any

from context_bench_command.errors import CommandExitError, CommandOutputError, CommandTimeoutError
from context_bench_command.once import ending, last_words, size_of
from context_bench_command.processes import Process
from context_bench_command.templates import json_line

_LAST_SECOND, _PAUSE = 1.0, 0.005


class Workers:
    """Lends programs to whoever asks, and keeps those that come back.

    Args:
        arguments: The program and its arguments.
        cwd: Its folder; None for ours.
        environment: Its whole environment.
        timeout: Seconds for one answer; None for no limit.
        largest: Bytes of one answer at most.
        hide: Secrets, to be hidden in what it says.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: str | None,
        environment: Mapping[str, str],
        timeout: float | None,
        largest: int,
        hide: Sequence[str] = (),
    ) -> None:
        self._arguments = list(arguments)
        self._cwd = cwd
        self._environment = environment
        self._timeout = timeout
        self._largest = largest
        self._hide = hide
        self._numbers = count(1)
        self._idle: list[_Worker] = []
        self._lock = Lock()
        weakref.finalize(self, _end, self._idle)

    def ask(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to an example, as an object without its id.

        Raises:
            CommandError: The program could not be started, died, was too slow, or did not answer this request.
        """
        worker = self._take()
        try:
            answer = worker.ask(str(next(self._numbers)), example, self._timeout)
        except BaseException:
            worker.process.end()
            raise
        with self._lock:
            self._idle.append(worker)
        if answer.get("error") is not None:
            raise CommandOutputError(
                f"{self._arguments[0]} answered with an error: {_one_line(answer['error'])}"
            )
        return answer

    def close(self) -> None:
        """Kill the programs that wait for work."""
        _end(self._idle)

    def _take(self) -> _Worker:
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return _Worker(
                    Process(self._arguments, self._cwd, self._environment),
                    self._arguments[0],
                    self._largest,
                    self._hide,
                )
            if not worker.process.has_ended:
                return worker
            worker.process.end()


class _Worker:
    def __init__(self, process: Process, name: str, largest: int, hide: Sequence[str]) -> None:
        self.process = process
        self._name = name
        self._largest = largest
        self._hide = hide
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        Thread(target=self._read, daemon=True).start()

    def ask(self, number: str, example: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
        request = json_line({"id": number, "example": example})
        until = None if timeout is None else monotonic() + timeout
        writing = Thread(target=self._write, args=(request,), daemon=True)
        writing.start()
        while True:
            try:
                line = self._lines.get(
                    timeout=None if until is None else max(0.0, until - monotonic())
                )
            except Empty:
                self.process.end()
                said = self.process.stderr(self._hide)
                raise CommandTimeoutError(
                    f"{self._name} did not answer within {timeout:g} s and was killed (timeout){last_words(said)}"
                ) from said
            if line is None:
                until = monotonic() + _LAST_SECOND
                while not (has_ended := self.process.has_ended) and monotonic() < until:
                    sleep(_PAUSE)
                status = self.process.end()
                said = self.process.stderr(self._hide)
                how, killed = (
                    (ending(status), "")
                    if has_ended
                    else ("closed its standard output", ", and was killed")
                )
                raise CommandExitError(
                    f"{self._name} {how} before it answered{killed}{last_words(said)}"
                ) from said
            if line.strip():
                return self._answer(line, number)

    def _answer(self, line: bytes, number: str) -> dict[str, Any]:
        if len(line) > self._largest:
            self._refuse(f"wrote more than {size_of(self._largest)} for one answer (max_output)")
        try:
            answer = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            self._refuse(
                f"answered with a line that is no JSON: {line[:80].decode('utf-8', 'replace')!r}"
            )
        if not isinstance(answer, dict) or str(answer.get("id")) != number:
            told = answer.get("id") if isinstance(answer, dict) else answer
            self._refuse(f"answered with the id {told!r} instead of {number!r}")
        del answer["id"]
        return dict(answer)

    def _refuse(self, what: str) -> None:
        self.process.end()
        raise CommandOutputError(f"{self._name} {what}") from self.process.stderr(self._hide)

    def _read(self) -> None:
        rest = bytearray()
        for piece in self.process.pieces():
            *ends, last = piece.split(b"\n")
            for end in ends:
                self._lines.put(bytes(rest + end))
                rest.clear()
            rest += last
            if len(rest) > self._largest:
                self._lines.put(bytes(rest))
                break
        else:
            if _is_json(rest):  # the last line may lack its end
                self._lines.put(bytes(rest))
        self._lines.put(None)

    def _write(self, request: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(request)
            self.process.stdin.flush()


def _end(idle: list[_Worker]) -> None:
    while idle:
        idle.pop().process.end()


def _is_json(line: bytearray) -> bool:
    try:
        json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def _one_line(said: Any) -> str:
    return " ".join((said if isinstance(said, str) else json.dumps(said)).split())[:600]
