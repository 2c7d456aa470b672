"""Reading what a row asks for: instruction ids and arguments, in every form in which the dataset is passed around."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from context_bench_ifeval.arguments import Arguments, plain, quote
from context_bench_ifeval.instructions import INSTRUCTIONS, Check
from context_bench_ifeval.nearest import nearest


def instruction_ids(row: Mapping[str, Any]) -> list[Any]:
    """The ids of the row's instructions, which may also be given as JSON text; empty if the row has none."""
    ids = plain(row.get("instruction_id_list"))
    if isinstance(ids, str):
        try:
            ids = json.loads(ids)
        except (ValueError, RecursionError):
            return []
    return list(ids) if isinstance(ids, (list, tuple)) else []


def checks(row: Mapping[str, Any], ids: list[Any]) -> list[Check]:
    """The check of each instruction, with its arguments filled in.

    Raises:
        ValueError: An id is unknown, or the row's `kwargs` do not fit the ids.
    """
    makers = [_maker(number, instruction_id) for number, instruction_id in enumerate(ids, start=1)]
    places = [
        f"Instruction {number} ({instruction_id})"
        for number, instruction_id in enumerate(ids, start=1)
    ]
    prompt = next(
        (row[name] for name in ("prompt", "question") if isinstance(row.get(name), str)), ""
    )
    return [
        make(Arguments(place, values, prompt))
        for make, place, values in zip(makers, places, _kwargs(row, places))
    ]


def _maker(number: int, instruction_id: Any) -> Callable[[Arguments], Check]:
    if not isinstance(instruction_id, str) or instruction_id not in INSTRUCTIONS:
        raise ValueError(
            f"Instruction {number}: IFEval has no instruction called {quote(instruction_id)}. "
            f"{nearest(instruction_id, INSTRUCTIONS)}"
        )
    return INSTRUCTIONS[instruction_id]


def _kwargs(row: Mapping[str, Any], places: list[str]) -> list[Mapping[str, Any]]:
    """The arguments of each instruction. A row without any is one whose instructions need none."""
    given = _parsed("kwargs", plain(row.get("kwargs")))
    if given is None:
        return [{} for _ in places]
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            f"kwargs must be a list with one mapping per instruction, but is {quote(given)}."
        )
    if len(given) != len(places):
        raise ValueError(
            f"kwargs must have one entry per instruction, but there are {len(given)} entries for {len(places)} ids."
        )
    return [_mapping(f"{place}: its entry in kwargs", entry) for place, entry in zip(places, given)]


def _mapping(place: str, entry: Any) -> Mapping[str, Any]:
    entry = _parsed(place, entry)
    if entry is None:
        return {}
    if not isinstance(entry, Mapping):
        raise ValueError(f"{place} must be a mapping, but is {quote(entry)}.")
    return entry


def _parsed(place: str, value: Any) -> Any:
    """What JSON text holds; anything that is no text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"{place} is text but not JSON: {quote(value)}.") from fault
