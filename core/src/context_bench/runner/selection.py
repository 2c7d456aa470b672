"""Which examples of a dataset a run takes; each keeps its place in the dataset, so that runs can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

from attrs import frozen

from context_bench.errors import DatasetError
from context_bench.store.encoding import to_json

Placed = tuple[int, Mapping[str, Any]]
"""An example behind its place."""


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
