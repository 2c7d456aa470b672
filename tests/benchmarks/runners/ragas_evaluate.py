"""ragas: `evaluate` with a metric that takes as long as a judge would, on its executor with so many workers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from load import ANSWER, Load, examples, measure
from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.metrics.base import MetricType, SingleTurnMetric
from ragas.run_config import RunConfig


@dataclass
class Match(SingleTurnMetric):
    name: str = "match"
    call: float = 0.0
    _required_columns: dict[MetricType, set[str]] = field(
        default_factory=lambda: {MetricType.SINGLE_TURN: {"response", "reference"}}
    )

    def init(self, run_config: RunConfig) -> None:
        pass

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        if self.call:
            await asyncio.sleep(self.call)
        return float(sample.response == sample.reference)


def run(load: Load) -> int:
    samples = [
        SingleTurnSample(
            user_input=f"{example['context']}\n{example['question']}",
            response=ANSWER,
            reference=example["answer"],
        )
        for example in examples(load)
    ]
    found = evaluate(
        EvaluationDataset(samples),
        [Match(call=load.call)],
        run_config=RunConfig(max_workers=load.workers),
        show_progress=False,
        raise_exceptions=True,
    )
    return round(sum(found["match"]))


if __name__ == "__main__":
    measure(run)
