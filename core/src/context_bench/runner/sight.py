"""What a system is shown of an example: gold stays home."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from context_bench.answers import REFERENCE_FIELDS
from context_bench.errors import ConfigurationError
from context_bench.runner.parts import Slot, Stream

INPUTS = ("id", "context", "question", "messages", "tools", "turns", "multi_turn", "choices")
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
