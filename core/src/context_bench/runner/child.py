"""What a child process does: it scores pairs until its input ends. See :mod:`context_bench.runner.children`."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from struct import Struct
from typing import Any, BinaryIO

_LENGTH = Struct("!Q")


def serve() -> None:
    """Read an evaluator, then pairs; write what it says of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an evaluator prints must not mix with the answers
    requests = sys.stdin.buffer
    try:
        evaluator = _read(requests)
    except Exception as error:  # noqa: BLE001 - told to the parent, which then scores itself
        _write(answers, f"cannot be loaded: {error}")
        return
    _write(answers, "ready")
    while True:
        try:
            pair = _read(requests)
        except EOFError:
            return
        try:
            found: Any = evaluator.score(*pair)
            _write(answers, found)
        except Exception as error:  # noqa: BLE001 - an evaluator may raise anything; it is this row's failure
            try:
                _write(answers, error)
            except Exception:  # noqa: BLE001 - it cannot be sent as it is
                _write(answers, RuntimeError(f"{type(error).__name__}: {error}"))


def _read(stream: BinaryIO) -> Any:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(*_LENGTH.unpack(head)))


def _write(stream: BinaryIO, value: Any) -> None:
    message = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()
