"""lm-eval itself: a task without data, of which only the filters and the metrics are used."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from context_bench_lm_eval.task_settings import METRICS, TaskSettings

_LOCK = threading.Lock()


class Harness:
    """The filters and metrics of a task, as lm-eval builds and calls them.

    lm-eval scores a document with one reference and one with several in two ways, and decides by the first document of
    the task. So there is a task for each.
    """

    def __init__(self, settings: TaskSettings, filter_name: str) -> None:
        self._settings = settings
        self._filter_name = filter_name
        self._tasks: dict[bool, Any] = {}

    def filtered(self, responses: Sequence[str], document: Any) -> Any:
        """Return what the filter leaves of the responses to one document."""
        from lm_eval.api.instance import Instance

        task = self._task(has_several=False)
        instance = Instance(
            request_type="generate_until",
            doc=document,
            arguments=("", {}),
            idx=0,
            resps=list(responses),
        )
        pipeline = next(steps for steps in task._filters if steps.name == self._filter_name)
        pipeline.apply([instance])
        return instance.filtered_resps[self._filter_name]

    def results(self, filtered: Any, target: str | list[str]) -> dict[str, Any]:
        """Return what lm-eval has of a filtered response for each metric: a number, or the item of a metric of a corpus."""
        task = self._task(has_several=isinstance(target, list))
        return dict(task.process_results({"prompt": "", "target": target}, [filtered]))

    def scores(self, results: Mapping[str, Any]) -> dict[str, float]:
        """Return the metrics of a response, from its results.

        A metric of a whole corpus, such as bleu, is computed by lm-eval's own aggregation for a corpus of this response.
        """
        aggregation = self._task(has_several=False).aggregation()
        scores: dict[str, float] = {}
        for metric in self._settings.metrics:
            name = metric["metric"]
            value = results[name]
            if isinstance(value, (list, tuple)):
                value = aggregation[name]([value])
            number = float(value)
            if math.isfinite(number):
                scores[METRICS[name]] = number
        return scores

    def _task(self, *, has_several: bool) -> Any:
        with _LOCK:
            if has_several not in self._tasks:
                self._tasks[has_several] = _build_task(
                    self._settings, ["a", "b"] if has_several else "a"
                )
            return self._tasks[has_several]


def _build_task(settings: TaskSettings, target: str | list[str]) -> Any:
    import datasets
    from lm_eval.api.task import ConfigurableTask

    def documents(**_: Any) -> Any:
        rows = datasets.Dataset.from_list([{"prompt": "a", "target": target}])
        return datasets.DatasetDict({"test": rows})

    config: dict[str, Any] = {
        "task": settings.task,
        "output_type": "generate_until",
        "test_split": "test",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "custom_dataset": documents,
        "metric_list": [dict(metric) for metric in settings.metrics],
        "metadata": {},
    }
    if settings.filters is not None:
        config["filter_list"] = [_copied(entry) for entry in settings.filters]
    with _quiet():
        return ConfigurableTask(config=config)


def _copied(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": entry["name"], "filter": [dict(step) for step in entry["filter"]]}


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what lm-eval logs about a task without data and generation settings."""
    logger = logging.getLogger("lm_eval")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
