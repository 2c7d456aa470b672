"""Batches of rows as tasks of a dask cluster."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import Client, KilledWorker, LocalCluster
from distributed import Future as DaskFuture
from distributed.comm import connect
from distributed.comm.addressing import normalize_address
from distributed.security import Security

from context_bench.errors import ConfigurationError
from context_bench.executors import (
    Call,
    CallsInFlight,
    DisconnectedError,
    cluster_resources,
    worker_count,
)

_CONNECTS = 2
"""A scheduler that is lost or has no workers is waited for as long as so many connections may take:
60 seconds unless dask is configured otherwise."""

Workers = Mapping[str, Mapping[str, Any]]


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
        number = worker_count("dask", address, cores, resources)
        if number is not None:
            self._name = "of this machine"
            self._cluster = _local_cluster(number, resources)
        else:
            self._name = f"at {address}"
        try:
            self._client = self._connect(address)
        except BaseException:
            self._close_cluster()
            raise
        try:
            self.slots = self._threads()
            self.link = self._dashboard()
        except BaseException:
            self._client.close()
            self._close_cluster()
            raise
        self._calls = CallsInFlight(
            f"The dask scheduler {self._name}",
            self._patience,
            reach=self._wait_for_scheduler,
            send=self._send,
            look=self._offers,
        )

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        resources: Mapping[str, float] | None = None,
    ) -> Future[Any]:
        """Have a worker that has the resources call a function; it is imported there by its
        name."""
        return self._calls.submit(function, arguments, resources)

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
        if self._calls.is_closed.is_set():
            return
        self._calls.close()
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

    # What the thread of the calls does

    def _wait_for_scheduler(self) -> None:
        """Wait until the client, which connects again by itself, is connected."""
        deadline = monotonic() + self._patience
        while self._client.status != "running" and not self._calls.is_closed.is_set():
            if self._client.status == "closed" or monotonic() > deadline:
                raise self._calls.lost(f"is lost: no connection for {self._patience:.0f} s")
            self._calls.is_closed.wait(0.1)

    def _offers(self) -> Iterable[Mapping[str, float]] | None:
        """Return the resources of each worker; None while there is no connection."""
        try:
            return [worker["resources"] for worker in self._workers().values()]
        except (OSError, TimeoutError):
            if self._client.status != "running":
                return None
            raise

    def _send(self, call: Call) -> None:
        # A batch may hold long documents; the warning advises what does not apply.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            task = self._client.submit(
                call.function, *call.arguments, pure=False, resources=dict(call.resources) or None
            )
        task.add_done_callback(partial(self._settle, call))

    def _settle(self, call: Call, task: DaskFuture) -> None:
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
        self._calls.settle(call, result, error)


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


def _local_cluster(number: int, resources: Mapping[str, float]) -> LocalCluster:
    """Start workers on this machine, each a process with one thread.

    Raises:
        ConfigurationError: The workers do not start.
    """
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
            resources=cluster_resources(resources),
            preload=["context_bench_dask.preload"],
        )
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(f"The workers of dask do not start: {error}") from error


def _has_dashboard() -> bool:
    return find_spec("bokeh") is not None
