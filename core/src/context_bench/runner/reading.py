"""Reading: examples are pulled from a dataset one by one; what it raises is told with its place, and a hung one is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from context_bench.errors import ContextBenchError, DatasetError
from context_bench.runner.parts import Stream
from context_bench.runner.selection import Placed
from context_bench.runner.stopping import Raised, guarded, message_of

_END = object()
_TICK = 0.25
"""Seconds after which a wait looks up: on Windows a Ctrl-C ends no wait."""


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


_LATE = object()


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
