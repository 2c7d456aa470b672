"""What executors on clusters share: the calls in flight, and when a cluster counts as lost.

One thread sends the calls, so that neither a slow cluster nor a lost one holds up the run. The same
thread watches the cluster while calls are in flight: one that does not come back in time, or has no
worker for what is in flight, ends the run with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from attrs import field, frozen

from context_bench.errors import ConfigurationError, ContextBenchError, LostExecutorError

__all__ = ["Call", "CallsInFlight", "DisconnectedError", "cluster_resources", "worker_count"]

_TICK = 1.0
"""Seconds between two looks at the cluster."""

_NAMES = {"cpus": "CPU", "gpus": "GPU"}
"""How workers name the resources that systems need; other names are passed on."""


class DisconnectedError(Exception):
    """The cluster dropped a call, or the connection to it was lost meanwhile: it is repeated."""


@frozen(eq=False)
class Call:
    """A call of a function on a worker.

    Attributes:
        function, arguments: What is called.
        resources: What it needs of a worker, as workers name it.
        future: Receives what the function returns.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    resources: Mapping[str, float]
    future: Future[Any] = field(factory=Future, init=False)


class CallsInFlight:
    """Sends calls to a cluster, and watches it.

    Args:
        cluster: How messages name it, such as ``The dask scheduler at tcp://host:1``.
        patience: For how many seconds a cluster that is lost or has no workers is waited for.
        reach: Waits until the cluster is connected.
        send: Sends a call; :meth:`settle` is called later, on any thread.
        look: Returns the resources of each worker; None where there is no connection just now.
            What it raises is a cluster that does not answer.
    """

    def __init__(
        self,
        cluster: str,
        patience: float,
        *,
        reach: Callable[[], None],
        send: Callable[[Call], None],
        look: Callable[[], Iterable[Mapping[str, float]] | None],
    ) -> None:
        self.is_closed = Event()
        self._cluster = cluster
        self._patience = patience
        self._reach = reach
        self._send = send
        self._look = look
        self._queue: SimpleQueue[Call | None] = SimpleQueue()
        self._pending: set[Call] = set()
        self._lock = Lock()
        self._error: ContextBenchError | None = None
        self._alone_since: float | None = None
        self._thread = Thread(target=self._serve, name="context-bench-calls", daemon=True)
        self._thread.start()

    def submit(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        resources: Mapping[str, float] | None,
    ) -> Future[Any]:
        """Have a worker that has the resources call a function."""
        call = Call(function, arguments, cluster_resources(resources or {}))
        self._queue.put(call)
        return call.future

    def settle(self, call: Call, result: Any = None, error: BaseException | None = None) -> None:
        """Hand over what a call returned or raised; nothing where the cluster is lost already."""
        with self._lock:
            if call not in self._pending:
                return
            self._pending.discard(call)
        if error is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(error)

    def lost(self, why: str) -> LostExecutorError:
        """Return the error of a lost cluster."""
        return LostExecutorError(f"{self._cluster} {why}.")

    def close(self) -> None:
        """End the thread; what is in flight stays so."""
        self.is_closed.set()
        self._queue.put(None)
        self._thread.join(2 * _TICK)

    def _serve(self) -> None:
        while not self.is_closed.is_set():
            call: Call | None = None
            with suppress(Empty):
                call = self._queue.get(timeout=_TICK)
            if call is not None and not call.future.set_running_or_notify_cancel():
                continue
            if call is None and not self._pending:
                self._alone_since = None
                continue
            if call is not None:
                with self._lock:
                    self._pending.add(call)
            self._do(call)

    def _do(self, call: Call | None) -> None:
        """Send a call, or look at the cluster; where that fails, all calls in flight fail."""
        if self._error is None:
            try:
                self._reach()
                if call is None:
                    self._look_at_workers()
                elif not self.is_closed.is_set():
                    self._send(call)
                return
            except ContextBenchError as error:
                self._error = error
            except Exception as error:  # noqa: BLE001 - the connection is broken
                self._error = self.lost(f"cannot be used: {type(error).__name__}: {error}")
        with self._lock:
            lost = list(self._pending)
            self._pending.clear()
        for other in lost:
            other.future.set_exception(self._error)

    def _look_at_workers(self) -> None:
        """Require that there are workers which can do what is in flight."""
        try:
            workers = self._look()
        except (OSError, TimeoutError):
            raise self.lost(f"does not answer for {self._patience:.0f} s") from None
        if workers is None:
            return  # the next look waits for it
        offers = list(workers)
        with self._lock:
            needs = [call.resources for call in self._pending]
        missing = next((need for need in needs if not _is_met(offers, need)), None)
        if missing is None:
            self._alone_since = None
            return
        now = monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since > self._patience:
            wanted = ",".join(f"{name}={amount:g}" for name, amount in missing.items())
            what = f"worker with {wanted}" if wanted else "worker"
            raise self.lost(f"has had no {what} for {self._patience:.0f} s")


def cluster_resources(resources: Mapping[str, float]) -> dict[str, float]:
    """Return resources as workers name them: ``CPU`` and ``GPU``, and others as they are."""
    return {_NAMES.get(name, name): amount for name, amount in resources.items()}


def worker_count(
    executor: str, address: str, cores: int, resources: Mapping[str, float]
) -> int | None:
    """Return the number of workers of a cluster of this machine; None for an address of another.

    Without a number there are as many as get the processors that a system needs; one where a system
    needs a GPU.

    Raises:
        ConfigurationError: The number is not positive.
    """
    if not address:
        return 1 if resources.get("gpus") else max(1, int(cores / resources.get("cpus", 1)))
    if not address.isdecimal():
        return None
    if int(address) < 1:
        raise ConfigurationError(
            f"--executor {executor}:{address} must have a positive number of workers."
        )
    return int(address)


def _is_met(offers: Iterable[Mapping[str, float]], need: Mapping[str, float]) -> bool:
    """Whether a worker has resources."""
    return any(
        all(offer.get(name, 0) >= amount for name, amount in need.items()) for offer in offers
    )
