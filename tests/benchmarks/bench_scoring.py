"""ROUGE on long texts, declared bound to the processor: scored on one core, and on every core as it is by default.

Both are one `evaluate(..., max_workers=1)` over the same rows; for the first, the declaration is switched off. The last column
is a run of twenty rows, which starts no process. `python tests/benchmarks/bench_scoring.py` prints the table.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

from side_by_side import is_quick

from context_bench import evaluate
from context_bench.evaluators import SummarizationQuality


class Plain:
    """The same evaluator, as an object that declares nothing."""

    name = "plain"

    def __init__(self) -> None:
        self._evaluator = SummarizationQuality()

    def score(self, original: Any, processed: Any) -> Any:
        """Return what the evaluator says."""
        return self._evaluator.score(original, processed)


def seconds(evaluator: Any, rows: int, words: int) -> float:
    """Return how long a run takes."""
    source = random.Random(5)
    vocabulary = [f"word{number}" for number in range(3000)]
    examples = [
        {"id": str(number), "question": "?", "answer": " ".join(source.choices(vocabulary, k=words))}
        for number in range(rows)
    ]
    answer = " ".join(source.choices(vocabulary, k=words))
    begun = time.perf_counter()
    result = evaluate(lambda example: answer, examples, [evaluator], progress=False, max_workers=1)
    assert not any(row.errors for row in result.rows)
    return time.perf_counter() - begun


def main() -> None:
    """Print the table."""
    rows = 60 if is_quick() else 400
    print(f"| words | rows | one core, s | {os.cpu_count()} cores, s | times faster | 20 rows, one | 20 rows, all |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for words in (2000, 4000):
        one, every = seconds(Plain(), rows, words), seconds(SummarizationQuality(), rows, words)
        few = seconds(Plain(), 20, words), seconds(SummarizationQuality(), 20, words)
        print(
            f"| {words:,} | {rows} | {one:.1f} | {every:.1f} | {one / every:.2f} | {few[0]:.2f} | {few[1]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
