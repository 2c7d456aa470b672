"""Imports of components in a child process: one that hangs or ends the process is a fault of that component alone.

The child (``python -m context_bench_kit.child``) reads each component as a line of pickled bytes in hexadecimal from standard
input, and writes a line of JSON with its state and its faults to the file descriptor that it was started with.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from subprocess import DEVNULL, PIPE, Popen
from threading import Thread
from types import TracebackType
from typing import Any

from attrs import Factory, evolve, frozen

from context_bench.catalog import Component

_START_SECONDS = 120.0


@frozen
class Verdict:
    """What a check says about a component.

    Attributes:
        faults: What is wrong, a line each.
        notes: What the author should know, a line each.
    """

    faults: list[str] = Factory(list)
    notes: list[str] = Factory(list)


class Child:
    """A process that imports one component after another."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        self._process = Popen(
            [sys.executable, "-m", "context_bench_kit.child", str(writer)],
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=DEVNULL,
            pass_fds=(writer,),
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )
        os.close(writer)
        self._answers: SimpleQueue[str] = SimpleQueue()
        self._answer_stream = os.fdopen(reader, encoding="utf-8")
        self._thread = Thread(target=self._listen, name="context-bench-check", daemon=True)
        self._thread.start()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._thread.join()
        self._answer_stream.close()

    def wait_until_ready(self) -> None:
        """Wait for the start of the process.

        Raises:
            TimeoutError: It did not start in two minutes.
            EOFError: It ended.
        """
        self._receive(_START_SECONDS)

    def examine(self, component: Component, seconds: float, *, call: bool) -> dict[str, Any]:
        """Return the ``state``, ``reason`` and ``remedy`` of a component after its import, and its
        ``faults`` and ``notes``.

        Args:
            component: The component.
            seconds: How long its check may take.
            call: Whether it is called, too.

        Raises:
            TimeoutError: The check takes longer than ``seconds``.
            EOFError: The component ended the process.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(pickle.dumps((component, call)).hex() + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._receive(seconds))
        return answer

    def _receive(self, seconds: float) -> str:
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            raise TimeoutError(f"checking it takes longer than {seconds:g} s") from None
        if not answer:
            raise EOFError(
                f"it ended the process of its check, with exit code {self._process.wait()}"
            )
        return answer

    def _listen(self) -> None:
        for line in self._answer_stream:
            self._answers.put(line)
        self._answers.put("")


def examine_in_child(
    components: Sequence[Component], seconds: float, *, call: bool = False
) -> Iterator[tuple[Component, Verdict]]:
    """Yield each component in the state that its import leaves it in, with the verdict on its code.

    Args:
        components: What to import; a component that cannot be used is yielded as it is.
        seconds: How long one check may take.
        call: Whether each is called, too; each distribution then has a new process.
    """
    pending = list(components)
    while pending:
        with Child() as child:
            child.wait_until_ready()
            distribution = pending[0].distribution.name
            while pending and (not call or pending[0].distribution.name == distribution):
                component = pending.pop(0)
                try:
                    answer = child.examine(component, seconds, call=call)
                except (TimeoutError, EOFError, OSError) as error:
                    name = component.distribution.name
                    remedy = f"report it to the authors of {name}, or uninstall it: `pip uninstall {name}`"
                    failed = evolve(component, state="failed", reason=str(error), remedy=remedy)
                    yield failed, Verdict()
                    break  # the process cannot be used any more: the next one goes on
                verdict = Verdict(answer["faults"], answer["notes"])
                yield (
                    evolve(
                        component,
                        state=answer["state"],
                        reason=answer["reason"],
                        remedy=answer["remedy"],
                    ),
                    verdict,
                )


def _serve(descriptor: int) -> None:
    """Check each component that standard input names, and write what was found."""
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # an import must not read the questions
    with os.fdopen(descriptor, "w", encoding="utf-8") as answers:
        answers.write("ready\n")
        answers.flush()
        for line in questions:
            component, call = pickle.loads(bytes.fromhex(line))
            answers.write(json.dumps(_answer(component, call=call)) + "\n")
            answers.flush()


def _answer(component: Component, *, call: bool) -> dict[str, Any]:
    """Return what importing a component has shown, and calling it where that is wanted."""
    from context_bench_kit.checking import faults_of_code

    faults: list[str] = []
    notes: list[str] = []
    if call:
        from context_bench_testing import check_component

        report = check_component(component)
        faults = report.faults
        notes = report.notes
    examined = component
    value: object = None
    usable = component.called_by_id()  # a contested short name does not matter here
    if usable.state == "ok":
        examined, value = usable.examine()
        if examined.state == "ok":
            examined = component
    return {
        "state": examined.state,
        "reason": examined.reason,
        "remedy": examined.remedy,
        "faults": [*faults_of_code(examined, value), *faults],
        "notes": notes,
    }


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
