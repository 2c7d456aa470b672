"""A server of our own: started when it is first needed, ready when its model is loaded, stopped with whoever started it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from threading import BoundedSemaphore, Lock, RLock, Thread
from typing import IO, Any
from weakref import finalize

from context_bench_http import EndpointError, HttpClient, Network

_PATIENCE = 10.0
_MOST_STARTS = 4
_POLL = 0.05
_FIRST, _LATEST = 0, -1


class ServerError(RuntimeError):
    """The server does not start, or has ended."""


@dataclass(frozen=True)
class ServerSettings:
    """What a server is started with.

    Attributes:
        model: Path of the GGUF file.
        alias: Name under which it answers.
        context_tokens: Tokens of one prompt with its reply.
        threads: Threads.
        parallel: Requests at once.
        seed: Sampling seed.
        gpu_layers: Layers on a GPU.
        prompt_cache: Whether prompts share what they have in common.
    """

    model: str
    alias: str
    context_tokens: int = 8192
    threads: int = 1
    parallel: int = 1
    seed: int = 0
    gpu_layers: int = 0
    prompt_cache: bool = False


class LlamaServer:
    """llama.cpp's server in a process of its own, on a free port of 127.0.0.1.

    It ends with `stop`, with the interpreter, and when this process dies, whatever the reason. A server that ended by
    itself is started again, three times at most.

        with LlamaServer(ServerSettings("model.gguf", "model")) as server:
            print(server.url)

    Args:
        settings: What it is started with.
        start_timeout: Seconds for loading the model.

    Attributes:
        places: One for each request that it works on at once.
    """

    def __init__(self, settings: ServerSettings, start_timeout: float = 300.0) -> None:
        self.settings = settings
        self.start_timeout = start_timeout
        self.places = BoundedSemaphore(settings.parallel)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopper: Callable[[], Any] | None = None
        self._log: IO[bytes] | None = None
        self._url = ""
        self._starts = 0
        self._refusal: ServerError | None = None

    def __enter__(self) -> LlamaServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address, of a running server."""
        return self.start()

    @property
    def pid(self) -> int | None:
        """The process id; None while it is not running."""
        return (
            self._process.pid
            if self._process is not None and self._process.poll() is None
            else None
        )

    def start(self) -> str:
        """Return the address, once the model is loaded; a server that runs already is left as it is.

        Raises:
            ServerError: It does not start, does not get ready in time, or has ended too often.
        """
        with self._lock:
            if self.pid is not None:
                return self._url
            if self._refusal is not None:
                raise ServerError(str(self._refusal))  # it would fail again, after as long
            if self._starts >= _MOST_STARTS:
                raise ServerError(
                    f"llama: the server of {self._file} has ended {self._starts} times: {self._ended()}"
                )
            self._stop()
            self._starts += 1
            try:
                self._url = self._started()
            except ServerError as error:
                self._stop()
                self._refusal = error
                raise
            except BaseException:
                self._stop()
                raise
            return self._url

    def wait_until_settled(self) -> None:
        """Wait, after a connection broke, until the server answers or has ended, so that `start` sees which.

        The connections of a process that dies close a moment before the process counts as ended.
        """
        http = HttpClient(Network(is_local=True), timeout=_PATIENCE)
        until = time.monotonic() + _PATIENCE
        while self.pid is not None and not _is_healthy(http, self._url):
            if time.monotonic() > until:
                return
            time.sleep(_POLL)

    def stop(self) -> None:
        """Stop the server, if it runs."""
        with self._lock:
            self._stop()

    @property
    def _file(self) -> str:
        return Path(self.settings.model).name

    def _started(self) -> str:
        self._log = TemporaryFile()  # noqa: SIM115 - closed when the server is stopped
        self._process = subprocess.Popen(
            [sys.executable, "-m", "context_bench_llama.serve", json.dumps(asdict(self.settings))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # a Ctrl-C is the run's, not the server's
        )
        self._stopper = finalize(self, _end, self._process)
        until = time.monotonic() + self.start_timeout
        answer = self._first_line(until)
        if "address" not in answer:
            raise ServerError(
                f"llama: the server of {self._file} does not start: {answer['error']}"
            )
        address = str(answer["address"])
        url = address if "://" in address else f"http://{address}"
        http = HttpClient(Network(is_local=True), timeout=_PATIENCE)
        while not _is_healthy(http, url):
            if self._process.poll() is not None:
                raise ServerError(
                    f"llama: the server of {self._file} does not start: {self._ended()}"
                )
            if time.monotonic() > until:
                raise ServerError(
                    f"llama: the server of {self._file} is not ready after {self.start_timeout:g} s (start_timeout)."
                )
            time.sleep(_POLL)
        return url

    def _first_line(self, until: float) -> dict[str, Any]:
        """Return what the child says of itself; read on a thread, since no pipe has a time limit on every system."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        lines: Queue[bytes] = Queue()
        out = process.stdout
        Thread(
            target=lambda: lines.put(out.readline()), name="context-bench-llama", daemon=True
        ).start()
        try:
            line = lines.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            raise ServerError(
                f"llama: the server of {self._file} says nothing for {self.start_timeout:g} s (start_timeout)."
            ) from None
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            process.wait(_PATIENCE)
            return {"error": self._ended(_FIRST)}
        if isinstance(found, dict) and "address" in found:
            return found
        process.wait(_PATIENCE)  # until it has printed why
        told = found.get("error", found) if isinstance(found, dict) else found
        return {"error": f"{told}{self._said(_FIRST)}"}

    def _ended(self, place: int = _LATEST) -> str:
        code = self._process.poll() if self._process is not None else None
        how = "" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}{self._said(place)}"

    def _said(self, place: int) -> str:
        """Return a line with an error that the server printed, to be put behind a message: the first names the cause."""
        if self._log is None:
            return ""
        self._log.seek(0, 2)
        self._log.seek(max(0, self._log.tell() - 20_000))
        lines = [
            line.strip()
            for line in self._log.read().decode("utf-8", "replace").splitlines()
            if line.strip()
        ]
        telling = [
            line for line in lines if "error" in line.lower() or "failed" in line.lower()
        ] or lines
        return f" ({telling[place][:300]})" if telling else ""

    def _stop(self) -> None:
        if self._stopper is not None:
            self._stopper()
            self._stopper = None
        if self._log is not None:
            self._log.close()
            self._log = None


_borrowed: dict[ServerSettings, tuple[LlamaServer, int]] = {}
_borrowing = RLock()  # the collector may give one back while this thread borrows another


def borrow(settings: ServerSettings, start_timeout: float) -> LlamaServer:
    """Return the server with these settings that others use already, or a new one: a model is in memory once.

    Whoever borrows one gives it back with `give_back`; the last one stops it.
    """
    with _borrowing:
        server, users = _borrowed.get(settings) or (LlamaServer(settings, start_timeout), 0)
        _borrowed[settings] = server, users + 1
        return server


def give_back(server: LlamaServer) -> None:
    """Stop a borrowed server, unless others use it."""
    with _borrowing:
        _, users = _borrowed[server.settings]
        if users > 1:
            _borrowed[server.settings] = server, users - 1
            return
        del _borrowed[server.settings]
    server.stop()


def _is_healthy(http: HttpClient, url: str) -> bool:
    try:
        return http.fetch_url(f"{url}/health").status == 200
    except EndpointError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a server: let it go, and use force when it does not."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    for force in (None, process.terminate, process.kill):
        if force is not None:
            force()
        try:
            process.wait(_PATIENCE / 2)
            break
        except subprocess.TimeoutExpired:
            continue
    process.stdout.close()  # last, since a thread may still wait for a line
