"""Bars: how far each system is, on a terminal of any width. Importing this imports rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from context_bench.console import printable

_LONGEST_LABEL = 28


class Bars(Progress):
    """A bar for each system, and below it a line of what else is known, wrapped where the terminal is narrow.

    Args:
        stream: The terminal.
        labels: Labels by slot.
        total: Rows expected of each system; None when nobody knows.
        left: Returns the seconds that a slot still needs, or None; asked whenever the screen is drawn.
        note: Returns the line of a slot, likewise.
    """

    def __init__(
        self,
        stream: TextIO,
        labels: Mapping[int, str],
        total: int | None,
        left: Callable[[int], float | None],
        note: Callable[[int], str],
    ) -> None:
        self._note = note
        self._slots: dict[TaskID, int] = {}
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _Left(lambda task: left(self._slots[task])),
            console=Console(file=stream),
            expand=True,
        )
        width = min(_LONGEST_LABEL, max(map(len, labels.values()), default=0))
        for slot, label in labels.items():
            shown = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
            self._slots[self.add_task(shown.ljust(width), total=total)] = slot

    def set_done(self, slot: int, done: int) -> None:
        """Move the bar of a slot."""
        for task, number in self._slots.items():
            if number == slot:
                self.update(task, completed=done)

    def say(self, line: str) -> None:
        """Leave a line above the bars."""
        self.print(Text(printable(line)))

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield what is drawn."""
        for task in self.tasks:
            yield self.make_tasks_table([task])
            note = self._note(self._slots[task.id])
            if note:
                yield Padding(Text(note, style="dim"), (0, 0, 0, 2))


class _Left(ProgressColumn):
    """The time that is left, by the speed of this session alone: what an earlier one has done took no time."""

    def __init__(self, left: Callable[[TaskID], float | None]) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        seconds = self._left(task.id)
        shown = "-:--:--" if seconds is None else str(timedelta(seconds=round(seconds)))
        return Text(shown, style="progress.remaining")
