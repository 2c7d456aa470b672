"""How a run is stopped: one token that every wait takes, the signals that set it, rows that fail,
and the code of others."""

from __future__ import annotations

import re
import signal
from _thread import interrupt_main, start_new_thread
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread, current_thread, main_thread
from traceback import format_exception
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import frozen

from context_bench.errors import ContextBenchError, message_of
from context_bench.run.datasets import gold_remark

if TYPE_CHECKING:
    import asyncio

    from context_bench.records import Failure
    from context_bench.store.rows import StoredRow

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a run as Ctrl-C does; Windows has no third."""

LONGEST = 10.0
"""Seconds for which a run that is stopped waits for its calls in flight; then it ends as by a
second signal."""

Item = TypeVar("Item")


class CancelToken(Event):
    """Says whether a run is to send no more, and ends every wait when that comes. It is set once,
    for good.

    Safe to use from any thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._wakers: set[Callable[[], None]] = set()

    def set(self) -> None:
        """End all waits, those that begin later included."""
        with self._lock:
            super().set()
            wakers = self._wakers
            self._wakers = set()
        for wake in wakers:
            wake()

    def add(self, wake: Callable[[], None]) -> None:
        """Have something called when the token is set; at once when it is set already."""
        with self._lock:
            if not self.is_set():
                self._wakers.add(wake)
                return
        wake()

    def discard(self, wake: Callable[[], None]) -> None:
        """Undo :meth:`add`."""
        with self._lock:
            self._wakers.discard(wake)

    @contextmanager
    def calling(self, wake: Callable[[], None]) -> Iterator[None]:
        """Have something called when the token is set meanwhile, or is set already."""
        self.add(wake)
        try:
            yield
        finally:
            self.discard(wake)


def call_on(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Have an event loop call something, from any thread; one that has ended does not."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function)


class Signals:
    """Makes SIGINT, SIGTERM and SIGHUP end a run in order: the first one lets calls in flight end,
    the second does not wait.

    Calls that have not ended :data:`LONGEST` seconds after the first are left, as if a second
    signal had come, and then another. As a context manager around the whole of a session it takes
    those signals that nobody else handles, and gives them back. Meanwhile SIGCHLD is not ignored,
    as a launcher or a package may have it: the status of every program that ends would be lost, and
    Python takes it for 0. In a thread other than the main one it does nothing.

    Args:
        say: Receives messages, on a separate thread; None for no messages.

    Attributes:
        stop: Is set by the first signal.
        in_flight: Returns the calls in flight.
        number: The first signal that came; None before.
        is_at_once: Whether the first signal raises, too: nothing is in flight, or the main thread
            is in somebody else's code that nothing but an exception ends, such as a dataset.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say
        self.stop = CancelToken()
        self.in_flight: Callable[[], int] = int
        self.is_at_once = True
        self._is_deaf = False
        self._before: dict[int, Any] = {}
        self._over = Event()
        self._ending = Lock()
        self.number: int | None = None

    def __enter__(self) -> Signals:
        for number in _free(NAMES):
            self._before[number] = signal.signal(number, self._take)
        for number in _free(("SIGCHLD",), signal.SIG_IGN):
            self._before[number] = signal.signal(number, signal.SIG_DFL)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_deaf = True  # or one might keep the others from being given back
        with self._ending:  # or a signal of our own might come when nobody handles it any more
            self._over.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Let no signal raise meanwhile: what is done is our own, closes or records what has ended,
        and is short."""
        was_deaf = self._is_deaf
        self._is_deaf = True
        try:
            yield
        finally:
            self._is_deaf = was_deaf

    def pull(self, items: Iterator[Item]) -> Item | None:
        """Return the next item of somebody else's, or None; a signal ends this at once, as a
        dataset may take for ever."""
        self.is_at_once = True
        try:
            return None if self.number is not None else next(items, None)
        finally:
            self.is_at_once = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        is_first = self.number is None
        self.number = self.number or number
        is_at_once = self.is_at_once or not is_first
        if is_first:
            # A Thread takes locks, and the main thread may hold any of them here. No thread is
            # started before: with a second thread in the process every lock costs more.
            try:
                start_new_thread(self._attend, ())
            except RuntimeError:
                is_at_once = True  # without a thread nothing limits the time of calls in flight
        if is_at_once and not self._is_deaf:
            raise Interruption(self.number)

    def _attend(self) -> None:
        """Do what the first signal asks for, and every :data:`LONGEST` seconds from then what a
        second one does."""
        if self.number is None or self._over.is_set():
            return
        self.stop.set()
        count = self.in_flight()
        if self._say and count:
            calls = f"{count} call{'s' * (count != 1)}"
            message = f"Finishing {calls} in flight, for {LONGEST:g} s at most; again to stop now."
            # It may block.
            Thread(
                target=self._say, args=(message,), name="context-bench-signal-line", daemon=True
            ).start()
        while not self._over.wait(LONGEST):  # more than once: code that tries again may swallow one
            with self._ending:
                if self._over.is_set():
                    return
                if hasattr(signal, "pthread_kill"):
                    signal.pthread_kill(main_thread().ident or 0, self.number)
                else:
                    interrupt_main(signal.Signals(self.number))


def interruptible() -> None:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does, where they have no other handler."""
    for number in _free(NAMES[1:]):
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interruption(number)


def _free(names: Iterable[str], *handlers: Any) -> list[int]:
    """Return the signals that have one of some handlers, or that nobody else handles; none on a
    thread that cannot take them."""
    if current_thread() is not main_thread():
        return []
    ours = handlers or (signal.SIG_DFL, signal.default_int_handler, _interrupt)
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) in ours]


class Interruption(KeyboardInterrupt):
    """A run was ended by a signal.

    Attributes:
        exit_code: What a shell makes of it: 128 and the number of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.exit_code = 128 + int(number)
        super().__init__(f"stopped by {signal.Signals(number).name}")


@frozen
class CaughtError:
    """An error of foreign code, returned instead of its result."""

    error: BaseException


def is_control_flow(error: BaseException) -> bool:
    """Whether an error of foreign code stops the run: a signal caused it,
    and not that code.

    SystemExit, GeneratorExit and a KeyboardInterrupt that the code raises itself are failures like
    any other.
    """
    if isinstance(error, Interruption):
        return True
    if not isinstance(error, KeyboardInterrupt) or current_thread() is not main_thread():
        return False
    return not isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Signals)


