"""CPU time of a session's row: probes, survival with its self-check, and controls, on sessions of 50,000 tokens."""

from __future__ import annotations

import json
import random
from functools import partial
from statistics import median
from time import process_time
from typing import Any

from context_bench_controls import NAMES, controlled, held
from context_bench_survival import Survival

ROWS, TOKENS = 9, 50_000
LIMIT = 150


def session(number: int) -> dict[str, Any]:
    """Return a session of calls and results, of about so many tokens, one line of four with a value that nobody can guess."""
    drawn = random.Random(number)
    words = ["".join(drawn.choices("aeioulmnrst", k=6)) for _ in range(3000)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why does it fail?"}]
    count = 0
    while count < TOKENS:
        path = f"/srv/{drawn.choice(words)}/{len(messages)}.py"
        call = {"id": f"c{len(messages)}", "name": "read", "arguments": json.dumps({"path": path})}
        lines = [" ".join(drawn.choices(words, k=12)) for _ in range(40)]
        lines = [f"{text} {drawn.randrange(10**5)}" if place % 4 == 0 else text for place, text in enumerate(lines)]
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "\n".join(lines)})
        count += 40 * 12 + 10
    messages.append({"role": "user", "content": "go on"})
    return {"id": str(number), "messages": messages, "region": [1, len(messages) - 1], "future": ["it is 12345"]}


def half(example: dict[str, Any]) -> dict[str, Any]:
    """Return what keeps the newer half of a session."""
    messages = example["messages"]
    middle = len(messages) // 2 + (len(messages) // 2 + 1) % 2
    return {"messages": [messages[0], *messages[middle:]]}


def stored(evaluator: Survival, example: dict[str, Any], left: dict[str, Any]) -> None:
    """Make the four controls of a row, and score them."""
    for name in NAMES:
        evaluator.score(example, controlled(example, left, name=name))


def main() -> None:
    """Print a table of milliseconds of CPU a row."""
    evaluator = Survival()
    times: list[list[float]] = [[], [], [], []]
    for number in range(ROWS):
        example = session(number)
        left = half(example)
        score = partial(evaluator.score, example, left)
        for found, work in zip(
            times, (score, score, partial(held, example, left, "half", "1"), partial(stored, evaluator, example, left))
        ):
            started = process_time()
            work()
            found.append(1000 * (process_time() - started))
    first, later, drawn, four = map(median, times)
    print(f"Milliseconds of CPU for a row of {TOKENS:,} tokens, median of {ROWS}:\n")
    print("| | ms |\n|---|---|")
    print(f"| probes, self-check and survival of the first system (limit: {LIMIT}) | {first:.0f} |")
    print(f"| survival of each further system | {later:.0f} |")
    print(f"| 20 draws of random and three other controls, as line sets | {drawn:.0f} |")
    print(f"| four controls stored and scored (`--controls`) | {four:.0f} |")


if __name__ == "__main__":
    main()
