"""Examples to ask about before a run: the first ones that the run would take, or one of our own when there is no dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from attrs import frozen

from context_bench.bench.builders import make_stream
from context_bench.bench.requests import Request
from context_bench.errors import DatasetError
from context_bench.plugins.catalog import Catalog


@frozen(eq=False)
class Sample:
    """An example and its name.

    Attributes:
        name: Its id, or its place.
        example: The example.
    """

    name: str
    example: Mapping[str, Any]


def sample_of(catalog: Catalog, request: Request, size: int) -> list[Sample]:
    """Return the first examples of a request, from all of its datasets in turn.

    Raises:
        ContextBenchError: A dataset is unknown or cannot be read.
    """
    if not request.datasets:
        return list(own_samples(size))
    sources: list[Iterator[Sample]] = []
    labels: list[str] = []
    for number, spec in enumerate(request.datasets):
        stream, facts = make_stream(
            catalog, spec, number, request.limit, os.environ, tuple(labels), request.selection()
        )
        labels.append(facts.label)
        placed: Iterable[tuple[int, Mapping[str, Any]]] = enumerate(stream.examples)
        chosen = placed if stream.selection is None else stream.selection.of(placed)
        sources.append(_named(chosen, facts.label))
    found: list[Sample] = []
    while sources and len(found) < size:
        source = sources.pop(0)
        sample = next(source, None)
        if sample is not None:
            found.append(sample)
            sources.append(source)
    if not found:
        raise DatasetError(f"There is no example to ask about: {', '.join(labels)} gave none.")
    return found


def _named(placed: Iterable[tuple[int, Mapping[str, Any]]], label: str) -> Iterator[Sample]:
    for place, example in placed:
        if not isinstance(example, Mapping):
            raise DatasetError(f"Row {place} of dataset {label!r} is {type(example).__name__}, not an example.")
        yield Sample(str(example.get("id", f"#{place}")), example)


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
        + ("scale 4 gave no weight for shipment 1017" if row == 17 else f"shipment {1000 + row} weighed and stored")
        for row in range(24)
    )
    prose = " ".join(
        f"Warehouse {row} keeps its books on paper as well, and the clerk of warehouse {row} compares both every evening "
        "before the gates are closed."
        for row in range(1, 9)
    )
    question = f"How many kilograms does shipment {1000 + 100 * number + 5} weigh?"
    return {"id": f"own-{number}", "context": f"[{records}]\n\n{log}\n\n{prose}", "question": question}
