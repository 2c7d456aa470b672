"""One program from the runner's side: the job goes out, the output is drained, the end is judged."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from context_bench_code.errors import SandboxError
from context_bench_code.fork_server import ForkServer, ServerLostError
from context_bench_code.inside.limits import patience
from context_bench_code.sleep import TICK_SECONDS, SleepWatch
from context_bench_code.verdict import Ending, Verdict, judge

_NONCE_BYTES = 32
_GRACE_SECONDS = 30.0
_MOST_OUTPUT = 10 * 1024 * 1024
_KEPT_OUTPUT = 8192
_MOST_REPORT = 1024 * 1024
_FLOODED, _OVERSLEPT = "flooded", "overslept"


def converse(server: ForkServer, job: Mapping[str, Any], timeout: float, memory: int) -> Verdict:
    """Have one program run, and judge it.

    Raises:
        ServerLostError: The fork server ended before the program did.
        SandboxError: The fork server could not put the program behind its walls.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    body = json.dumps(job).encode()
    with contextlib.ExitStack() as ends:
        report, far_report = map(ends.enter_context, socket.socketpair())
        status, far_status = map(ends.enter_context, socket.socketpair())
        output, far_output = (
            ends.enter_context(os.fdopen(end, mode, 0))
            for end, mode in zip(os.pipe(), ("rb", "wb"))
        )
        watch = SleepWatch(report)
        started = time.monotonic()
        server.submit(
            timeout, memory, [far_report.fileno(), far_output.fileno(), far_status.fileno()]
        )
        for end in (far_report, far_output, far_status):
            end.close()
        with contextlib.suppress(
            OSError
        ):  # a program that ended before it read its job says so in its status
            report.sendall(struct.pack("!Q", len(body)) + body + nonce)
        printed, cut_short = _drain(output.fileno(), status, watch, timeout)
        seconds = time.monotonic() - started
        told: dict[str, Any] = {} if cut_short else _told(status)
        ending = Ending(
            report=_rest(report),
            output=printed,
            status=told.get("status"),
            was_killed=told.get("was_killed", False),
            flooded=cut_short == _FLOODED,
            overslept=cut_short == _OVERSLEPT,
            seconds=seconds,
            processor_seconds=told.get("processor_seconds", 0.0),
            timeout=timeout,
        )
    return judge(ending, nonce, job["tests"])


def _drain(
    output: int, status: socket.socket, watch: SleepWatch, timeout: float
) -> tuple[bytes, str]:
    """Read what the program prints until its status is known; gives the last bytes, and why its end was not waited for.

    The fork server kills a program whose status nobody listens to any more. So one that prints too much needs no more, nor does
    one that sleeps its time away.
    """
    poller = select.poll()
    poller.register(output, select.POLLIN)
    poller.register(status, select.POLLIN)
    kept, length, deadline = b"", 0, time.monotonic() + patience(timeout) + _GRACE_SECONDS
    ended = False
    while True:
        ready = [descriptor for descriptor, _ in poller.poll(0 if ended else TICK_SECONDS * 1000)]
        if ended and not ready:
            return kept, ""
        if status.fileno() in ready:
            poller.unregister(status)
            ended = True
        if not ended:
            if (
                watch.look() >= timeout + TICK_SECONDS
            ):  # what only computes is ended by the fork server before
                return kept, _OVERSLEPT
            if time.monotonic() > deadline:
                raise ServerLostError  # the server keeps the time, and does not
        if output in ready:
            chunk = os.read(output, 65536)
            if not chunk:
                poller.unregister(output)
            length += len(chunk)
            kept = (kept + chunk)[-_KEPT_OUTPUT:]
            if length > _MOST_OUTPUT:
                return kept, _FLOODED


def _told(status: socket.socket) -> dict[str, Any]:
    with status.makefile("rb") as lines:
        line = lines.readline()
    if not line:
        raise ServerLostError
    told: dict[str, Any] = json.loads(line)
    if "error" in told:
        raise SandboxError(f"The code sandbox could not start a program: {told['error']}")
    return told


def _rest(report: socket.socket) -> bytes:
    report.setblocking(False)
    chunks = bytearray()
    with contextlib.suppress(OSError):
        while len(chunks) < _MOST_REPORT and (chunk := report.recv(65536)):
            chunks += chunk
    first = chunks.partition(b"\n")[0]
    if first.startswith(b'{"sandbox"'):
        raise SandboxError(
            f"The code sandbox could not enclose a program: {json.loads(first)['sandbox']}"
        )
    return bytes(chunks)
