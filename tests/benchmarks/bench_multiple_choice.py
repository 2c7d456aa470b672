"""Finding the letter of real responses: `python tests/benchmarks/bench_multiple_choice.py` prints a Markdown table.

The responses are the 12,020 of Gemini 1.5 Pro 002 to MMLU-Pro, from the shared records beside a developer's checkout; without
them there is nothing to measure, and the program says so. Beside them stand made-up responses of ten million characters.
Times are the best of several runs.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from context_bench_multiple_choice import MultipleChoiceAccuracy, find_letter

OUTPUTS = (
    Path(__file__).resolve().parents[3]
    / "shared"
    / "data"
    / "outputs"
    / "mmlu-pro.gemini-1.5-pro-002.jsonl.gz"
)
HUGE = 10_000_000
HUGE_RESPONSES = {
    "words": "lorem ipsum ",
    "letters": "A, ",
    "announcements": "the answer is ",
    "open tags": "<think>",
    "signs": "<(",
}

Row = tuple[str, int, float, str]


def rows() -> list[Row]:
    """What was measured: its name, the number of responses, the seconds a response, and the accuracy where there is one."""
    with gzip.open(OUTPUTS, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    measured = [
        _accuracy(records),
        _accuracy(records, several="last"),
        _accuracy(records, parity="mmlu-pro"),
    ]
    for name, piece in HUGE_RESPONSES.items():
        response = (piece * (HUGE // len(piece) + 1))[:HUGE]
        seconds = best_of(partial(find_letter, response, ("yes", "no")), runs=2)
        measured.append((f"ten million characters of {name}", 1, seconds, ""))
    return measured


def best_of(call: Callable[[], object], runs: int = 3) -> float:
    """The seconds of the fastest of several calls."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _accuracy(records: list[dict[str, object]], **options: Any) -> Row:
    evaluator = MultipleChoiceAccuracy(**options)
    pairs = [
        (
            {"choices": record["options"], "correct_letter": record["answer"]},
            {"response": record["model_outputs"] or ""},
        )
        for record in records
    ]
    seconds = best_of(lambda: [evaluator.score(*pair) for pair in pairs])
    mean = sum(evaluator.score(*pair)["mc_accuracy"] for pair in pairs) / len(pairs)
    described = "".join(f", {name} {value}" for name, value in options.items())
    return (
        f"MMLU-Pro{described or ', by default'}",
        len(pairs),
        seconds / len(pairs),
        f"{100 * mean:.2f} %",
    )


def main() -> int:
    """Prints the table."""
    if not OUTPUTS.exists():
        print(
            f"Nothing to measure: {OUTPUTS.name} is not in the shared records beside this checkout.",
            file=sys.stderr,
        )
        return 0
    print("| responses | number | microseconds a response | accuracy |")
    print("|---|---:|---:|---:|")
    for name, number, seconds, accuracy in rows():
        print(f"| {name} | {number:,} | {seconds * 1e6:,.0f} | {accuracy} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
