"""The process that runs computer algebra: it answers one question a line, and ends when the process that asks has gone.

It loads math-verify once and forks a child that does the computing, so that a child which takes too long can be killed and
replaced in milliseconds. Where the system cannot fork, it computes itself and the asking process replaces all of it.
Nothing here is imported by the program that asks; see ``pool`` for the other end.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import math
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

_MOST_MEMORY = 4 << 30
_PARENT_POLL_SECONDS = 2.0
_SLICE_SECONDS = 0.5
_CAN_FORK = hasattr(os, "fork") and hasattr(signal, "setitimer")

Question = dict[str, Any]
Answer = dict[str, Any]


def serve() -> None:
    """Answer the questions that come in on stdin until it is closed.

    A question is a JSON object with ``reference``, ``answer``, ``places``, ``seconds`` (of processor time) and ``patience``
    (seconds of the clock). An answer is ``{"equal": bool}``, or ``{"undecided": why}`` with ``timeout``, ``crash`` or the
    text of an error. The first line is ``{"ready": true}``, or ``{"broken": why}``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions, answers = _private_streams()
    try:
        compute = _warm_comparer()
    except ImportError as error:
        _say(answers, {"broken": f"{type(error).__name__}: {error}"})
        return
    _say(answers, {"ready": True})
    ask = _Child(compute).ask if _CAN_FORK else _in_this_process(compute)
    for question in _lines(questions):
        _say(answers, ask(json.loads(question)))


class _Child:
    """A forked child that computes. It is killed when it runs out of time, and the next question gets a new one."""

    def __init__(self, compute: Callable[[Question], Answer]) -> None:
        self._compute = compute
        self._pid = 0
        gc.freeze()

    def ask(self, question: Question) -> Answer:
        if not self._pid:
            self._fork()
        _say(self._questions, question)
        readable = _has_come(self._answers, question["patience"])
        if readable and (line := self._answers.readline()):
            answer: Answer = json.loads(line)
            return answer
        os.kill(self._pid, signal.SIGKILL)
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        self._questions.close()
        self._answers.close()
        is_late = not readable or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)
        return {"undecided": "timeout" if is_late else "crash"}

    def _fork(self) -> None:
        inbox, self_out = os.pipe()
        self_in, outbox = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                for descriptor in (self_out, self_in):
                    os.close(descriptor)
                self._compute_all(os.fdopen(inbox), os.fdopen(outbox, "w"))
            finally:
                os._exit(1)
        for descriptor in (inbox, outbox):
            os.close(descriptor)
        self._questions, self._answers = os.fdopen(self_out, "w"), os.fdopen(self_in)

    def _compute_all(self, questions: IO[str], answers: IO[str]) -> None:
        """The life of the child. The timer's signal kills it even in the middle of one long operation on integers."""
        _limit_memory()
        for line in questions:
            question = json.loads(line)
            signal.setitimer(signal.ITIMER_PROF, question["seconds"])
            answer = self._compute(question)
            signal.setitimer(signal.ITIMER_PROF, 0)
            _say(answers, answer)


def _has_come(stream: IO[str], seconds: float) -> bool:
    """Whether a line comes in time, waited for in slices: a machine that was paused has lost one of them."""
    slices = range(math.ceil(seconds / _SLICE_SECONDS))
    return any(select.select([stream], [], [], _SLICE_SECONDS)[0] for _ in slices)


def _in_this_process(compute: Callable[[Question], Answer]) -> Callable[[Question], Answer]:
    """Computing without a child, under the watchdog of ``faulthandler``, which does not wait for the interpreter either."""

    def ask(question: Question) -> Answer:
        faulthandler.dump_traceback_later(question["patience"], exit=True, file=sys.stderr)
        try:
            return compute(question)
        finally:
            faulthandler.cancel_dump_traceback_later()

    return ask


def _warm_comparer() -> Callable[[Question], Answer]:
    """A function from question to answer whose parser has built its tables, so that the first question is no slower."""
    import logging

    from context_bench_math.symbolic import Comparer

    logging.disable(logging.CRITICAL)
    comparer = Comparer()

    def compute(question: Question) -> Answer:
        try:
            return {
                "equal": comparer.equal(
                    question["reference"], question["answer"], question["places"]
                )
            }
        except Exception as error:  # noqa: BLE001  whatever a parser raises about a model's text, that is not shown equal
            return {"undecided": f"{type(error).__name__}: {error}"[:200]}

    compute({"reference": r"\frac{x}{2}", "answer": "0.5x", "places": 6})
    return compute


def _lines(questions: IO[str]) -> Iterator[str]:
    """The lines that come in, until the stream ends or the process that asks has died.

    It may have died without closing the stream, where another child of it holds the other end of the pipe.
    """
    parent = os.getppid()
    while os.getppid() == parent:
        if _CAN_FORK and not select.select([questions], [], [], _PARENT_POLL_SECONDS)[0]:
            continue
        line = questions.readline()
        if not line:
            return
        yield line


def _private_streams() -> tuple[IO[str], IO[str]]:
    """Stdin and stdout as the program that asks sees them; whatever a library prints goes nowhere."""
    questions = os.fdopen(os.dup(0), encoding="ascii")
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return questions, answers


def _say(stream: IO[str], message: dict[str, Any]) -> None:
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def _limit_memory() -> None:
    """Let a number that grows without end fail in here and not take the machine's memory."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    except (ImportError, OSError, ValueError):
        pass
