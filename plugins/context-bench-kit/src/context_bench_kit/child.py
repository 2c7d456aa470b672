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

from attrs import evolve

from context_bench.catalog import Component

_START_SECONDS = 120.0


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

    def examine(self, component: Component, seconds: float) -> tuple[str, str, str, list[str]]:
        """Return the state, reason and remedy of a component after its import, and its faults.

        Raises:
            TimeoutError: The import takes longer than ``seconds``.
            EOFError: The import ended the process.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(pickle.dumps(component).hex() + "\n")
        self._process.stdin.flush()
        state, reason, remedy, faults = json.loads(self._receive(seconds))
        return state, reason, remedy, faults

    def _receive(self, seconds: float) -> str:
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            raise TimeoutError(f"importing it takes longer than {seconds:g} s") from None
        if not answer:
            raise EOFError(f"importing it ended the process, with exit code {self._process.wait()}")
        return answer

    def _listen(self) -> None:
        for line in self._answer_stream:
            self._answers.put(line)
        self._answers.put("")


def examine_in_child(
    components: Sequence[Component], seconds: float
) -> Iterator[tuple[Component, list[str]]]:
    """Yield each component in the state that its import leaves it in, with the faults of its code.

    Args:
        components: What to import; a component that cannot be used is yielded as it is.
        seconds: How long one import may take.
    """
    pending = list(components)
    while pending:
        with Child() as child:
            child.wait_until_ready()
            while pending:
                component = pending.pop(0)
                try:
                    state, reason, remedy, faults = child.examine(component, seconds)
                except (TimeoutError, EOFError, OSError) as error:
                    name = component.distribution.name
                    remedy = f"report it to the authors of {name}, or uninstall it: `pip uninstall {name}`"
                    yield evolve(component, state="failed", reason=str(error), remedy=remedy), []
                    break  # the process cannot be used any more: the next one goes on
                yield evolve(component, state=state, reason=reason, remedy=remedy), faults


def _serve(descriptor: int) -> None:
    """Import each component that standard input names, and write what became of it."""
    from context_bench_kit.checking import faults_of_code

    questions = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # an import must not read the questions
    with os.fdopen(descriptor, "w", encoding="utf-8") as answers:
        answers.write("ready\n")
        answers.flush()
        for line in questions:
            component: Component = pickle.loads(bytes.fromhex(line))
            examined = component
            value: object = None
            usable = component.called_by_id()  # a contested short name does not matter here
            if usable.state == "ok":
                examined, value = usable.examine()
                if examined.state == "ok":
                    examined = component
            faults = faults_of_code(examined, value)
            answer = [examined.state, examined.reason, examined.remedy, faults]
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
