"""The life of one program, in a process of its own: walls, job, solution, tests, report.

Solution and tests share an interpreter, as in the reference harnesses. That the tests returned is proved by a nonce that
the runner sent with the job. Python code must not find it, so it is never in a variable, a frame or a container that the
garbage collector lists: it is read straight into a chain of C calls that runs the sources one after the other and writes
the nonce after the last. A solution that leaves early leaves the chain.
"""

from __future__ import annotations

import builtins
import collections
import ctypes
import functools
import gc
import json
import os
import signal
import struct
import sys
import traceback
import types
from typing import Any

from context_bench_code.inside.assembly import assemble
from context_bench_code.inside.fitting import UNREADABLE
from context_bench_code.inside.soundness import fault_of
from context_bench_code.inside.walls import Walls

NONCE_BYTES = 32
_REPORT = 3
_LONGEST_MESSAGE = 500
_OWN_FILES = ("<imports", "<response", "<setup", "<test", "<check")
_LINKS = (functools.partial, map, tuple, type(iter(())))
_untrack = ctypes.pythonapi.PyObject_GC_UnTrack
_untrack.argtypes, _untrack.restype = [ctypes.py_object], None
_keep = ctypes.pythonapi.Py_IncRef
_keep.argtypes, _keep.restype = [ctypes.py_object], None
_run = ctypes.pythonapi.PyObject_CallNoArgs
_run.argtypes, _run.restype = [ctypes.c_void_p], ctypes.py_object


class _NoSolutionError(Exception):
    pass


class _BrokenTestsError(Exception):
    pass


def live(
    report: int, output: int, walls: Walls, directory: str, timeout: float, memory: int
) -> None:
    """Run the job that comes through `report` and report there; `output` takes what the program prints.

    The report is one line of JSON for each thing to say. After the tests there is nothing but the nonce.
    """
    try:
        _arrange(report, output)
        try:
            walls.enclose_program(directory, timeout, memory)
        except OSError as error:
            _say(sandbox=str(error))
            return
        os.environ["HOME"] = os.environ["TMPDIR"] = directory
        try:
            _run(_chain())
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is its result
            _say(**_description(error))
    finally:
        os._exit(0)  # never back into the server, whose copy this process is


def _chain() -> int:
    """The address of what runs everything; a frame that held the thing itself would show it to `gc.get_referents()`."""
    job = json.loads(_receive(struct.unpack("!Q", _receive(8))[0]))
    fault = fault_of(job)
    if fault:  # of the data set, whatever the response is
        _say(broken=fault)
        raise _BrokenTestsError
    program = assemble(job)
    codes = []
    for name, text in program.sources:
        try:
            codes.append(compile(text, name, "exec", dont_inherit=True))
        except UNREADABLE:
            _say(form=program.form)
            raise
    _say(form=program.form)
    if not codes:
        raise _NoSolutionError
    module = _fresh_module()
    _take_tools_away()
    gc.enable()
    steps: list[Any] = [functools.partial(exec, code, module.__dict__) for code in codes]
    steps += [
        functools.partial(os.write, _REPORT, _receive(NONCE_BYTES)),
        functools.partial(os._exit, 0),
    ]
    calls = map(functools.partial.__call__, iter(tuple(steps)))
    whole: object = functools.partial(collections.deque, calls, 0)
    _bury(whole)
    return id(whole)


def _bury(thing: object) -> None:
    """Make the links of the chain unknown to the garbage collector, so that `gc.get_objects()` does not list them.

    They are never freed: some types cannot free what the collector does not know.
    """
    _keep(thing)
    for part in gc.get_referents(thing):
        if isinstance(part, _LINKS):
            _bury(part)
    _untrack(thing)


def _arrange(report: int, output: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(report, _REPORT)
    os.closerange(_REPORT + 1, os.sysconf("SC_OPEN_MAX"))
    os.setsid()


def _fresh_module() -> types.ModuleType:
    """A module that is not `__main__`, as in the reference harnesses; dataclasses look for it in sys.modules."""
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    sys.modules["__main__"] = types.ModuleType("__main__")
    return module


def _take_tools_away() -> None:
    """Nothing of this package, and no tracing: a trace function can jump over the lines of a test.

    The functions take nothing but None, and Python refuses their work where they are found again, as in a second copy of `sys`.
    """
    sys.settrace = sys.setprofile = types.FunctionType(
        _set_no_tracing.__code__, {"__builtins__": builtins}
    )
    sys.addaudithook(_refuse_tracing)
    _bury(_refuse_tracing)
    for name in [name for name in sys.modules if name.startswith("context_bench_code")]:
        del sys.modules[name]


def _set_no_tracing(function: Any) -> None:
    """What stands for both functions: doctest and others put back the None that they found."""
    if function is not None:
        raise PermissionError("tracing is not to be had here")


def _refuse_tracing(event: str, _: object) -> None:
    if event in ("sys.settrace", "sys.setprofile", "sys.monitoring.register_callback"):
        raise PermissionError(f"{event} is not to be had here")


def _receive(length: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < length:
        chunk = os.read(_REPORT, length - len(chunks))
        if not chunk:
            os._exit(1)  # the runner has gone
        chunks += chunk
    return bytes(chunks)


def _say(**what: Any) -> None:
    os.write(_REPORT, json.dumps(what).encode() + b"\n")


def _description(error: BaseException) -> dict[str, Any]:
    """What went wrong, in words that a user can act on. Runs the program's code where it defines `__str__`."""
    if isinstance(error, _NoSolutionError):
        return {"outcome": "no code found"}
    try:
        sys.stdout.flush()
        message = traceback.format_exception_only(type(error), error)[-1].strip()[:_LONGEST_MESSAGE]
        frames = traceback.extract_tb(error.__traceback__)
    except BaseException:  # noqa: BLE001
        message, frames = type(error).__name__, traceback.StackSummary()
    where = [
        (frame.filename, frame.lineno) for frame in frames if frame.filename.startswith(_OWN_FILES)
    ]
    tests = [place for place in where if place[0].startswith("<test")]
    return {
        "outcome": _outcome(error),
        "error": type(error).__name__,
        "message": message,
        "where": where[-1:],
        "test": tests[-1:],
    }


def _outcome(error: BaseException) -> str:
    kinds: dict[type[BaseException], str] = {
        AssertionError: "failed assertion",
        MemoryError: "memory",
        SystemExit: "exited early",
    }
    return next((outcome for kind, outcome in kinds.items() if isinstance(error, kind)), "error")
