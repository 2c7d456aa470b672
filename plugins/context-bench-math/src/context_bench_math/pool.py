"""A few worker processes that compare texts by computer algebra, each killed and replaced when it takes too long."""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any, NamedTuple

from context_bench.installation import install_hint

_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from context_bench_math.worker import serve; serve()"
_START_SECONDS = 120.0
_GRACE_SECONDS = 1.0
_SLICE_SECONDS = 0.5
_CLOCK = 20  # seconds of the clock that a second of processor time may take on a busy machine
_MOST_WORKERS = 4


class Outcome(NamedTuple):
    """What came of a comparison: a verdict, or why there is none (``timeout``, ``crash``, or an error's text)."""

    equal: bool
    undecided: str = ""


class WorkerPool:
    """Compares texts in worker processes, from any thread and from several at a time.

    A worker is started when the first comparison needs one, which takes about a second. It ends with this object, with the
    interpreter, or when the process that started it has died.

    Args:
        seconds: How much processor time a comparison may take; where the system cannot measure it, time of the clock.
        size: How many workers there may be, and so how many comparisons run at a time; at most four unless told.
    """

    def __init__(self, seconds: float, size: int | None = None) -> None:
        self._seconds = seconds
        self._patience = _CLOCK * seconds if hasattr(signal, "setitimer") else seconds
        self._size = size or min(_MOST_WORKERS, os.cpu_count() or 1)
        self._idle: list[_Worker] = []
        self._count = 0
        self._forget()

    def compare(self, reference: str, answer: str, places: int) -> Outcome:
        """Whether an answer equals its reference, as computer algebra sees it.

        A worker that has died is replaced and asked once more: somebody may have killed it between two questions.

        Raises:
            RuntimeError: A worker cannot be started.
        """
        limits = {"seconds": self._seconds, "patience": self._patience}
        question = {"reference": reference, "answer": answer, "places": places, **limits}
        return self._ask(question) or self._ask(question) or Outcome(False, "crash")

    def close(self) -> None:
        """End the workers that are idle. A later comparison starts new ones."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._count -= len(idle)
        for worker in idle:
            worker.end()

    def _ask(self, question: dict[str, Any]) -> Outcome | None:
        """The outcome of a question, or ``None`` where the worker died of it or had died before."""
        worker = self._take()
        answer = None
        try:
            answer = worker.ask(question)
            if answer is None:
                return None
            return Outcome(answer.get("equal", False), answer.get("undecided", ""))
        finally:
            if not worker.is_usable:
                worker.end()
            self._give_back(worker if worker.is_usable else None)

    def _take(self) -> _Worker:
        if os.getpid() != self._process:
            self._forget()
        with self._changed:
            while not self._idle and self._count >= self._size:
                self._changed.wait()
            if self._idle:
                return self._idle.pop()
            self._count += 1
        try:
            return _Worker()
        except BaseException:
            self._give_back(None)
            raise

    def _give_back(self, worker: _Worker | None) -> None:
        with self._changed:
            if worker is None:
                self._count -= 1
            else:
                self._idle.append(worker)
            self._changed.notify()

    def _forget(self) -> None:
        """Begin without workers: at first, and in the child of a fork, to which those of its parent are of no use."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._idle = []
        self._count = 0


class _Worker:
    """One worker process: starting, ready for a question (``is_usable``), or done for."""

    def __init__(self) -> None:
        if not sys.executable:
            raise RuntimeError(
                "Comparing mathematics needs a Python interpreter to run in: sys.executable is empty."
            )
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("PYTHON")
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, json.dumps([path or os.getcwd() for path in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="ascii",
            env={**environment, "PYTHONHASHSEED": "0"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.is_usable = False
        self.end = weakref.finalize(self, _end, self._process, os.getpid())
        threading.Thread(
            target=_read, args=(self._process.stdout, self._lines), daemon=True
        ).start()

    def ask(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a question, or ``None`` where the worker is found dead."""
        if not self.is_usable:
            self._wait_until_ready()
        assert self._process.stdin is not None
        self.is_usable = False
        started = time.monotonic()
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._wait(question["patience"] + _GRACE_SECONDS)
        except queue.Empty:
            return {"undecided": "timeout"}
        except OSError:
            return None
        if line is None:
            return (
                {"undecided": "timeout"}
                if time.monotonic() - started >= question["patience"]
                else None
            )
        self.is_usable = True
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _wait(self, seconds: float) -> str | None:
        """The next line of the worker. The seconds are waited in slices: a machine that was paused has lost one of them.

        Raises:
            queue.Empty: None came.
        """
        for _ in range(math.ceil(seconds / _SLICE_SECONDS)):
            try:
                return self._lines.get(timeout=_SLICE_SECONDS)
            except queue.Empty:
                continue
        raise queue.Empty

    def _wait_until_ready(self) -> None:
        try:
            line = self._lines.get(timeout=_START_SECONDS)
        except queue.Empty:
            line = None
        message = json.loads(line) if line else {}
        if "ready" not in message:
            self.end()
            reason = message.get("broken") or f"it ended with status {self._process.returncode}"
            raise RuntimeError(
                f"The process that compares mathematics did not start: {reason}. "
                f"Is math-verify installed? To repair it: {install_hint('context-bench-math', force=True)}."
            )
        self.is_usable = True


def _read(stdout: Any, lines: queue.SimpleQueue[str | None]) -> None:
    try:
        for line in stdout:
            lines.put(line)
    except (OSError, ValueError):
        pass
    lines.put(None)


def _end(process: subprocess.Popen[str], owner: int) -> None:
    """Kill a process and wait for it; in the child of a fork only forget it."""
    if os.getpid() != owner:
        process.returncode = 0
        return
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        try:
            if stream:
                stream.close()
        except (OSError, ValueError):
            pass
