"""Which filters and metrics a task of lm-eval has: from a results file, a task's YAML file, or lm-eval's own tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError

METRICS = {
    "exact_match": "lm_eval_exact_match",
    "bleu": "lm_eval_bleu",
    "chrf": "lm_eval_chrf",
    "chrf++": "lm_eval_chrf_plus_plus",
    "ter": "lm_eval_ter",
}
"""Score keys of the metrics of lm-eval that compare a generated text with a reference."""

IGNORED = ("case", "punctuation", "numbers")
"""What lm-eval's ``exact_match`` ignores on request."""


@frozen
class TaskSettings:
    """How a task reads and scores a response.

    Attributes:
        task: Name of the task.
        metrics: Entries of ``metric_list``.
        filters: Entries of ``filter_list``; None for lm-eval's default, the first response as it is.
    """

    task: str
    metrics: tuple[Mapping[str, Any], ...]
    filters: tuple[Mapping[str, Any], ...] | None

    @property
    def filter_names(self) -> list[str]:
        """Names of the filters; lm-eval calls the default ``none``."""
        return ["none"] if self.filters is None else [str(entry["name"]) for entry in self.filters]

    @property
    def score_keys(self) -> tuple[str, ...]:
        """Keys of the scores, in the order of the metrics."""
        return tuple(METRICS[metric["metric"]] for metric in self.metrics)


def inline_settings(
    metrics: Sequence[str], ignore: Sequence[str], regex: str | None, group: int
) -> TaskSettings:
    """Return the settings that options describe: lm-eval's metrics, after its filter ``regex`` if a pattern is given."""
    unknown = sorted({*ignore} - {*IGNORED})
    if unknown:
        raise ConfigurationError(
            f"exact_match cannot ignore {unknown[0]!r}. Choose from: {', '.join(IGNORED)}."
        )
    normalization = {f"ignore_{name}": True for name in ignore}
    entries = []
    for metric in metrics:
        extra = normalization if metric == "exact_match" else {}
        entries.append({"metric": metric, **extra})
    filters = None
    if regex is not None:
        step = {"function": "regex", "regex_pattern": regex, "group_select": group}
        filters = [{"name": "regex", "filter": [step, {"function": "take_first"}]}]
    return _checked("options", {"metric_list": entries, "filter_list": filters})


def settings_from_file(path: Path, task: str | None) -> TaskSettings:
    """Return the settings of a task of ``results_TIME.json``, or of a task's YAML file.

    Raises:
        ConfigurationError: The file cannot be read, does not have the task, or the task cannot be computed from settings.
    """
    if path.suffix in (".yaml", ".yml"):
        return _from_yaml(path)
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        configs = results["configs"]
        names = sorted(configs)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ConfigurationError(
            f"'{path}' is not a results file of lm-eval: {type(error).__name__}: {error}."
        ) from error
    if task is None and len(names) == 1:
        task = names[0]
    if task is None or task not in names:
        raise ConfigurationError(
            f"'{path}' has no task {task!r}. Set task to one of: {', '.join(names)}."
        )
    return _checked(task, configs[task])


@lru_cache(maxsize=32)
def settings_of_task(task: str) -> TaskSettings:
    """Return the settings of a task that lm-eval brings. Finding one reads all its task files, once, for half a minute.

    Raises:
        ConfigurationError: lm-eval has no such task, or the task cannot be computed from settings.
    """
    from lm_eval.tasks import TaskManager

    entry = _index(TaskManager).get(task)
    path = getattr(entry, "yaml_path", None)
    if path is None:
        raise ConfigurationError(
            f"lm-eval has no task {task!r} with a YAML file. Run 'lm-eval ls tasks' to see all."
        )
    return _from_yaml(Path(path))


@lru_cache(maxsize=1)
def _index(manager: Any) -> Mapping[str, Any]:
    index: Mapping[str, Any] = manager().task_index
    return index


def _from_yaml(path: Path) -> TaskSettings:
    from lm_eval.tasks._yaml_loader import load_yaml

    try:
        config = load_yaml(path, resolve_func=False)  # nothing of the file is executed
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"'{path}' is not a task file of lm-eval: {error}.") from error
    return _checked(str(config.get("task", path.stem)), config)


def _checked(task: str, config: Mapping[str, Any]) -> TaskSettings:
    """Return the settings of a task, if they say all that its scores depend on."""
    output_type = config.get("output_type", "generate_until")
    if output_type != "generate_until":
        raise ConfigurationError(
            f"Task {task!r} scores likelihoods ({output_type}), not a text. Its recorded metrics are scores of lm-eval-recorded."
        )
    if config.get("process_results") is not None:
        raise ConfigurationError(
            f"Task {task!r} scores with a Python function of its own. Its recorded metrics are scores of lm-eval-recorded."
        )
    metrics = config.get("metric_list") or [{"metric": "exact_match"}]
    for metric in metrics:
        is_known = metric.get("metric") in METRICS and not metric.get("hf_evaluate")
        if not is_known:
            raise ConfigurationError(
                f"Task {task!r} has the metric {metric.get('metric')!r}. Choose from: {', '.join(METRICS)}."
            )
    filters = config.get("filter_list")
    for entry in filters or ():
        if any(step.get("function") == "custom" for step in entry["filter"]):
            raise ConfigurationError(
                f"The filter {entry['name']!r} of task {task!r} is a Python function of its own."
            )
    return TaskSettings(task, tuple(metrics), None if filters is None else tuple(filters))
