"""deepeval: `evaluate` with a metric that takes as long as a judge would, and so many test cases at once; prints nothing."""

from __future__ import annotations

import asyncio
import os
from tempfile import TemporaryDirectory
from typing import Any

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from load import ANSWER, Load, examples, measure


class Match(BaseMetric):
    threshold = 0.5

    def __init__(self, call: float) -> None:
        self.call = call

    def measure(self, test_case: LLMTestCase, *arguments: Any, **options: Any) -> float:
        self.score = float(test_case.actual_output == test_case.expected_output)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *arguments: Any, **options: Any) -> float:
        if self.call:
            await asyncio.sleep(self.call)
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "match"


def run(load: Load) -> int:
    cases = [
        LLMTestCase(
            input=f"{example['context']}\n{example['question']}",
            actual_output=ANSWER,
            expected_output=example["answer"],
        )
        for example in examples(load)
    ]
    found = evaluate(
        cases,
        [Match(load.call)],
        async_config=AsyncConfig(max_concurrent=load.workers),
        display_config=DisplayConfig(
            show_indicator=False, print_results=False, inspect_after_run=False
        ),
        cache_config=CacheConfig(write_cache=False),
    )
    return sum(bool(result.success) for result in found.test_results)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        os.chdir(folder)  # it keeps files of its own in the working directory
        measure(run)
