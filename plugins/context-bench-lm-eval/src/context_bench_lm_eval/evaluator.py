"""The evaluator: lm-eval's filters and metrics, computed by lm-eval."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import asdict

from context_bench.answers import NO_ANSWER, references, reply_of
from context_bench.errors import ConfigurationError
from context_bench.records import Scores
from context_bench_lm_eval.corpus_items import ITEMS, corpus_items
from context_bench_lm_eval.harness import Harness
from context_bench_lm_eval.task_settings import (
    TaskSettings,
    inline_settings,
    settings_from_file,
    settings_of_task,
)


class LMEvalMetrics:
    """The metrics of a task of lm-eval for any response, after the task's filter.

    The response is scored as the system returned it, with its reasoning, as lm-eval does. Where the output has
    ``responses``, all of them go through the filter, so that ``majority_vote`` works.

    Args:
        source: A file ``results_TIME.json`` or a task's YAML file, whose filters and metrics are used.
        task: A task of the results file. Without ``source``: a task that lm-eval brings, such as ``gsm8k``.
        filter: A filter of the task, such as ``flexible-extract``; by default its first.
        metrics: Without ``source`` and ``task``: names of lm-eval's metrics.
        regex: Without ``source`` and ``task``: pattern of lm-eval's filter ``regex``.
        group_select: With ``regex``: which match is taken; -1 is the last.
        ignore: Without ``source`` and ``task``: what ``exact_match`` ignores, of ``case``, ``punctuation``, ``numbers``.

    Raises:
        ConfigurationError: Options exclude each other, or the task cannot be computed from its settings.
    """

    name = "lm_eval"

    def __init__(
        self,
        source: str | os.PathLike[str] | None = None,
        task: str | None = None,
        *,
        filter: str | None = None,  # noqa: A002 - lm-eval's word, and the option's name on the command line
        metrics: Sequence[str] = ("exact_match",),
        regex: str | None = None,
        group_select: int = 0,
        ignore: Sequence[str] = (),
    ) -> None:
        self._source = None if source is None else Path(source).expanduser()
        self._task = task
        self._filter = filter
        has_task = source is not None or task is not None
        if has_task and (regex is not None or ignore):
            raise ConfigurationError(
                "A task has its own filters and metrics: regex and ignore cannot be used together with source or task."
            )
        self._inline = inline_settings(list(metrics), list(ignore), regex, group_select)
        if not has_task:
            self._check_filter(self._inline)

    @cached_property
    def settings(self) -> TaskSettings:
        """The filters and metrics that are used."""
        if self._source is not None:
            settings = settings_from_file(self._source, self._task)
        elif self._task is not None:
            settings = settings_of_task(self._task)
        else:
            settings = self._inline
        self._check_filter(settings)
        return settings

    def _check_filter(self, settings: TaskSettings) -> None:
        names = settings.filter_names
        if self._filter is not None and self._filter not in names:
            raise ConfigurationError(
                f"Task {settings.task!r} has no filter {self._filter!r}. Choose from: {', '.join(names)}."
            )

    @cached_property
    def _harness(self) -> Harness:
        settings = self.settings
        return Harness(settings, self._filter or settings.filter_names[0])

    @property
    def primary(self) -> str:
        """The key of the first metric."""
        return self.score_keys[0]

    @property
    def score_keys(self) -> tuple[str, ...]:
        """The keys that it returns with its options."""
        return self.settings.score_keys

    def fingerprint(self) -> dict[str, Any]:
        """Return every parameter that can change a score: the settings themselves, and not where they were read."""
        settings = self.settings
        return {**asdict(settings), "filter": self._filter or settings.filter_names[0]}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the metrics of a response; nothing where the example has no reference."""
        responses = _responses(processed)
        target = _target(original)
        if responses is None or target is None:
            reason = NO_ANSWER if responses is None else "the example has no reference"
            return Scores({}, {"unscored": reason})
        document = original.get("doc", {"choices": original.get("choices", [])})
        filtered = self._harness.filtered(responses, document)
        results = self._harness.results(filtered, target)
        details = {"filtered": filtered, ITEMS: corpus_items(results)}
        return Scores(
            self._harness.scores(results),
            {name: each for name, each in details.items() if each != {}},
        )


def _responses(processed: Mapping[str, Any]) -> list[str] | None:
    recorded = processed.get("responses")
    if isinstance(recorded, Sequence) and not isinstance(recorded, str):
        texts = [text for text in recorded if isinstance(text, str)]
        if texts and len(texts) == len(recorded):
            return texts
    reply = reply_of(processed)
    return None if reply is None else [reply]


def _target(original: Mapping[str, Any]) -> str | list[str] | None:
    """Return the reference, or several: lm-eval's own target as it was logged, or the answers of the example."""
    logged = original.get("lm_eval_target")
    if isinstance(logged, (str, list)):
        return logged
    answers = references(original)
    if not answers:
        return None
    return answers[0] if len(answers) == 1 else list(answers)
