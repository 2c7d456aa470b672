"""What a large run takes, projected from a pilot: calls, tokens, money, hours, disk, memory and workers."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from context_bench.errors import ConfigurationError
from context_bench.runs import Run
from context_bench_compare.verdicts import require_above_zero

PILOT_ROWS = 20
"""Fewer called rows tell little about the mean of a row."""

BUSY = 0.8
"""Share of the workers' time that systems took in the pilot. From this share on, more workers make a run shorter."""

SHORT = 30.0
"""Seconds of a pilot below which the start of the program counts for much."""


@frozen
class Capacity:
    """What a run of so many examples takes.

    Attributes:
        examples: Examples of the run.
        rows: Rows: examples x systems x repetitions.
        calls: Calls of systems, retries included. Calls of evaluators, such as those of a judge, are not counted.
        tokens: Prompt and response tokens; None if the pilot has a row without a count.
        cost: Money, in the currency of the pilot; None if the pilot has a row without a cost.
        workers: Calls in flight at a time.
        busy: Share of the workers' time that systems took in the pilot.
        hours: Duration; the limit of the endpoint is respected if it is known.
        workers_at_limit: Number of workers from which on the endpoint is the limit; None if its limit is not given.
        disk: Bytes of the run file.
        memory: Bytes of the rows at work. Memory does not grow with the number of examples.
        pilot_seconds: Duration of the pilot, without the time between its sessions.
    """

    examples: int
    rows: int
    calls: int
    tokens: int | None
    cost: float | None
    workers: int
    busy: float
    hours: float
    workers_at_limit: int | None
    disk: int
    memory: int
    pilot_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the projection as JSON-like values."""
        return asdict(self)


def capacity(
    run: Run, examples: int, workers: int | None = None, requests_per_minute: float | None = None
) -> Capacity:
    """Project a pilot to a run of more examples with the same systems, repetitions and evaluators.

    Args:
        run: The pilot.
        examples: Examples of the large run.
        workers: Calls in flight of the large run; None for those of the pilot.
        requests_per_minute: Limit of the endpoint.

    Raises:
        ConfigurationError: A number is not above zero, or the pilot is not finished or is merged, called too few rows, or took no time.
    """
    require_above_zero("--rows", examples)
    if workers is not None:
        require_above_zero("--max-workers", workers)
    if requests_per_minute is not None:
        require_above_zero("--rpm", requests_per_minute)
    if run.status != "finished":
        raise ConfigurationError(f"The pilot {run.path} is not finished.")
    called = attempts = total = tokens = 0
    latency = cost = 0.0
    is_counted = is_priced = True
    for row in run.rows():
        total += 1
        if row.reused or row.recorded:
            continue
        called += 1
        attempts += row.attempts
        latency += row.latency
        if row.prompt_tokens is not None:
            tokens += row.prompt_tokens + row.response_tokens
        is_counted = is_counted and (row.prompt_tokens is not None or row.failed)
        cost += row.cost or 0.0
        is_priced = is_priced and (row.cost is not None or row.failed)
    if called < PILOT_ROWS:
        raise ConfigurationError(
            f"The pilot {run.path} called systems for {called} rows; at least {PILOT_ROWS} are needed. "
            "Reused and recorded rows do not count."
        )
    seconds = run.seconds
    if seconds is None:
        raise ConfigurationError(
            f"The pilot {run.path} does not record how long it took, as merged runs do not. Pass one of the shards."
        )
    if seconds <= 0:
        raise ConfigurationError(f"The pilot {run.path} took less than a millisecond.")
    in_flight = run.request.get("max_workers") or max(1, round(latency / seconds))
    pilot_examples = sum(1 for _ in run.examples())
    rows = math.ceil(examples * total / pilot_examples)
    calls = math.ceil(rows * attempts / called)
    busy = min(1.0, latency / (in_flight * seconds))
    chosen = workers or in_flight
    speedup = chosen / in_flight if busy >= BUSY else min(1.0, chosen / in_flight)
    hours = rows * seconds / called / speedup / 3600
    at_limit = None
    if requests_per_minute is not None:
        hours = max(hours, calls / requests_per_minute / 60)
        at_limit = max(1, math.ceil(requests_per_minute / 60 * latency / attempts))
    fixed, variable = _disk(run.path)
    return Capacity(
        examples=examples,
        rows=rows,
        calls=calls,
        tokens=math.ceil(rows * tokens / called) if is_counted else None,
        cost=rows * cost / called if is_priced else None,
        workers=chosen,
        busy=busy,
        hours=hours,
        workers_at_limit=at_limit,
        disk=math.ceil(fixed + variable * rows / total),
        memory=math.ceil(chosen * variable / total),
        pilot_seconds=seconds,
    )


def _disk(path: Path) -> tuple[int, int]:
    """Return the bytes of a run file without rows, a page for each table and index, and those of its rows."""
    with closing(
        sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
    ) as connection:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        [page] = connection.execute("PRAGMA page_size").fetchone()
        query = "SELECT count(*) FROM sqlite_master WHERE rootpage > 0"
        [empty] = connection.execute(query).fetchone()
    return empty * page, (pages - empty) * page
