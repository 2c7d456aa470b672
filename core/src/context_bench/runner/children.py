"""Child processes for evaluators that are bound to the processor. One that hangs is killed and replaced."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from select import select
from struct import Struct
from threading import Lock, Thread
from time import monotonic
from typing import Any

from context_bench.runner.parts import Scorer
from context_bench.runner.stopping import Raised, Stop, guarded

_LENGTH = Struct("!Q")
_SERVE = "import sys; sys.path[:] = {path!r}; from context_bench.runner.child import serve; serve()"


class Children:
    """Processes that score with one evaluator, each led by a thread of ours.

    An evaluator that cannot be sent to another process scores on the threads themselves.

    Args:
        scorer: The scorer.
        most: Processes at most.
        deadline: Seconds for one evaluation; None for no limit.
        stop: Says that nothing more is to be begun; None never does.
    """

    def __init__(self, scorer: Scorer, most: int, deadline: float | None, stop: Stop | None = None) -> None:
        self._scorer = scorer
        self._stop = stop or Stop()
        self._most = most
        self._deadline = deadline
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._children: set[_Child] = set()
        self._is_closed = False
        try:
            self._pickle: bytes | None = pickle.dumps(scorer.evaluator)
        except Exception:  # noqa: BLE001 - whatever cannot be pickled stays here
            self._pickle = None

    def put(self, pending: Any) -> None:
        """Score a pending response."""
        self._queue.put(pending)
        with self._lock:
            if self._threads < self._most and not self._is_closed:
                self._threads += 1
                Thread(target=self._serve, name="context-bench-process", daemon=True).start()

    def close(self) -> None:
        """End the processes at once."""
        with self._lock:
            self._is_closed = True
            children = list(self._children)
            threads = self._threads
        for _ in range(threads):
            self._queue.put(None)
        for child in children:
            child.close()

    def _serve(self) -> None:
        score: Callable[[tuple[Any, Any]], Any] = self._score_here
        child = None
        try:
            while (pending := self._queue.get()) is not None:
                if self._stop.is_set():
                    pending.drop()
                    continue
                if self._pickle is not None and child is None:
                    child = self._begin()
                    if child is not None:
                        score = child.score
                    else:
                        self._pickle, score = None, self._score_here
                found = guarded(score, pending.pair)
                if isinstance(found, Raised):
                    found = found.error
                if child is not None and child.is_dead:
                    self._forget(child)
                    child = None
                pending.add(self._scorer, found)
        finally:
            if child is not None:
                self._forget(child)

    def _begin(self) -> _Child | None:
        assert self._pickle is not None
        child = _Child(self._pickle, self._deadline)
        with self._lock:
            self._children.add(child)
        if child.is_dead:
            self._forget(child)
            return None
        return child

    def _forget(self, child: _Child) -> None:
        child.close()
        child.release()
        with self._lock:
            self._children.discard(child)

    def _score_here(self, pair: tuple[Any, Any]) -> Any:
        return self._scorer.evaluator.score(*pair)


class _Child:
    """One process. Requests and answers are pickles with their length before them, on its standard input and output."""

    def __init__(self, evaluator: bytes, deadline: float | None) -> None:
        self._deadline = deadline
        self._lock = Lock()
        self.is_dead = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE.format(path=[os.path.abspath(path) for path in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            self._send(evaluator)
            if self._receive(60.0) != "ready":
                self.close()
        except (OSError, EOFError, TimeoutError):
            self.close()

    def score(self, pair: tuple[Any, Any]) -> Any:
        """Return what the evaluator says of a pair, in the child.

        Raises:
            TimeoutError: It took longer than the deadline; the child is dead.
            RuntimeError: The child ended.
        """
        try:
            self._send(pickle.dumps(pair))
            found = self._receive(self._deadline)
        except TimeoutError:
            self.close()
            raise TimeoutError(f"it took longer than the deadline of {self._deadline:g} s, and was killed.") from None
        except (OSError, EOFError) as error:
            self.close()
            raise RuntimeError(f"its process ended with exit code {self._process.returncode}.") from error
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """Kill the process."""
        with self._lock:
            self.is_dead = True
            self._process.kill()
            self._process.wait()

    def release(self) -> None:
        """Close its pipes, on the thread that reads: for another their numbers might be those of other pipes right after."""
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            with suppress(OSError):
                pipe.close()

    def _send(self, message: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(_LENGTH.pack(len(message)) + message)
        self._process.stdin.flush()

    def _receive(self, seconds: float | None) -> Any:
        until = None if seconds is None else monotonic() + seconds
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, until))
        return pickle.loads(self._read(length, until))

    def _read(self, size: int, until: float | None) -> bytes:
        assert self._process.stdout is not None
        number = self._process.stdout.fileno()
        found = b""
        while len(found) < size:
            if until is not None and not select([number], [], [], max(0.0, until - monotonic()))[0]:
                raise TimeoutError
            piece = os.read(number, size - len(found))
            if not piece:
                raise EOFError
            found += piece
        return found
