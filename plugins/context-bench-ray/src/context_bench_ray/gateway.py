"""The process that speaks to ray for the driver: ray ends a process that loses its cluster.

Requests and answers are pickles on standard input and output. Functions, arguments and results pass
through unread. When the input ends, so does the process, with the cluster that it started.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from time import monotonic, sleep
from typing import IO, Any

RESULT, RAISED, LOST = "result", "raised", "lost"
"""What became of a request."""


def call(payload: bytes) -> bytes:
    """Call a function and return what became of it; a worker does it, which need not have this
    package."""
    from pickle import PicklingError, dumps, loads

    try:
        function, arguments = loads(payload)
        return dumps(("result", function(*arguments)), 5)
    except Exception as error:  # noqa: BLE001 - raised at the driver
        try:
            return dumps(("raised", error), 5)
        except (PicklingError, TypeError, AttributeError):
            return dumps(("raised", RuntimeError(f"{type(error).__name__}: {error}")), 5)


class Gateway:
    """Does requests until there are no more.

    Args:
        requests, answers: The pipes.
        options: Arguments of ``ray.init``.
        patience: For how many seconds workers are waited for.
    """

    def __init__(
        self, requests: IO[bytes], answers: IO[bytes], options: Mapping[str, Any], patience: float
    ) -> None:
        import ray
        from ray import cloudpickle

        self._ray: Any = ray
        self._requests = requests
        self._answers = answers
        self._patience = patience
        self._lock = Lock()
        self._context = ray.init(**options)
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        # Without `max_calls` a worker with a GPU would end after each batch.
        self._call = ray.remote(max_retries=0, max_calls=0)(call)

    def serve(self) -> None:
        """Announce the cluster, and do requests."""
        deadline = monotonic() + self._patience
        while not self._slots() and monotonic() < deadline:
            sleep(0.2)
        link = getattr(self._context, "dashboard_url", None)
        self._answer(0, RESULT, (self._slots(), f"http://{link}" if link else None))
        requests: dict[str, Callable[..., None]] = {
            "submit": self._submit,
            "each": self._each,
            "offers": self._offers,
        }
        while True:
            try:
                number, name, arguments = pickle.load(self._requests)
            except EOFError:
                return
            try:
                requests[name](number, *arguments)
            except Exception as error:  # noqa: BLE001 - told to the driver
                self._answer(number, RAISED, RuntimeError(str(error)))

    def _submit(self, number: int, payload: bytes, resources: Mapping[str, float]) -> None:
        options: dict[str, Any] = {
            "num_cpus": resources.get("CPU", 1),
            "num_gpus": resources.get("GPU", 0),
            "resources": {
                name: amount for name, amount in resources.items() if name not in ("CPU", "GPU")
            },
        }
        task = self._call.options(**options).remote(payload)
        task.future().add_done_callback(partial(self._settle, number))

    def _settle(self, number: int, future: Any) -> None:
        """Pass a result on; on a thread of ray's."""
        from ray.exceptions import RayError, RayTaskError

        try:
            self._answer(number, None, future.result())
        except RayTaskError as error:  # the worker could not even read what to call
            self._answer(number, RAISED, RuntimeError(str(error.cause)))
        except RayError as error:
            self._answer(number, LOST, type(error).__name__)
        except BaseException as error:  # noqa: BLE001 - the connection is broken
            self._answer(number, LOST, str(error))

    def _each(self, number: int, payload: bytes) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        tasks = {}
        for node in self._nodes():
            where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = self._call.options(num_cpus=0, scheduling_strategy=where).remote(payload)
            name = f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
            tasks[name] = task
        results = self._ray.get(list(tasks.values()), timeout=self._patience)
        self._answer(number, RESULT, dict(zip(tasks, results, strict=True)))

    def _offers(self, number: int) -> None:
        self._answer(number, RESULT, [dict(node["Resources"]) for node in self._nodes()])

    def _nodes(self) -> list[Any]:
        return [
            node
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) > 0
        ]

    def _slots(self) -> int:
        return int(sum(node["Resources"]["CPU"] for node in self._nodes()))

    def _answer(self, number: int, kind: str | None, value: Any) -> None:
        with self._lock:
            pickle.dump((number, kind, value), self._answers, 5)
            self._answers.flush()


def main() -> None:
    """Read the options, connect, and do requests."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # ray and what it starts print there
    folder, options, patience = pickle.load(requests)
    try:
        try:
            gateway = Gateway(requests, answers, options, patience)
        except Exception as error:  # noqa: BLE001 - told to the driver
            reason = " ".join(str(error).split())
            pickle.dump((0, RAISED, f"{type(error).__name__}: {reason}"), answers, 5)
            answers.flush()
            return
        gateway.serve()
    except BrokenPipeError:
        pass  # the driver has ended
    finally:
        import ray

        ray.shutdown()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
