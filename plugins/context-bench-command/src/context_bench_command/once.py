"""One process for one row: started, given its input, read to its end."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from time import monotonic, sleep

from context_bench_command.errors import (
    CommandExitError,
    CommandOutputError,
    CommandTimeoutError,
    StandardError,
)
from context_bench_command.processes import Process

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_LEFT_OVER = 2.0


def run_once(
    arguments: Sequence[str],
    given: bytes,
    *,
    cwd: str | None,
    environment: Mapping[str, str],
    timeout: float | None,
    largest: int,
    hide: Sequence[str] = (),
    end_others: Callable[[], None] | None = None,
) -> bytes:
    """Return what a program wrote to standard output.

    Args:
        arguments: The program and its arguments.
        given: Its standard input.
        cwd: Its folder; None for ours.
        environment: Its whole environment.
        timeout: Seconds until it is killed; None for no limit.
        largest: Bytes of output after which it is killed.
        hide: Secrets, to be hidden in what it says.
        end_others: Called when the program has ended or is to be killed, to end what left its process group and may still
            have its pipes open.

    Raises:
        CommandError: It could not be started, failed, was too slow, or wrote too much.
    """
    process = Process(arguments, cwd, environment)
    name = arguments[0]
    try:
        reading = _Reading(process, largest)
        writing = Thread(target=_write, args=(process, given), daemon=True)
        writing.start()
        until = None if timeout is None else monotonic() + timeout
        pause = _SHORTEST_PAUSE
        while not process.has_ended:
            left = None if until is None else until - monotonic()
            if reading.is_too_much or (left is not None and left <= 0):
                break
            if reading.has_ended.is_set():  # it closed its output and may still be busy
                sleep(pause)
            else:
                reading.has_ended.wait(pause if left is None else min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        was_over = process.has_ended
        if end_others is not None:
            end_others()
        if was_over:
            reading.has_ended.wait(
                _LEFT_OVER
                if until is None
                else max(0.0, min(_LEFT_OVER, until - monotonic())) + 0.2
            )
    finally:
        status = process.end()
    reading.join()
    said = process.stderr(hide)
    if reading.is_too_much:
        raise CommandOutputError(
            f"{name} wrote more than {size_of(largest)} and was killed (max_output)"
        ) from said
    if not was_over:
        raise CommandTimeoutError(
            f"{name} did not end within {timeout:g} s and was killed (timeout){last_words(said)}"
        ) from said
    if status != 0:
        raise CommandExitError(
            f"{name} {ending(status)}{last_words(said)}", reading.output
        ) from said
    return reading.output


def ending(status: int) -> str:
    """Return how a program ended, in words.

    >>> ending(3), ending(-9)
    ('ended with status 3', 'was ended by SIGKILL')
    """
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def last_words(said: StandardError | None) -> str:
    """Return the last line of standard error, to be put behind a message."""
    if said is None:
        return ""
    line = "".join(
        letter if letter.isprintable() else " " for letter in str(said).splitlines()[-1]
    ).strip()
    return f": {line[:300]}"


class _Reading:
    """Reads standard output up to a limit, on a thread of its own."""

    def __init__(self, process: Process, largest: int) -> None:
        self.has_ended = Event()
        self.is_too_much = False
        self._pieces: list[bytes] = []
        self._thread = Thread(target=self._read, args=(process, largest), daemon=True)
        self._thread.start()

    @property
    def output(self) -> bytes:
        return b"".join(self._pieces)

    def join(self) -> None:
        self._thread.join(_LEFT_OVER)

    def _read(self, process: Process, largest: int) -> None:
        size = 0
        try:
            for piece in process.pieces():
                size += len(piece)
                if size > largest:
                    self.is_too_much = True
                    return
                self._pieces.append(piece)
        finally:
            self.has_ended.set()


def _write(process: Process, given: bytes) -> None:
    """Give a program its input; one that does not want it may close the pipe."""
    with contextlib.suppress(OSError, ValueError):
        process.stdin.write(given)
        process.stdin.flush()
    with contextlib.suppress(OSError, ValueError):
        process.stdin.close()


def size_of(count: int) -> str:
    """Return a number of bytes in words."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count} bytes"
