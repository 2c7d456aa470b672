"""Progress bars of the systems on a terminal of any width. This module imports rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, TextIO

from rich.console import RenderableType
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

from context_bench.console import drawing, escape_control

_LONGEST_LABEL = 28


class Bars(Progress):
    """A bar for each system, and below it a line of further facts, wrapped to the terminal.

    Args:
        stream: The terminal.
        labels: Labels by slot.
        state: Returns what is known of a slot's rows; asked whenever the screen is drawn.
        note: Returns the line below its bar, of what is known.
    """

    def __init__(
        self,
        stream: TextIO,
        labels: Mapping[int, str],
        state: Callable[[int], dict[str, Any]],
        note: Callable[[dict[str, Any]], str],
    ) -> None:
        self._state = state
        self._note = note
        self._slots: dict[TaskID, int] = {}
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _Left(),
            console=drawing(stream),
            expand=True,
        )
        width = min(_LONGEST_LABEL, max(map(len, labels.values()), default=0))
        for slot, label in labels.items():
            label = escape_control(label, lines=False)
            shown = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
            self._slots[self.add_task(shown.ljust(width), total=None, eta=None)] = slot

    def say(self, line: str) -> None:
        """Leave a line above the bars."""
        self.print(Text(escape_control(line)))

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield what is drawn: how far each system is at this moment."""
        for task in self.tasks:
            state = self._state(self._slots[task.id])
            self.update(task.id, completed=state["done"], total=state["total"], eta=state["eta"])
            yield self.make_tasks_table([task])
            if note := self._note(state):
                note = escape_control(note, lines=False)
                yield Padding(Text(note, style="dim"), (0, 0, 0, 2))


class _Left(ProgressColumn):
    """The time that is left, by the speed of this session alone: what an earlier one has done took
    no time."""

    def render(self, task: Task) -> Text:
        seconds = task.fields["eta"]
        shown = "-:--:--" if seconds is None else str(timedelta(seconds=round(seconds)))
        return Text(shown, style="progress.remaining")
