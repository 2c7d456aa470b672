"""What a run takes of a dataset, and what a system is shown of it: gold stays home.

Each example keeps its place in the dataset, so that runs can be compared. They are pulled one by one. What a dataset raises
is told with its place, and one that hangs is left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from queue import Empty, SimpleQueue
from random import Random
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from attrs import frozen

from context_bench.answers import REFERENCE_FIELDS
from context_bench.errors import ConfigurationError, ContextBenchError, DatasetError
from context_bench.store.encoding import to_json

if TYPE_CHECKING:
    from context_bench.runner.parts import Slot, Stream


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
    return _received(given, timeout)


def bounded(load: Callable[[], Any], timeout: float | None, name: str) -> Any:
    """Return what a function returns that loads something of a dataset, within so many seconds.

    Args:
        load: The function. With a timeout it is called on a thread of its own, which is left behind when it hangs.
        timeout: Seconds that it may take; None for any.
        name: What the dataset is called.

    Raises:
        DatasetError: It took longer. Whatever the function raises is raised, too.
    """
    if timeout is None:
        return load()
    from context_bench.runner.stopping import Raised, guarded

    given: SimpleQueue[Any] = SimpleQueue()
    out = sys.stdout
    Thread(target=lambda: given.put(guarded(load)), name="context-bench-dataset", daemon=True).start()
    found = _received(given, timeout)
    if found is _LATE:
        sys.stdout = out  # whoever imports a package has put another one in its place
        raise DatasetError(
            f"{name[:1].upper()}{name[1:]} hangs before its first row: it was not loaded within {timeout:g} seconds "
            "(--dataset-timeout). Mend what it reads from, or allow it more."
        )
    if isinstance(found, Raised):
        raise found.error
    return found


def _received(given: SimpleQueue[Any], timeout: float) -> Any:
    """Return what is put into a queue within so many seconds; else :data:`_LATE`."""
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


INPUTS = ("id", "context", "question", "messages", "region", "tools", "turns", "multi_turn", "choices")
"""The fields of an example that are its input, where its dataset's manifest names none."""

GOLD = (*REFERENCE_FIELDS, "correct_letter")
"""The fields of an example that are its right answer, whatever its dataset says."""

_MARKS = ("has_answer", "is_answer", "is_correct", "is_supporting")
_AS_THEY_ARE = ("id", "context", "question", "messages", "tools")
"""Fields in which an entry called ``answer`` is none: recorded sessions, the schema of a tool."""

EVERYTHING, COLUMNS, INPUT = "everything", "columns", "inputs"


def shown(slot: Slot, stream: Stream, example: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a system is given of an example.

    A system that was named by a spec is given the input fields and those that it declares to read, gold left out; one that
    looks its answers up among the columns is given all but the gold; one that declares to read gold, and an object that the
    caller made, are given everything.
    """
    if slot.sees == EVERYTHING:
        return example
    gold = {*GOLD, *stream.gold}
    if slot.sees == COLUMNS:
        return {name: value for name, value in example.items() if name not in gold}
    names = {*(stream.inputs or INPUTS), *stream.more_inputs, *(slot.reads or ())} - gold
    inside = {*gold, *_MARKS}
    return {
        name: value if name in _AS_THEY_ARE else without_gold(value, inside)
        for name, value in example.items()
        if name in names
    }


def gold_among(stream: Stream) -> list[str]:
    """Return the fields that the caller would let systems see, and that stay home because they are gold."""
    return [name for name in stream.more_inputs if name in GOLD or name in stream.gold]


def without_gold(value: Any, gold: Collection[str]) -> Any:
    """Return a value without the entries of gold names in the mappings inside of it: the answer of a turn, the mark of a choice.

    >>> without_gold([{"role": "user", "content": "Hi", "answer": "Hello"}], {"answer"})
    [{'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(value, Mapping):
        return {name: without_gold(one, gold) for name, one in value.items() if name not in gold}
    if isinstance(value, list | tuple):
        return [without_gold(one, gold) for one in value]
    return value


def gold_sources(fields: Mapping[str, str], gold: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the columns that gold fields are taken from: gold as well, under their own names.

    Args:
        fields: Source of a field by its name, as ``--field`` gives them.
        gold: Gold fields of the dataset.

    Raises:
        ConfigurationError: Another field is taken from what gold is a part of.

    >>> gold_sources({"answer": "outputs.0", "question": "q"})
    ('outputs.0', 'outputs')
    """
    targets = {*GOLD, *gold}
    sources = [source for target, source in fields.items() if target in targets]
    for target, source in fields.items():
        within = [one for one in sources if one.startswith(f"{source}.")] if target not in targets else []
        if within:
            raise ConfigurationError(
                f"--field {target}={source} would show systems the answer, which is {within[0]!r} inside of {source!r}. Take "
                f"a part of it: {target}={source}.NAME."
            )
    return tuple(dict.fromkeys(name for source in sources for name in (source, source.partition(".")[0])))


def sight_of(system: Any, declared: bool) -> str:
    """Return how much of an example a system that was named by a spec is shown.

    Args:
        system: The system; an attribute ``reads_gold`` or ``reads_columns`` of it says more than its manifest.
        declared: Whether its manifest says that it reads gold.
    """
    if getattr(system, "reads_gold", declared):
        return EVERYTHING
    return COLUMNS if getattr(system, "reads_columns", False) else INPUT
