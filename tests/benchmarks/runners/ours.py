"""context-bench: `evaluate` with a system on threads, with an async one, or on the caller's thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from load import ANSWER, Load, examples, measure

from context_bench import evaluate


class Blocking:
    name = "system"

    def __init__(self, call: float) -> None:
        self.call = call

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if self.call:
            time.sleep(self.call)
        return {"response": ANSWER}

    def fingerprint(self) -> dict[str, Any]:
        return {}


class Async(Blocking):
    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(self.call)
        return {"response": ANSWER}


class Match:
    name = "match"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"match": float(original["answer"] == processed["response"])}


def run(load: Load) -> int:
    system: Any = (Async if load.lane == "async" else Blocking)(load.call)
    workers: int | None = load.workers if load.call or load.lane else None
    if load.url:
        from context_bench_openai import OpenAIProxy

        system, workers = OpenAIProxy(load.url, model="m", api_key=""), load.workers
    source: Iterator[dict[str, Any]] = examples(load)
    path = load.path or None
    result = evaluate(system, source, [Match()], progress=False, max_workers=workers, run_file=path)
    [summary] = result.summary.values()
    assert summary["num_rows"] == len(result.rows) == load.rows
    return round(summary["mean_score"] * len(result.rows))


if __name__ == "__main__":
    measure(run)
