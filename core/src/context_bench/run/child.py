"""A child process that scores with one evaluator. One that hangs is killed, and nothing outlives
its parent.

Questions and answers are pickles with their length before them, on standard input and output.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from struct import Struct
from threading import Thread
from time import monotonic
from typing import IO, Any

from context_bench.errors import message_of

_LENGTH = Struct("!Q")
_STARTING_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


class Child:
    """A process with an evaluator. Only one thread may ask it; any thread may kill it.

    Args:
        evaluator: The evaluator, pickled.

    Attributes:
        is_dead: Whether it was killed.

    Raises:
        OSError: There is no process to be had.
        RuntimeError: There is no thread to be had.
        EOFError: The evaluator cannot be loaded there.
        TimeoutError: That took too long.
    """

    def __init__(self, evaluator: bytes) -> None:
        self.is_dead = False
        self._answers: SimpleQueue[bytes | None] = SimpleQueue()
        path = [os.path.abspath(folder) for folder in sys.path]
        code = f"import sys; sys.path[:] = {path!r}; from {__name__} import serve; serve()"
        command = [sys.executable, "-u", "-c", code]
        started: Future[subprocess.Popen[bytes]] = Future()
        listen = partial(self._start_and_listen, command, started)
        Thread(target=listen, name="context-bench-child", daemon=True).start()
        self._process = started.result()
        try:
            self._ask(evaluator, _STARTING_SECONDS)
        except BaseException:
            self.kill()
            raise

    def score(self, arguments: tuple[Any, ...], seconds: float | None) -> Any:
        """Return what the evaluator's ``score`` returns for some arguments, or the exception that
        it raises.

        Raises:
            TimeoutError: It took longer; the child is dead.
            EOFError: The child has ended.
        """
        try:
            return pickle.loads(self._ask(pickle.dumps(arguments), seconds))
        except (TimeoutError, EOFError):
            self.kill()
            raise

    def kill(self) -> int:
        """Kill the process and what it has started, and return its exit code."""
        is_first = not self.is_dead
        self.is_dead = True
        if is_first and hasattr(os, "killpg"):  # later, its number may be another group's
            with suppress(OSError):  # nothing of the group is left
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        code = self._process.wait()
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        return code

    def _ask(self, question: bytes, seconds: float | None) -> bytes:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it is dead already, which its silence tells
            _send(self._process.stdin, question)
        answer = self._answer_within(math.inf if seconds is None else seconds)
        if answer is None:
            raise EOFError(f"ended the process, with exit code {self.kill()}")
        return answer

    def _answer_within(self, seconds: float) -> bytes | None:
        """Return an answer; None when the process has ended.

        A program that it has started may hold its output open, so the process is looked at, too.

        Raises:
            TimeoutError: There is neither after so many seconds.
        """
        end = monotonic() + seconds
        has_ended = False
        while True:
            left = end - monotonic()
            try:
                return self._answers.get(timeout=max(0.0, min(left, _LOOK_SECONDS)))
            except Empty:
                if has_ended:
                    return None
                if left <= 0:
                    raise TimeoutError from None
                has_ended = self._process.poll() is not None

    def _start_and_listen(
        self, command: list[str], started: Future[subprocess.Popen[bytes]]
    ) -> None:
        """Start the process and listen to it until it ends, on one thread: Linux kills the process
        with the thread that has started it."""
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except BaseException as error:  # noqa: BLE001 - raised where the process is wanted
            started.set_exception(error)
            return
        started.set_result(process)
        stream = process.stdout
        assert stream is not None
        with stream, suppress(Exception):  # whatever is no answer ends it
            while True:
                self._answers.put(_receive(stream))
        self._answers.put(None)


def serve() -> None:
    """Score pairs until there are no more, or the parent ends: what the process does."""
    for name in {"SIGINT", "SIGTERM", "SIGHUP"}.intersection(dir(signal)):
        # the parent decides when to end; programs that the evaluator starts do not inherit this
        signal.signal(getattr(signal, name), _ignore)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    questions: SimpleQueue[bytes] = SimpleQueue()
    with os.fdopen(os.dup(0), "rb") as asking, os.fdopen(os.dup(1), "wb") as telling:
        Thread(target=_read_questions, args=(asking, questions), daemon=True).start()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what an evaluator reads is not a question
        os.dup2(2, 1)  # what it prints must not mix with the answers
        try:
            score = pickle.loads(questions.get()).score
            _send(telling, b"")
            while True:
                _send(telling, _answer(score, questions.get()))
        finally:
            os._exit(1)  # the parent learns from this that nothing answers


def _ignore(*_: Any) -> None:
    pass


def _answer(score: Any, question: bytes) -> bytes:
    try:
        return pickle.dumps(score(*pickle.loads(question)))
    except BaseException as error:  # noqa: BLE001 - whatever an evaluator raises is this row's failure
        try:
            answer = pickle.dumps(error)
            pickle.loads(answer)  # many a class can be pickled and not be unpickled
            return answer
        except Exception:  # noqa: BLE001 - it cannot be sent as it is
            return pickle.dumps(RuntimeError(f"{type(error).__name__}: {message_of(error)}"))


def _read_questions(stream: IO[bytes], questions: SimpleQueue[bytes]) -> None:
    """Read questions as they come: when there are no more the parent has ended, whatever the
    process is doing."""
    with suppress(Exception):
        while True:
            questions.put(_receive(stream))
    os._exit(1)


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
    message = stream.read(length)
    if len(message) < length:
        raise EOFError
    return message
