"""The border to somebody else's code: what comes out of it is the failure of a row, but for a Ctrl-C that came as a signal."""

from __future__ import annotations

import signal
from collections.abc import Callable
from threading import current_thread, main_thread
from traceback import format_exception
from typing import Any

from attrs import frozen

from context_bench.records import Failure
from context_bench.runner.stopping import Interruption, Signals


@frozen
class Raised:
    """What somebody else's code raised, in place of what it should have returned."""

    error: BaseException


def is_ours(error: BaseException) -> bool:
    """Whether an error that came out of somebody else's code stops the run: a signal brought it, and not that code.

    SystemExit, GeneratorExit and a KeyboardInterrupt that the code raises itself are failures like any other.
    """
    if isinstance(error, Interruption):
        return True
    if not isinstance(error, KeyboardInterrupt) or current_thread() is not main_thread():
        return False
    return not isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Signals)


def guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what somebody else's function returns, or :class:`Raised` with what it raised.

    Raises:
        KeyboardInterrupt: A Ctrl-C came meanwhile.
    """
    try:
        return function(*arguments)
    except BaseException as error:
        if is_ours(error):
            raise
        return Raised(error)


def failure_of(stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
    """Return the failure that an error is; one that cannot even be written down is a failure, too."""
    attempts = guarded(getattr, error, "attempts", 1)
    told = guarded(lambda: "".join(format_exception(type(error), error, error.__traceback__)))
    return Failure(
        stage=stage,
        kind=type(error).__name__,
        message=message_of(error),
        evaluator=evaluator,
        attempts=attempts if type(attempts) is int and attempts > 0 else 1,
        traceback=told if isinstance(told, str) else "",
    )


def message_of(error: BaseException) -> str:
    """Return what an error says."""
    found = guarded(str, error)
    return found if type(found) is str else f"its message cannot be read: {type(error).__name__}.__str__ failed"
