"""The executor of core: worker processes of this machine, each led by a thread."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.run.child import Child
from context_bench.run.cores import usable_cores

_Task = tuple["Future[Any]", tuple[Any, ...]]


class WorkerDiedError(Exception):
    """A worker process ended in the middle of a batch."""


class Caller:
    """Calls any function with arguments; what a worker process is."""

    def score(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what the function returns; a :class:`~context_bench.run.child.Child` calls a
        method of this name."""
        return function(*arguments)


class ProcessExecutor:
    """Does batches in processes of this machine.

    Args:
        address: How many processes; empty for as many as this process may use processors.

    Attributes:
        slots: How many batches are done at once.
        lost: What a batch raises whose process ended.

    Raises:
        ConfigurationError: The number is not a positive integer.
    """

    lost = (WorkerDiedError,)

    def __init__(self, address: str = "") -> None:
        if address and not (address.isdecimal() and int(address) > 0):
            raise ConfigurationError(
                f"--executor processes:{address} must have a positive number of processes."
            )
        self.slots = int(address) if address else usable_cores()
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = Lock()
        self._children: set[Child] = set()
        self._is_closed = False
        for number in range(self.slots):
            name = f"context-bench-process-{number}"
            Thread(target=self._lead, name=name, daemon=True).start()

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        resources: Mapping[str, float] | None = None,
    ) -> Future[Any]:
        """Have a process call a function; it is imported there by its name. The processes share the
        resources of the machine."""
        future: Future[Any] = Future()
        self._tasks.put((future, (function, arguments)))
        return future

    def each(self, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
        """Return what a function returns in a process; all of them have one environment."""
        return {"a process of this machine": self.submit(function, *arguments).result()}

    def close(self) -> None:
        """Kill the processes; what they do is lost."""
        with self._lock:
            self._is_closed = True
            children = list(self._children)
        for _ in range(self.slots):
            self._tasks.put(None)
        for child in children:
            child.kill()

    def _lead(self) -> None:
        """Pass tasks to one process after the other; on a thread."""
        child: Child | None = None
        while (task := self._tasks.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if child is None or child.is_dead:
                    child = self._start()
                result = child.score(call, None)
            except EOFError as error:
                future.set_exception(WorkerDiedError(f"The worker {error}."))
            except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
                future.set_exception(error)
            else:
                if isinstance(result, BaseException):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    def _start(self) -> Child:
        child = Child(pickle.dumps(Caller()))
        with self._lock:
            self._children = {other for other in self._children if not other.is_dead}
            self._children.add(child)
            is_late = self._is_closed
        if is_late:
            child.kill()
        return child
