"""lm-evaluation-harness: `simple_evaluate` over a generation task with exact match, samples kept, no bootstrap.

With calls in flight the model is its `TemplateAPI`, whose concurrent path (`num_concurrent`) sleeps in place of its HTTP
request; without, it is an `LM` that answers at once, so that what is measured is the loop of the evaluator.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

import datasets
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.evaluator import simple_evaluate
from lm_eval.models.openai_completions import LocalChatCompletion
from lm_eval.tasks import TaskManager
from load import ANSWER, Load, examples, measure


class Sleeping(LocalChatCompletion):
    call = 0.0

    async def amodel_call(
        self, session: Any, sem: asyncio.Semaphore, messages: Any, **options: Any
    ) -> list[str]:
        async with sem:
            await asyncio.sleep(self.call)
            return [ANSWER]


class AtOnce(LM):
    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return [ANSWER for _ in requests]

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        raise NotImplementedError


def run(load: Load) -> int:
    documents = datasets.Dataset.from_list(list(examples(load)))
    config = {
        "task": "why",
        "custom_dataset": lambda **_: {"test": documents},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": lambda example: f"{example['context']}\n{example['question']}",
        "doc_to_target": lambda example: example["answer"],
        "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 16},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    found = simple_evaluate(
        model(load),
        tasks=[ConfigurableTask(config=config)],
        task_manager=task_manager(),
        bootstrap_iters=0,
        apply_chat_template=bool(load.call or load.url),
    )
    return round(found["results"]["why"]["exact_match,none"] * len(found["samples"]["why"]))


@lru_cache
def task_manager() -> TaskManager:
    """Return the index of its tasks, which takes seconds to make and is none of a row's cost."""
    return TaskManager()


def model(load: Load) -> LM:
    if not load.call and not load.url:
        return AtOnce()
    options: dict[str, Any] = {
        "model": "m",
        "tokenizer_backend": None,
        "num_concurrent": load.workers,
    }
    if load.url:
        return LocalChatCompletion(
            base_url=f"{load.url}/v1/chat/completions", max_retries=1000, **options
        )
    api = Sleeping(base_url="http://127.0.0.1:9", **options)
    api.call = load.call
    return api


if __name__ == "__main__":
    measure(run)