def capture(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a foreign function, or :class:`CaughtError` with its error.

    Raises:
        KeyboardInterrupt: A Ctrl-C came meanwhile.
    """
    try:
        return function(*arguments)
    except BaseException as error:
        if is_control_flow(error):
            raise
        return CaughtError(error)


def failure_of(stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
    """Return the failure that an error is; one that cannot even be written down is a failure,
    too."""
    traceback = capture(lambda: "".join(format_exception(type(error), error, error.__traceback__)))
    from context_bench.records import Failure  # imported late: --help needs only the signals

    return Failure(
        stage=stage,
        kind=type(error).__name__,
        message=message_of(error),
        evaluator=evaluator,
        attempts=attempts_of(error),
        traceback=traceback if isinstance(traceback, str) else "",
    )


def add_attempts(error: BaseException, more: int) -> None:
    """Tell an error that the runner asked ``more`` times besides, so that its message and its
    failure count them all."""
    capture(setattr, error, "attempts", attempts_of(error) + more)


def attempts_of(error: BaseException) -> int:
    """Return how often a call was made before it failed, as its error counts."""
    attempts = capture(getattr, error, "attempts", 1)
    return attempts if type(attempts) is int and attempts > 0 else 1


FIRST = 10
LATER = 30
"""Rows that fail with one cause and stop a run: its first ones, and later ones in a row."""

_CAUSE_LENGTH = 300
_LIMIT_OF_A_GROUP = 24
_ROWS_OF_EACH = 3
_NUMBER = re.compile(r"[\w-]*\d[\w-]*|\w{16,}")


def cause_of(row: StoredRow) -> str:
    """Return why a row failed, in one line."""
    if not row.failures:
        return "unknown"
    failure = row.failures[0][1]
    return " ".join(str(failure).split())[:_CAUSE_LENGTH] + gold_remark(failure)


class TooManyFailuresError(ContextBenchError):
    """More rows failed than may."""

    exit_code = 12
    code = "too-many-failures"


class DeadSystemError(ContextBenchError):
    """A system fails row after row with one cause."""

    exit_code = 12
    code = "dead-system"


class RefusedError(ContextBenchError):
    """An endpoint has refused every request for long, and may answer again later: it is not
    dead."""

    exit_code = 12
    code = "refused"


class Failures:
    """Counts the rows whose system failed.

    Args:
        share: Share of rows that may fail, 0 to 1.
        expected: Rows of the whole run; None when nobody knows, and then the run stops early only
            where none may fail.
    """

    def __init__(self, share: float, expected: int | None) -> None:
        self._share = share
        self._expected = expected
        self._failed = 0

    def rows(self, rows: Iterable[StoredRow]) -> None:
        """Count rows.

        Raises:
            TooManyFailuresError: Even if all others succeed, too many have failed.
        """
        for row in rows:
            self._count(row)

    def _count(self, row: StoredRow) -> None:
        if row.output is not None or row.again:
            return
        self._failed += 1
        if self._expected is None:
            is_exceeded = not self._share
        else:
            is_exceeded = self._failed > self._share * self._expected
        if is_exceeded:
            of = self._expected or "an unknown number of"
            raise TooManyFailuresError(
                f"{self._failed} of {of} rows have failed, more than the {100 * self._share:g} % "
                f"that --max-failed allows. The last one: {cause_of(row)}"
            )


class CircuitBreaker:
    """Stops a run whose system is dead: its first rows, or later many in a row, failed with one
    cause.

    It does not need to know how long the run is. A row that is answered closes it again. Systems
    that ask one endpoint count together, until one of them is answered; and as long as an endpoint
    has answered nothing, a cause is the kind of an error: servers like to say of each request
    something else.

    Args:
        expected: Rows of the whole run; None when nobody knows. Where these have all been seen
            there is nothing to stop.
        before: Rows that were answered and that failed in earlier sessions, by slot. The failed
            ones are asked again first, so they may fail again, unless nothing was ever answered.
        endpoints: What each slot asks; None for one that asks no endpoint.
    """

    def __init__(
        self,
        expected: int | None,
        before: Mapping[int, tuple[int, int]] | None = None,
        endpoints: Mapping[int, str | None] | None = None,
    ) -> None:
        self._expected = expected
        self._failed_before: dict[int, int] = {}
        for number, (answered, failed) in (before or {}).items():
            if answered:
                self._failed_before[number] = failed
        self._endpoints = endpoints or {}
        self._seen = 0
        self._causes: dict[int, tuple[str, int]] = {}
        self._answered: set[int] = set()

    def rows(self, rows: Iterable[StoredRow]) -> None:
        """Look at rows.

        Raises:
            DeadSystemError: A system fails again and again with one cause.
        """
        for row in rows:
            self._check(row)

    def _systems_of(self, endpoint: str | None) -> list[int]:
        """Return the numbers of the systems that call an endpoint."""
        if endpoint is None:
            return []
        return [number for number, other in self._endpoints.items() if other == endpoint]

    def _failed_in_a_row(self, number: int) -> int:
        """Return how many rows of a system failed in a row with one cause."""
        return self._causes[number][1] if number in self._causes else 0

    def _check(self, row: StoredRow) -> None:
        if row.again:
            return
        self._seen += 1
        number = row.id.system_number
        if row.output is not None:
            if not row.reused and (self._causes or number not in self._answered):
                self._answered.add(number)
                self._causes.pop(number, None)
            return
        failure = row.failures[0][1]
        endpoint = self._endpoints.get(number)
        group = self._systems_of(endpoint) or [number]
        has_answered = not self._answered.isdisjoint(group)
        cause = failure.kind
        if endpoint is None or has_answered:
            cause += f": {_NUMBER.sub('0', failure.message[:_CAUSE_LENGTH])}"
        previous, count = self._causes.get(number, (cause, 0))
        self._causes[number] = (cause, count + 1 if previous == cause else 1)
        counted = [number] if has_answered else group
        failed = sum(self._failed_in_a_row(system) for system in counted)
        limit = LATER
        if number not in self._answered:
            limit = max(FIRST, min(_LIMIT_OF_A_GROUP, _ROWS_OF_EACH * len(counted)))
        limit += sum(self._failed_before.get(system, 0) for system in counted)
        if failed >= limit and self._seen != self._expected:
            rows = f"The first {failed} rows"
            if number in self._answered:
                rows = f"{failed} rows in a row"
            systems = "one system"
            if len(counted) > 1:
                systems = f"the {len(counted)} systems that ask {endpoint}"
            raise DeadSystemError(
                f"{rows} of {systems} failed with one cause, which asking again will not mend "
                f"(--keep-going goes on): {cause_of(row)}"
            )
