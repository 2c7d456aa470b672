"""Batches of rows as tasks of a dask cluster.

One thread sends the batches, so that neither a slow scheduler nor a lost one holds up the run. The
same thread watches the cluster while batches are in flight: a scheduler or workers that do not come
back in time end the run with an error.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import dask
from attrs import frozen
from dask.utils import parse_timedelta
from distributed import Client, KilledWorker, LocalCluster
from distributed import Future as DaskFuture
from distributed.comm import connect
from distributed.comm.addressing import normalize_address
from distributed.security import Security

from context_bench.errors import ConfigurationError, ContextBenchError, LostExecutorError

_TICK = 1.0
"""Seconds between two looks at the cluster."""

_CONNECTS = 2
"""A scheduler that is lost or has no workers is waited for as long as so many connections may take:
60 seconds unless dask is configured otherwise."""

_NAMES = {"cpus": "CPU", "gpus": "GPU"}
"""How dask's workers name the resources that systems need; other names are passed on."""

Workers = Mapping[str, Mapping[str, Any]]


class DisconnectedError(Exception):
    """The scheduler dropped a batch, or the connection to it was lost meanwhile."""


@frozen(eq=False)
class _Call:
    future: Future[Any]
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    resources: Mapping[str, float]


class DaskExecutor:
    """Does batches on a dask cluster.

    Args:
        address: Address of a scheduler or path of a scheduler file, or a number of workers for a
            cluster of this machine; empty for as many workers as ``cores`` allow.
        cores: How many processors this process may use.
        resources: What the most demanding system needs of each kind.

    Attributes:
        slots: How many batches are done at once: the threads of all workers at the start.
        lost: What a batch raises whose worker ended, or whose scheduler forgot it.
        link: Address of the dashboard, where there is one.

    Raises:
        ConfigurationError: The cluster cannot be used.
    """

    lost = (KilledWorker, DisconnectedError)

    def __init__(self, address: str, cores: int, resources: Mapping[str, float]) -> None:
        connect: str = dask.config.get("distributed.comm.timeouts.connect")
        self._patience = _CONNECTS * parse_timedelta(connect)
        self._cluster: LocalCluster | None = None
        if not address or address.isdecimal():
            self._name = "of this machine"
            self._cluster = _local_cluster(int(address) if address else None, cores, resources)
        else:
            self._name = f"at {address}"
        try:
            self._client = self._connect(address)
        except BaseException:
            self._close_cluster()
            raise
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._pending: set[_Call] = set()
        self._lock = Lock()
        self._is_closed = Event()
        self._error: ContextBenchError | None = None
        self._alone_since: float | None = None
        try:
            self.slots = self._threads()
            self.link = self._dashboard()
        except BaseException:
            self._client.close()
            self._close_cluster()
            raise
        self._thread = Thread(target=self._serve, name="context-bench-dask", daemon=True)
        self._thread.start()

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        resources: Mapping[str, float] | None = None,
    ) -> Future[Any]:
        """Have a worker that has the resources call a function; it is imported there by its
        name."""
        call = _Call(Future(), function, arguments, _named(resources or {}))
        self._calls.put(call)
        return call.future

    def each(self, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
        """Return what a function returns on each worker.

        Raises:
            ConfigurationError: A worker cannot call it.
        """
        results = self._client.run(function, *arguments, on_error="return")
        for worker, result in results.items():
            if isinstance(result, BaseException):
                raise ConfigurationError(
                    f"The dask worker at {worker} cannot be used: {type(result).__name__}: "
                    f"{result}. Install the packages of the run there."
                ) from result
        return dict(results)

    def close(self) -> None:
        """Leave the cluster, or end it where it is of this machine; batches in flight are lost."""
        if self._is_closed.is_set():
            return
        self._is_closed.set()
        self._calls.put(None)
        self._thread.join(2 * _TICK)
        with suppress(TimeoutError, OSError):
            self._client.close(timeout=5)
        self._close_cluster()

    def _close_cluster(self) -> None:
        if self._cluster is not None:
            with suppress(TimeoutError):
                self._cluster.close(timeout=10)

    # The start

    def _connect(self, address: str) -> Client:
        settings = {"timeout": self._patience, "set_as_default": False}
        if self._cluster is not None:
            return Client(self._cluster, **settings)
        try:
            if address.endswith(".json"):
                # Client(scheduler_file=...) waits for ever for a file that does not exist.
                address = json.loads(Path(address).read_text(encoding="utf-8"))["address"]
            # A client that cannot even start to connect complains again when it is deleted.
            with ThreadPoolExecutor(1) as pool:  # a notebook's thread has a running loop
                pool.submit(lambda: asyncio.run(_reach(address, self._patience))).result()
            return Client(address, **settings)
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise ConfigurationError(
                f"No dask scheduler answers at {address}: {error}. Start one with 'dask scheduler', "
                "or pass --executor dask for workers of this machine."
            ) from error

    def _threads(self) -> int:
        """Return the number of threads of all workers, once there are any."""
        try:
            self._client.wait_for_workers(1, timeout=self._patience)
        except TimeoutError as error:
            raise ConfigurationError(
                f"The dask scheduler {self._name} has no workers. Start some with 'dask worker'."
            ) from error
        threads: int = sum(worker["nthreads"] for worker in self._workers().values())
        return max(1, threads)

    def _dashboard(self) -> str | None:
        if self._cluster is not None and not _has_dashboard():
            return None
        with suppress(KeyError):  # the scheduler serves none
            link: str | None = self._client.dashboard_link
            return link
        return None

    def _workers(self) -> Workers:
        """Return the workers by address, as the scheduler knows them now.

        Raises:
            Exception: It does not answer in time.
        """
        identity = self._client.sync(
            self._client.scheduler.identity, callback_timeout=self._patience
        )
        workers: Workers = identity["workers"]
        return workers

    # What the thread does

    def _serve(self) -> None:
        while not self._is_closed.is_set():
            call: _Call | None = None
            with suppress(Empty):
                call = self._calls.get(timeout=_TICK)
            if call is not None and not call.future.set_running_or_notify_cancel():
                continue
            if call is None and not self._pending:
                self._alone_since = None
                continue
            if call is not None:
                with self._lock:
                    self._pending.add(call)
            self._do(call)

    def _do(self, call: _Call | None) -> None:
        """Send a call, or look at the cluster; where that fails, all calls in flight fail."""
        if self._error is None:
            try:
                self._wait_for_scheduler()
                if call is None:
                    self._look_at_workers()
                elif not self._is_closed.is_set():
                    self._send(call)
                return
            except ContextBenchError as error:
                self._error = error
            except Exception as error:  # noqa: BLE001 - the client is broken
                self._error = self._lost(f"cannot be used: {type(error).__name__}: {error}")
        with self._lock:
            lost = list(self._pending)
            self._pending.clear()
        for other in lost:
            other.future.set_exception(self._error)

    def _lost(self, why: str) -> LostExecutorError:
        return LostExecutorError(f"The dask scheduler {self._name} {why}.")

    def _wait_for_scheduler(self) -> None:
        """Wait until the client, which connects again by itself, is connected."""
        deadline = monotonic() + self._patience
        while self._client.status != "running" and not self._is_closed.is_set():
            if self._client.status == "closed" or monotonic() > deadline:
                raise self._lost(f"is lost: no connection for {self._patience:.0f} s")
            self._is_closed.wait(0.1)

    def _look_at_workers(self) -> None:
        """Require that there are workers which can do what is in flight."""
        try:
            workers = self._workers()
        except (OSError, TimeoutError):
            if self._client.status != "running":
                return  # the next look waits for it
            raise self._lost(f"does not answer for {self._patience:.0f} s") from None
        with self._lock:
            needs = [call.resources for call in self._pending]
        missing = next((need for need in needs if not _offers(workers, need)), None)
        if missing is None:
            self._alone_since = None
            return
        now = monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since > self._patience:
            wanted = ",".join(f"{name}={amount:g}" for name, amount in missing.items())
            what = f"worker with {wanted}" if wanted else "worker"
            raise self._lost(f"has had no {what} for {self._patience:.0f} s")

    def _send(self, call: _Call) -> None:
        # A batch may hold long documents; the warning advises what does not apply.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            task = self._client.submit(
                call.function, *call.arguments, pure=False, resources=dict(call.resources) or None
            )
        task.add_done_callback(partial(self._settle, call))

    def _settle(self, call: _Call, task: DaskFuture) -> None:
        """Hand a result over; on a thread of dask's."""
        is_raised = task.status == "error"
        result: Any = None
        error: BaseException | None = None
        try:
            result = task.result()
        except CancelledError as cancelled:
            error = DisconnectedError(str(cancelled))
        except BaseException as raised:  # noqa: BLE001 - raised where the result is awaited
            is_lost = isinstance(raised, OSError) and not is_raised  # while it was fetched
            error = DisconnectedError(str(raised)) if is_lost else raised
        with self._lock:
            if call not in self._pending:  # the cluster is lost, and so is the call
                return
            self._pending.discard(call)
        if error is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(error)


