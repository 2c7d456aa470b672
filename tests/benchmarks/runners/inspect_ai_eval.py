"""inspect_ai: `eval` with a model provider of our own that sleeps, `exact` as the scorer, and its log in a folder that goes.

Its display and its realtime buffer are off; the log is the native `.eval` with samples, as by default. An endpoint is asked
through its provider for what speaks OpenAI's protocol, with the adaptive connections that it has by default.
"""

from __future__ import annotations

import asyncio
from tempfile import TemporaryDirectory
from typing import Any

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import exact
from inspect_ai.solver import generate
from load import ANSWER, Load, examples, measure


@modelapi("sleeping")
class Sleeping(ModelAPI):
    def __init__(self, model_name: str, call: float, config: Any = None, **options: Any) -> None:
        super().__init__(model_name)
        self.call = call

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:  # noqa: A002
        await asyncio.sleep(self.call)
        return ModelOutput.from_content("sleeping", ANSWER)

    def max_connections(self) -> int:
        return 10_000  # `max_connections` of the eval decides


def run(load: Load) -> int:
    samples = [
        Sample(
            id=example["id"],
            input=f"{example['context']}\n{example['question']}",
            target=example["answer"],
        )
        for example in examples(load)
    ]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=exact())
    with TemporaryDirectory() as folder:
        [log] = inspect_ai.eval(
            task,
            model(load),
            max_connections=None if load.url else load.workers,
            max_samples=load.workers,
            display="none",
            log_realtime=False,
            log_dir=folder,
            ctl_server=False,
        )
        if log.status != "success" or log.results is None:
            raise RuntimeError(str(log.error))
        [score] = log.results.scores
        return round(score.metrics["mean"].value * log.results.completed_samples)


def model(load: Load) -> Model:
    if load.url:
        return get_model(
            "openai-api/local/m", base_url=f"{load.url}/v1", api_key="none", memoize=False
        )
    return get_model("sleeping/m", call=load.call, memoize=False)


if __name__ == "__main__":
    measure(run)
