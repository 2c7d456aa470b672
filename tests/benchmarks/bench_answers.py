"""How long reading takes: 16 awkward shapes of 400,000 characters through every reader of replies, and half as many for the growth.

    python tests/benchmarks/bench_answers.py [characters]

Prints seconds of processor time for each reader and shape, and how many times longer the whole takes than its half: 2 is linear.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from context_bench.answers import (
    part_answer,
    plain_signs,
    read_reply,
    tool_calls,
    without_layout,
    without_remarks,
)

SHAPES: Mapping[str, str] = {
    "stars": "*",
    "bold words": "**a ",
    "underscores": "_a ",
    "back-quotes": "`a ",
    "quotation marks": '"a ',
    "quoted lines": "> ",
    "quoted bullets": "> - a\n",
    "pipes": "| a ",
    "rows": "| a | b |\n",
    "numbered lines": "1. a\n",
    "fences": "```\n",
    "open tags": "<answer>a",
    "calls": "<tool_call>",
    "sayings": "the response says: rating ",
    "marks on letters": "e\u0301\u0316",
    "blanks": " ",
}
READERS: Mapping[str, Callable[[str], object]] = {
    "reasoning": part_answer,
    "signs": plain_signs,
    "layout": without_layout,
    "reply": read_reply,
    "remarks": without_remarks,
    "calls": tool_calls,
}


def seconds(reader: Callable[[str], object], text: str) -> float:
    """Return the processor time of one reading."""
    began = time.process_time()
    reader(text)
    return time.process_time() - began


def main(characters: int) -> None:
    """Print the table."""
    for name, reader in READERS.items():
        for shape, unit in SHAPES.items():
            text = (unit * (characters // len(unit) + 1))[:characters]
            half, whole = seconds(reader, text[: characters // 2]), seconds(reader, text)
            growth = whole / half if half > 0.001 else float("nan")
            print(f"{name:10} {shape:18} {whole:8.3f} s   x {growth:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
