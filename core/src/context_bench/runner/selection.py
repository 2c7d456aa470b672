"""Which examples of a dataset a run takes; each keeps its place in the dataset, so that runs can be compared.

They are pulled one by one. What a dataset raises is told with its place, and one that hangs is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from random import Random
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from attrs import frozen

from context_bench.errors import ContextBenchError, DatasetError
from context_bench.store.encoding import to_json

if TYPE_CHECKING:
    from context_bench.runner.parts import Stream

Placed = tuple[int, Mapping[str, Any]]
"""An example behind its place."""

_END, _LATE = object(), object()
_TICK = 0.25
"""Seconds after which a wait looks up: on Windows a Ctrl-C ends no wait."""


def name_of(example: Mapping[str, Any], position: int) -> str:
    """Return what an example is called wherever a person sees it: its id as text.

    An id that is no text is written as JSON, so that ``7`` and ``"7"`` have one name and do not go together in a dataset. An
    example without one is called ``#<position>``; a given id that begins with ``#`` gets one more, so that the two never
    collide.
    """
    given = example.get("id")
    if given is None:
        return f"#{position}"
    name = given if isinstance(given, str) else to_json(given)
    return f"#{name}" if name.startswith("#") else name


@frozen
class RandomSample:
    """Takes ``size`` examples at random, the same ones for the same seed and dataset, in the order of the dataset.

    The dataset is read to its end, and never more than the sample is kept (Vitter's algorithm R, 1985).
    """

    size: int
    seed: int = 0

    def of(self, examples: Iterable[Placed]) -> Iterable[Placed]:
        """Return the sample."""
        chance = Random(self.seed)
        kept: list[Placed] = []
        for seen, placed in enumerate(examples):
            if seen < self.size:
                kept.append(placed)
            elif (place := chance.randrange(seen + 1)) < self.size:
                kept[place] = placed
        return sorted(kept, key=lambda placed: placed[0])


@frozen
class ById:
    """Takes the examples with these names, as results show them; ``#7`` is the one in place 7, which has no id of its own."""

    ids: tuple[str, ...]

    def of(self, examples: Iterable[Placed]) -> Iterator[Placed]:
        """Yield them in the order of the dataset.

        Raises:
            DatasetError: The dataset has no such example.
        """
        wanted, missing = set(self.ids), dict.fromkeys(self.ids)
        for position, example in examples:
            name = name_of(example, position)
            if name in wanted:
                missing.pop(name, None)
                yield position, example
        if missing:
            raise DatasetError(f"The dataset has no example {', '.join(map(repr, missing))} (--ids).")


Selection = RandomSample | ById


def chosen(stream: Stream, timeout: float | None = None) -> Iterable[Placed]:
    """Return the examples that a run takes of a dataset, each behind its place.

    Args:
        stream: The dataset.
        timeout: Seconds that it may take for one example; None for any. With a timeout it is read on a thread of its own,
            which is left behind when it hangs and keeps no process alive.

    Raises:
        DatasetError: It cannot be read, or did not give an example in time; raised while it is read.
    """
    found = _pulled(stream.examples) if timeout is None else _in_time(stream, timeout)
    placed = _placed(stream, found)
    return placed if stream.selection is None else stream.selection.of(placed)


def _placed(stream: Stream, examples: Iterator[Any]) -> Iterator[Placed]:
    from context_bench.runner.stopping import Raised, message_of

    for position, found in enumerate(examples):
        if isinstance(found, Raised):
            error = found.error
            if isinstance(error, ContextBenchError):
                raise error
            kind = "" if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: "
            told = f"{kind}{message_of(error)}"
            raise DatasetError(f"{named(stream)} cannot be read {_after(position)}: {told}") from error
        yield position, found


def _pulled(examples: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """Yield examples; at last what the dataset raised, if it did."""
    from context_bench.runner.stopping import Raised, guarded

    source = guarded(iter, examples)
    found = source
    while not isinstance(found, Raised):
        found = guarded(next, source, _END)
        if found is _END:
            return
        yield found
    if found is source:
        yield found


def _in_time(stream: Stream, timeout: float) -> Iterator[Any]:
    """Yield the same, pulled on another thread; never one more than is asked for."""
    wanted: SimpleQueue[bool] = SimpleQueue()
    given: SimpleQueue[Any] = SimpleQueue()

    def pull() -> None:
        source = _pulled(stream.examples)
        while wanted.get():
            given.put(next(source, _END))

    Thread(target=pull, name="context-bench-dataset", daemon=True).start()
    position = 0
    try:
        while (found := _waited(wanted, given, timeout)) is not _END:
            if found is _LATE:
                raise DatasetError(
                    f"{named(stream)} hangs {_after(position)}: it gave no example within {timeout:g} seconds "
                    "(--dataset-timeout). Mend what it reads from, or allow it more."
                )
            yield found
            position += 1
    finally:
        wanted.put(False)


def _waited(wanted: SimpleQueue[bool], given: SimpleQueue[Any], timeout: float) -> Any:
    """Ask for one more, and return it; or :data:`_LATE`."""
    wanted.put(True)
    until = monotonic() + timeout
    while (left := until - monotonic()) > 0:
        try:
            return given.get(timeout=min(left, _TICK))
        except Empty:
            continue
    return _LATE


def _after(position: int) -> str:
    return f"after row {position - 1}" if position else "at its beginning"


def named(stream: Stream) -> str:
    """Return what a stream is called at the beginning of a sentence; its own name keeps its letters."""
    name = called(stream)
    return name[:1].upper() + name[1:]


def called(stream: Stream) -> str:
    """Return what a stream is called within a sentence."""
    name = stream.label or stream.fallback
    return f"dataset {name!r}" if name else "the dataset"
