"""Examples to ask about before a run: a few that differ of those that the run would take, or our own when there is no dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from attrs import frozen

from context_bench.catalog import Catalog
from context_bench.config import RunConfig, examples_of
from context_bench_preflight.variety import varied

POOL = 200
"""Examples to choose from at most: the first ones that the run would take."""


@frozen(eq=False)
class Sample:
    """An example and its name.

    Attributes:
        name: Its id, or its place.
        example: The example.
    """

    name: str
    example: Mapping[str, Any]


def sample_of(catalog: Catalog, config: RunConfig, size: int) -> list[Sample]:
    """Return the first examples of a config, from all of its datasets in turn; of our own when it has none.

    Raises:
        ContextBenchError: A dataset is unknown or cannot be read.
    """
    if not config.datasets:
        return list(own_samples(size))
    return [Sample(name, example) for name, example in examples_of(catalog, config, size)]


def varied_samples(catalog: Catalog, config: RunConfig, size: int) -> list[Sample]:
    """Return a few examples of a config that differ in kind, structure and length, chosen by its seed.

    Raises:
        ContextBenchError: A dataset is unknown or cannot be read.
    """
    if not config.datasets:
        return list(own_samples(size))
    pool = examples_of(catalog, config, max(size, POOL))
    return [Sample(*pool[place]) for place in varied(pool, size, config.seed)]


def own_samples(size: int) -> Iterator[Sample]:
    """Yield examples of about 2,000 tokens that compressors have something to do with: records, a log, and prose."""
    yield from islice(
        (Sample(f"own-{number}", _example(number)) for number in range(size)),
        size,
    )


def _example(number: int) -> dict[str, Any]:
    cities = ("Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Tunis", "Riga", "Accra")
    records = ",\n".join(
        f'{{"shipment": {1000 + 100 * number + row}, "from": "{cities[(row + number) % 8]}", '
        f'"to": "{cities[(3 * row + number + 1) % 8]}", "weight_kg": {7 * row + number + 3}, "state": "delivered"}}'
        for row in range(24)
    )
    log = "\n".join(
        f"2026-03-0{1 + number % 9} 08:{row:02d}:00 {'ERROR' if row == 17 else 'INFO'} loader: "
        + (
            "scale 4 gave no weight for shipment 1017"
            if row == 17
            else f"shipment {1000 + row} weighed and stored"
        )
        for row in range(24)
    )
    prose = " ".join(
        f"Warehouse {row} keeps its books on paper as well, and the clerk of warehouse {row} compares both every evening "
        "before the gates are closed."
        for row in range(1, 9)
    )
    question = f"How many kilograms does shipment {1000 + 100 * number + 5} weigh?"
    return {
        "id": f"own-{number}",
        "context": f"[{records}]\n\n{log}\n\n{prose}",
        "question": question,
    }
