"""Child processes for evaluators that are bound to the processor: each answers one question after another, within its time.

Questions and answers are bytes with their length before them, on standard input and output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from struct import Struct
from threading import TIMEOUT_MAX, Thread
from typing import IO

_LENGTH = Struct("!Q")
_PR_SET_PDEATHSIG = 1


class Child:
    """A process of ours.

    Args:
        answerer: ``module:function``. In the process it is called with the first question, and returns the function that is
            called with each further one, and returns its answer.
        first: The first question, to which there is no answer.
        seconds: What its beginning may take.
        most: Bytes that it may print until it answers, which are dropped; with 0 whatever it prints is printed on the
            standard error of this process.

    Attributes:
        is_dead: Whether it was killed.

    Raises:
        OSError: There is no process to be had.
        EOFError: It ended before the first question was dealt with.
        TimeoutError: That took longer.
    """

    def __init__(self, answerer: str, first: bytes, seconds: float, most: int = 0) -> None:
        self.is_dead = self._has_flooded = False
        self._most, self._written = most, 0
        self._said: SimpleQueue[bytes | None] = SimpleQueue()
        path = [os.path.abspath(place) for place in sys.path]
        code = (
            f"import sys; sys.path[:] = {path!r}; from {__name__} import serve; serve({answerer!r})"
        )
        errors = subprocess.PIPE if most else None
        command = [sys.executable, "-c", code]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
        self._threads: list[Thread] = []
        try:
            for read, stream in (
                (self._listen, self._process.stdout),
                (self._count, self._process.stderr),
            ):
                if stream is not None:
                    thread = Thread(
                        target=read, args=(stream,), name="context-bench-child", daemon=True
                    )
                    thread.start()
                    self._threads.append(thread)
            self.ask(first, seconds)
        except BaseException:
            self.close()
            raise

    def ask(self, question: bytes, seconds: float | None) -> bytes:
        """Return the answer to a question. After any error the process is of no use: a late answer may come.

        Raises:
            TimeoutError: It took longer.
            EOFError: The process has ended, or was ended because it wrote too much.
        """
        self._written = 0
        assert self._process.stdin is not None
        with suppress(OSError):  # it is dead already, which its silence tells
            _send(self._process.stdin, question)
        try:
            answer = self._said.get(timeout=None if seconds is None else min(seconds, TIMEOUT_MAX))
        except Empty:
            raise TimeoutError(f"was not done after {seconds:g} s") from None
        if answer is None:
            ended = f"ended the process, with exit code {self.kill()}"
            raise EOFError(
                f"wrote more than {self._most // 2**20} MiB" if self._has_flooded else ended
            )
        return answer

    def kill(self) -> int:
        """Kill the process, from any thread, and return its exit code."""
        self.is_dead = True
        self._process.kill()
        return self._process.wait()

    def close(self) -> None:
        """Kill the process and close its pipes, which nobody may use any more."""
        self.kill()
        for thread in self._threads:
            thread.join(1.0)
        if any(thread.is_alive() for thread in self._threads):
            return  # what the process has begun itself holds a pipe open
        for pipe in filter(None, (self._process.stdin, self._process.stdout, self._process.stderr)):
            with suppress(OSError):
                pipe.close()

    def _listen(self, stream: IO[bytes]) -> None:
        with suppress(Exception):  # whatever is no answer ends it
            while True:
                self._said.put(_receive(stream))
        self._said.put(None)

    def _count(self, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            self._written += len(chunk)
            if self._written > self._most:
                self._has_flooded = True
                self._process.kill()


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
    message = stream.read(length)
    if len(message) < length:
        raise EOFError
    return message


def serve(answerer: str) -> None:
    """What the process does: answer questions until there are no more, or its parent ends."""
    for name in {"SIGINT", "SIGTERM", "SIGHUP"}.intersection(dir(signal)):
        signal.signal(getattr(signal, name), signal.SIG_IGN)  # the parent decides when to end
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    questions: SimpleQueue[bytes] = SimpleQueue()
    with os.fdopen(os.dup(0), "rb") as asking, os.fdopen(os.dup(1), "wb") as telling:
        Thread(target=_take, args=(asking, questions), daemon=True).start()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what somebody reads must not be a question
        os.dup2(2, 1)  # what somebody prints must not mix with the answers
        module, _, function = answerer.partition(":")
        try:
            answer = getattr(import_module(module), function)(questions.get())
            _send(telling, b"")
            while True:
                _send(telling, answer(questions.get()))
        finally:
            os._exit(1)  # the parent learns from this that nothing answers


def _take(stream: IO[bytes], questions: SimpleQueue[bytes]) -> None:
    """Take questions as they come: when there are no more the parent has ended, whatever the process is at."""
    with suppress(Exception):
        while True:
            questions.put(_receive(stream))
    os._exit(1)
