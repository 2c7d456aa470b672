"""What the user should know about a run: emitted at once or later, and recorded."""

from __future__ import annotations

import sys
import warnings as python_warnings
from collections.abc import Callable

from attrs import define, field

from context_bench.console import warn


@define(eq=False)
class Warnings:
    """The warnings of a run.

    Attributes:
        emit: Receives each line; None for a run whose caller does not want them.
        on_one_thread: Whether ``emit`` may be called on the caller's thread alone, where it may
            raise: lines of other threads wait for :meth:`catch_up`, and so do all lines once
            systems are called.
        redact: Takes the secrets of the run out of a line.
        messages: The lines so far.
        has_rows: Whether systems are called.
    """

    emit: Callable[[str], None] | None = None
    on_one_thread: bool = False
    redact: Callable[[str], str] = str
    messages: list[str] = field(factory=list)
    has_rows: bool = False
    _waiting: list[str] = field(factory=list)

    def warn(self, line: str, waits: bool = False) -> None:
        """Emit a line on the caller's thread, unless it waits."""
        line = self.redact(line)
        self.messages.append(line)
        if self.on_one_thread and (waits or self.has_rows):
            self._waiting.append(line)
        elif self.emit is not None:
            self.emit(line)

    def warn_from_anywhere(self, line: str) -> None:
        """Emit a line on any thread."""
        self.warn(line, waits=True)

    def catch_up(self) -> None:
        """Emit the lines that wait; a Python warning that is raised as an error is printed, because
        the rows are there."""
        while self._waiting and self.emit is not None:
            line = self._waiting.pop(0)
            try:
                self.emit(line)
            except Warning:
                warn(line)


def issue_warning(line: str) -> None:
    """Issue a :class:`UserWarning` at the line that called
    :func:`~context_bench.session.evaluate.evaluate`."""
    frame = sys._getframe()
    level = 1
    while frame.f_back is not None and _is_core(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    python_warnings.warn(line, UserWarning, stacklevel=level)


def _is_core(module: str) -> bool:
    return module.partition(".")[0] == "context_bench"
