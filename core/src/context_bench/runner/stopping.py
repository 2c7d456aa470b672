"""How a run is stopped: one token that every wait takes, the signals that set it, and the border to the code of others."""

from __future__ import annotations

import signal
from _thread import allocate_lock, interrupt_main
from collections.abc import Callable
from threading import Event, Lock, Thread, current_thread, main_thread
from traceback import format_exception
from types import FrameType
from typing import Any

from attrs import frozen

from context_bench.records import Failure

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a run as Ctrl-C does; Windows has no third."""

LONGEST = 10.0
"""Seconds for which a run that is stopped waits for its calls in flight; then it ends as by a second signal."""


class Stop:
    """Says whether a run is to send no more, and ends every wait when that comes. It is set once, for good.

    Safe to use from any thread.
    """

    def __init__(self) -> None:
        self._event = Event()
        self._lock = Lock()
        self._wakers: set[Callable[[], None]] = set()
        self.is_set = self._event.is_set
        self.wait = self._event.wait

    def set(self) -> None:
        """End all waits, those that begin later included."""
        with self._lock:
            self._event.set()
            wakers, self._wakers = self._wakers, set()
        for wake in wakers:
            wake()

    def add(self, wake: Callable[[], None]) -> None:
        """Have something called when the token is set; at once when it is set already."""
        with self._lock:
            if not self._event.is_set():
                self._wakers.add(wake)
                return
        wake()

    def discard(self, wake: Callable[[], None]) -> None:
        """Forget what :meth:`add` was told."""
        with self._lock:
            self._wakers.discard(wake)


class Signals:
    """Makes SIGINT, SIGTERM and SIGHUP end a run in order: the first one lets calls in flight end, the second does not wait.

    Calls that have not ended :data:`LONGEST` seconds after the first are left, as if a second signal had come. As a context
    manager it takes those signals that nobody else handles, and gives them back. In a thread other than the main one it
    does nothing.

    Args:
        stop: Is set by the first signal.
        say: Told what happens, on a thread of its own.
        in_flight: Returns the calls in flight.

    Attributes:
        number: The first signal that came; None before.
        is_pulling: Whether the main thread is in somebody else's code that nothing but an exception ends: a dataset.
    """

    def __init__(self, stop: Stop, say: Callable[[str], None], in_flight: Callable[[], int]) -> None:
        self._stop, self._say, self._in_flight = stop, say, in_flight
        self._before: dict[int, Any] = {}
        self._arrived = allocate_lock()
        self._over = Event()
        self._ending = Lock()
        self.number: int | None = None
        self.is_pulling = False

    def __enter__(self) -> Signals:
        if current_thread() is not main_thread():
            return self
        numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        free = [n for n in numbers if signal.getsignal(n) in (signal.SIG_DFL, signal.default_int_handler)]
        if free:
            self._arrived.acquire()
            Thread(target=self._attend, name="context-bench-signal", daemon=True).start()
        for number in free:
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        with self._ending:  # or a signal of our own might come when nobody handles it any more
            self._over.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._before and self.number is None:
            self._arrived.release()

    @property
    def is_told(self) -> bool:
        """Whether a Ctrl-C reaches :meth:`_take`: if so, an unannounced KeyboardInterrupt is somebody's own."""
        return int(signal.SIGINT) in self._before

    def is_ours(self, error: BaseException) -> bool:
        """Whether an error that came out of somebody else's code is a Ctrl-C, and not raised by that code itself."""
        return isinstance(error, KeyboardInterrupt) and (self.number is not None or not self.is_told)

    def raise_if_stopped(self) -> None:
        """Raise what a signal asked for, once everything is safe.

        Raises:
            Interruption: A signal has come.
        """
        if self.number is not None:
            raise Interruption(self.number)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            raise Interruption(self.number)
        self.number = number
        self._arrived.release()  # nothing more: the main thread may hold any lock here
        if self.is_pulling:
            raise Interruption(number)

    def _attend(self) -> None:
        """Wait for the first signal, do what it asks for, and after :data:`LONGEST` seconds what a second one does."""
        self._arrived.acquire()
        if self.number is None or self._over.is_set():
            return
        self._stop.set()
        count = self._in_flight()
        told = f"Finishing {count} call{'s' * (count != 1)} in flight, for {LONGEST:g} s at most; again to stop now."
        Thread(target=self._say, args=(told,), name="context-bench-signal-line", daemon=True).start()  # it may block
        if self._over.wait(LONGEST):
            return
        with self._ending:
            if self._over.is_set():
                return
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main_thread().ident or 0, self.number)
            else:
                interrupt_main(signal.Signals(self.number))


class Interruption(KeyboardInterrupt):
    """A run was ended by a signal.

    Attributes:
        exit_code: What a shell makes of it: 128 and the number of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.exit_code = 128 + int(number)
        super().__init__(f"stopped by {signal.Signals(number).name}")


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


def add_attempts(error: BaseException, more: int) -> None:
    """Tell an error that the runner asked ``more`` times besides, so that its message and its failure count them all."""
    own = guarded(getattr, error, "attempts", 1)
    guarded(setattr, error, "attempts", (own if type(own) is int and own > 0 else 1) + more)


def message_of(error: BaseException) -> str:
    """Return what an error says."""
    found = guarded(str, error)
    return found if type(found) is str else f"its message cannot be read: {type(error).__name__}.__str__ failed"
