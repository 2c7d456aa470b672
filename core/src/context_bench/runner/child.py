"""What a child process does: it scores pairs until its input ends. See :mod:`context_bench.runner.children`."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from struct import Struct
from threading import Thread
from time import sleep
from typing import Any, BinaryIO

from context_bench.runner.stopping import NAMES, message_of

_LENGTH = Struct("!Q")
_PR_SET_PDEATHSIG = 1
_SYNCHRONIZE, _FOREVER = 0x00100000, 0xFFFFFFFF


def serve() -> None:
    """Read an evaluator, then pairs; write what it says of each."""
    for name in NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)  # the parent decides when to end
    end_with_parent()
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
        except BaseException as error:  # noqa: BLE001 - whatever an evaluator raises is this row's failure
            try:
                _write(answers, error)
            except Exception:  # noqa: BLE001 - it cannot be sent as it is
                _write(answers, RuntimeError(f"{type(error).__name__}: {message_of(error)}"))


def end_with_parent() -> None:
    """Have this process end when its parent does, however that ends.

    Linux does it by itself (``prctl``); elsewhere a thread watches the parent.
    """
    parent = os.getppid()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that
            os._exit(1)
    else:
        Thread(target=_watch, args=(parent,), name="context-bench-parent", daemon=True).start()


def _watch(parent: int) -> None:
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, parent)
        ctypes.windll.kernel32.WaitForSingleObject(handle, _FOREVER)
    else:
        while os.getppid() == parent:
            sleep(0.5)
    os._exit(1)


def _read(stream: BinaryIO) -> Any:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(*_LENGTH.unpack(head)))


def _write(stream: BinaryIO, value: Any) -> None:
    message = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()
