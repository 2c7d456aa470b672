"""What people write themselves: one call after another, a pool of threads, or asyncio behind a semaphore. Nothing is kept
but a list of scores."""

from __future__ import annotations

import asyncio
import json
import random
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from load import ANSWER, Load, examples, measure


def process(load: Load, example: dict[str, Any]) -> float:
    if load.url:
        return match(example, ask(load.url, example))
    if load.call:
        time.sleep(load.call)
    return match(example, ANSWER)


def match(example: dict[str, Any], response: str) -> float:
    return float(example["answer"] == response)


def ask(url: str, example: dict[str, Any]) -> str:
    """Ask a chat endpoint, and again after a refusal: doubling pauses with jitter, as the usual recipe has it."""
    body = json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": example["question"]}]}
    ).encode()
    attempt = 0
    while True:
        request = urllib.request.Request(
            f"{url}/v1/chat/completions", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return str(json.load(answer)["choices"][0]["message"]["content"])
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            time.sleep(random.uniform(0.5, 1.0) * min(30.0, 2.0**attempt))
            attempt += 1


def sequential(load: Load) -> list[float]:
    return [process(load, example) for example in examples(load)]


def threads(load: Load) -> list[float]:
    with ThreadPoolExecutor(load.workers) as pool:
        return list(pool.map(partial(process, load), examples(load)))


def on_a_loop(load: Load) -> list[float]:
    return asyncio.run(_on_a_loop(load))


async def _on_a_loop(load: Load) -> list[float]:
    places = asyncio.Semaphore(load.workers)

    async def one(example: dict[str, Any]) -> float:
        async with places:
            await asyncio.sleep(load.call)
            return match(example, ANSWER)

    return await asyncio.gather(*(one(example) for example in examples(load)))


LANES = {"sequential": sequential, "threads": threads, "async": on_a_loop}


def run(load: Load) -> int:
    return round(sum(LANES[load.lane or "sequential"](load)))


if __name__ == "__main__":
    measure(run)
