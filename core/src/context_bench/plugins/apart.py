"""Processes of our own, for what may hang, end the process or flood: each answers one question after another, within its time.

Evaluators that are bound to the processor score in such ones (:mod:`context_bench.run.children`), and what is only examined
is imported in one: when that dies or is ended, the component that it was at is the one to blame, and another goes on with the
rest. Questions and answers are bytes with their length before them, on standard input and output.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from struct import Struct
from threading import TIMEOUT_MAX, Thread
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_bench.plugins.catalog import Component

FLOOD = 2**20
"""Bytes that one import may write."""

_STARTING = 120.0
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


def examine_apart(
    components: Sequence[Component], check: str | None, seconds: float
) -> Iterator[tuple[Component, list[Any]]]:
    """Yield each component in the state in which its import leaves it, and what a check has to say of it.

    Args:
        components: What to import; one that cannot be used is given back as it is.
        check: ``module:function`` that is called in the child, with the component and its object (None where it failed), and
            returns a list of what JSON-like values it has to say.
        seconds: How long one import, with its check, may take.
    """
    from context_bench.plugins.catalog import FAILED

    child: Child | None = None
    try:
        for component in components:
            try:
                child = child or Child(
                    f"{__name__}:examiner", pickle.dumps(check), _STARTING, FLOOD
                )
                *state, found = json.loads(child.ask(pickle.dumps(component), seconds))
                component = component.with_state(*state)
            except (TimeoutError, EOFError, ValueError, RecursionError) as error:
                why = (
                    error
                    if isinstance(error, TimeoutError | EOFError)
                    else "spoke in place of the examination"
                )
                name, found = component.distribution.name, []
                remedy = f"tell the authors of {name}, or uninstall it: `pip uninstall {name}`"
                component = component.with_state(FAILED, f"importing it {why}", remedy)
                if child is not None:
                    child.close()
                child = None
            yield component, found
    finally:
        if child is not None:
            child.close()


def examiner(first: bytes) -> Callable[[bytes], bytes]:
    """Be the child: return what imports a component, and tells of its state, and what the check has to say."""
    from context_bench.plugins.catalog import OK
    from context_bench.plugins.loading import try_load

    module, _, name = (pickle.loads(first) or "").partition(":")

    def examine(question: bytes) -> bytes:
        component, thing = pickle.loads(question), None
        usable = component.called_by_id()
        if usable.state == OK:
            found, thing, _ = try_load(usable)
            component = component if found.state == OK else found
        said = list(getattr(import_module(module), name)(component, thing)) if module else []
        return json.dumps([component.state, component.reason, component.remedy, said]).encode()

    return examine