async def _reach(address: str, patience: float) -> None:
    """Connect to a scheduler and disconnect.

    Raises:
        OSError: Nothing answers in time.
        TypeError: The address needs TLS, which dask is not configured for.
        ValueError: It is not an address.
    """
    arguments = Security().get_connection_args("client")
    comm = await connect(normalize_address(address), timeout=patience, **arguments)
    await comm.close()


def _local_cluster(number: int | None, cores: int, resources: Mapping[str, float]) -> LocalCluster:
    """Start workers on this machine, each a process with one thread.

    Without a number there are as many as get the processors that a system needs; one where a system
    needs a GPU.

    Raises:
        ConfigurationError: The number is not positive, or the workers do not start.
    """
    if number is None:
        number = 1 if resources.get("gpus") else max(1, int(cores / resources.get("cpus", 1)))
    if number < 1:
        raise ConfigurationError("--executor dask:0 must have a positive number of workers.")
    try:
        return LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0" if _has_dashboard() else None,
            silence_logs=logging.CRITICAL,
            # The run repeats what a worker did not survive, and knows when it is enough.
            scheduler_kwargs={"allowed_failures": 0},
            memory_limit=0,
            resources=_named(resources),
            preload=["context_bench_dask.preload"],
        )
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(f"The workers of dask do not start: {error}") from error


def _has_dashboard() -> bool:
    return find_spec("bokeh") is not None


def _named(resources: Mapping[str, float]) -> dict[str, float]:
    return {_NAMES.get(name, name): amount for name, amount in resources.items()}


def _offers(workers: Workers, resources: Mapping[str, float]) -> bool:
    """Whether a worker has resources."""
    return any(
        all(worker["resources"].get(name, 0) >= amount for name, amount in resources.items())
        for worker in workers.values()
    )
