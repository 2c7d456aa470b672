"""Batches of rows as tasks of a ray cluster.

A process of its own, the gateway, is what ray knows as the driver: ray ends a process that loses its
cluster, and it prints. When the gateway ends, another one is started in time, and batches in flight
are sent again.
"""

from __future__ import annotations

import os
import pickle
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from threading import Lock, Thread
from time import monotonic
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.executors import (
    Call,
    CallsInFlight,
    DisconnectedError,
    cluster_resources,
    worker_count,
)
from context_bench_ray.gateway import LOST, RESULT

_PATIENCE = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""Ray's own setting: for how many seconds a lost head is waited for; 60 unless set."""

_OBJECT_STORE = 512 * 2**20
"""Bytes for long batches; what is more goes to the disk."""

_CLOSING = 20.0
"""Seconds that ray may take to end what it started, before it is killed."""

_MACHINE_ERRORS = ("NodeDiedError", "LocalRayletDiedError", "RaySystemError")

_CODE = "import sys; sys.path[:] = {path!r}; from context_bench_ray.gateway import main; main()"


class GatewayError(Exception):
    """The gateway does not connect; the text is the reason."""


class RayExecutor:
    """Does batches on a ray cluster.

    Args:
        address: Address of a cluster's head, ``auto``, or a number of workers for a cluster of this
            machine; empty for as many workers as ``cores`` allow.
        cores: How many processors this process may use.
        resources: What the most demanding system needs of each kind.

    Attributes:
        slots: How many batches are done at once: the processors of all workers at the start.
        lost: What a batch raises whose worker ended, or whose cluster was lost.
        link: Address of the dashboard, where there is one.

    Raises:
        ConfigurationError: The cluster cannot be used.
    """

    lost = (DisconnectedError,)

    def __init__(self, address: str, cores: int, resources: Mapping[str, float]) -> None:
        self._patience = _patience()
        self._address = address
        number = worker_count("ray", address, cores, resources)
        self._local = None if number is None else _local_options(number, resources)
        self._name = f"at {address}" if self._local is None else "of this machine"
        try:
            if self._local is None:
                _reach(address)
            self._gateway = self._connect()
        except GatewayError as error:
            what = (
                f"No ray cluster answers at {address}: {error}. Start one with 'ray start --head', "
                "set RAY_AUTH_MODE=token if it asks for a token, or pass --executor ray for "
                "workers of this machine."
            )
            if self._local is not None:
                what = f"The workers of ray do not start: {error}."
            raise ConfigurationError(what) from error
        self.slots = self._gateway.slots
        self.link = self._gateway.link
        if not self.slots:
            self._gateway.close()
            raise ConfigurationError(
                f"The ray cluster {self._name} has no workers. Start some with 'ray start'."
            )
        self._calls = CallsInFlight(
            f"The ray cluster {self._name}",
            self._patience,
            reach=self._wait_for_cluster,
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
        """Return what a function returns on each machine with workers.

        Raises:
            ConfigurationError: One cannot call it.
        """
        future = self._gateway.request("each", pickle.dumps((function, arguments), 5))
        try:
            answers = future.result()
        except (DisconnectedError, RuntimeError) as error:
            raise ConfigurationError(f"Workers of ray cannot be used: {error}") from error
        results = {}
        for worker, answer in answers.items():
            kind, result = pickle.loads(answer)
            if kind != RESULT:
                raise ConfigurationError(
                    f"The ray worker on {worker} cannot be used: {type(result).__name__}: "
                    f"{result}. Install the packages of the run there."
                ) from result
            results[worker] = result
        return results

    def close(self) -> None:
        """Leave the cluster, or end it where it is of this machine; batches in flight are lost."""
        if not self._calls.is_closed.is_set():
            self._calls.close()
            self._gateway.close()

    def _connect(self) -> Gateway:
        return Gateway(self._local or {"address": self._address}, self._patience)

    # What the thread of the calls does

    def _wait_for_cluster(self) -> None:
        """Have a gateway that is connected."""
        if not self._gateway.is_dead and not self._gateway.is_suspect:
            return
        deadline = monotonic() + self._patience
        while not self._calls.is_closed.is_set():
            self._gateway.close(is_patient=False)
            with suppress(GatewayError):
                if self._local is None:
                    _reach(self._address)
                self._gateway = self._connect()
                return
            if monotonic() > deadline:
                raise self._calls.lost(f"is lost: no connection for {self._patience:.0f} s")
            self._calls.is_closed.wait(0.5)

    def _offers(self) -> Iterable[Mapping[str, float]] | None:
        """Return the resources of each machine with workers; None where the connection is lost."""
        try:
            offers: list[Mapping[str, float]] = self._gateway.request("offers").result(
                self._patience
            )
        except DisconnectedError:
            return None
        except RuntimeError as error:
            raise TimeoutError(str(error)) from error
        return offers

    def _send(self, call: Call) -> None:
        payload = pickle.dumps((call.function, call.arguments), 5)
        answer = self._gateway.request("submit", payload, dict(call.resources))
        answer.add_done_callback(lambda done: self._settle(call, done))

    def _settle(self, call: Call, answer: Future[Any]) -> None:
        error = answer.exception()
        result = None
        if error is None:
            kind, result = pickle.loads(answer.result())
            error = None if kind == RESULT else result
        self._calls.settle(call, result, error)


class Gateway:
    """A process that is connected to a cluster.

    Args:
        options: Arguments of ``ray.init``.
        patience: For how many seconds a lost cluster, or its workers, are waited for.

    Attributes:
        slots, link: As in :class:`RayExecutor`.
        is_dead: Whether the process has ended.
        is_suspect: Whether a machine was lost, perhaps its own: what is sent then may fail at once.

    Raises:
        GatewayError: It does not connect.
    """

    def __init__(self, options: Mapping[str, Any], patience: float) -> None:
        self.is_dead = False
        self.is_suspect = False
        self._numbers = count(1)
        self._lock = Lock()
        self._open: dict[int, Future[Any]] = {0: Future()}
        is_local = options["address"] == "local"
        environ = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            _PATIENCE: str(max(1, int(patience / 2))),
        }
        self._folder = ""
        if is_local:
            # The socket names of ray's folder have room for a short path only.
            parent = tempfile.gettempdir()
            parent = parent if len(parent) < 20 else "/tmp"
            self._folder = tempfile.mkdtemp(prefix="cb-ray-", dir=parent)
            options = {**options, "_temp_dir": self._folder}
            # Its ports are open to the network; only processes of this run know the token.
            environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            environ.pop("RAY_ADDRESS", None)
        path = [os.path.abspath(folder) for folder in sys.path]
        quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,  # an interrupt is for the driver
        )
        Thread(target=self._listen, name="context-bench-ray", daemon=True).start()
        try:
            self._write((self._folder, {**options, **quiet}, patience))
            self.slots, self.link = self._open[0].result(patience + _CLOSING)
        except (TimeoutError, OSError, RuntimeError, DisconnectedError) as error:
            self.close(is_patient=False)
            raise GatewayError(str(error) or "it does not answer in time") from error
        except BaseException:
            self.close(is_patient=False)
            raise

    def request(self, name: str, *arguments: Any) -> Future[Any]:
        """Send a request, and return the future of the answer, which raises
        :class:`DisconnectedError` where the gateway or the worker ended."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._numbers)
            is_open = not self.is_dead
            if is_open:
                self._open[number] = future
        if not is_open:
            future.set_exception(DisconnectedError("The connection to ray has ended."))
            return future
        with suppress(OSError):  # then the listening thread notices, too
            self._write((number, name, arguments))
        return future

    def close(self, *, is_patient: bool = True) -> None:
        """End the process, and the cluster that it started."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if not is_patient:
            self._process.kill()
        try:
            self._process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, request: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(request, self._process.stdin, 5)
        self._process.stdin.flush()

    def _listen(self) -> None:
        """Settle requests until the process ends; on a thread."""
        assert self._process.stdout is not None
        with self._process.stdout as answers, suppress(EOFError, OSError, pickle.PickleError):
            while True:
                number, kind, value = pickle.load(answers)
                with self._lock:
                    future = self._open.pop(number)
                if kind == LOST:
                    self.is_suspect = self.is_suspect or value in _MACHINE_ERRORS
                    future.set_exception(DisconnectedError(value))
                elif kind in (None, RESULT):
                    future.set_result(value)
                else:
                    future.set_exception(RuntimeError(str(value)))
        with self._lock:
            self.is_dead = True
            futures = list(self._open.values())
            self._open.clear()
        for future in futures:
            future.set_exception(DisconnectedError("The connection to ray has ended."))


def _patience() -> float:
    with suppress(ValueError):
        return max(1.0, float(os.environ.get(_PATIENCE, "60")))
    return 60.0


def _reach(address: str) -> None:
    """Check that something listens at an address: ray would wait long, and end the process.

    Raises:
        GatewayError: Nothing does, or it is not an address.
    """
    if address == "auto":
        return
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise GatewayError("it is not HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise GatewayError(str(error)) from error


def _local_options(number: int, resources: Mapping[str, float]) -> dict[str, Any]:
    """Return the arguments of ``ray.init`` for so many workers on this machine."""
    needs = cluster_resources(resources)
    cpus = needs.pop("CPU", 1)
    gpus = needs.pop("GPU", 0)
    return {
        "address": "local",
        "num_cpus": max(1, round(number * max(1, cpus))),
        "num_gpus": round(number * gpus + 0.49),
        "resources": {name: number * amount for name, amount in needs.items()},
        "include_dashboard": find_spec("aiohttp_cors") is not None,
        "dashboard_host": "127.0.0.1",
        "object_store_memory": _OBJECT_STORE,
        "_node_ip_address": "127.0.0.1",
    }
