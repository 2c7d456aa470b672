"""The evaluator: a metric of `evaluate`, computed for each row alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import NO_ANSWER, references, reply_of
from context_bench.errors import ConfigurationError
from context_bench.records import Scores
from context_bench_hf_evaluate.inputs import form_for, prediction_in, references_in
from context_bench_hf_evaluate.score_keys import BETTER, KNOWN, ONE_ROW, numbers_of
from context_bench_hf_evaluate.source import MetricSource, arguments_of

REFERENCES = "hf_references"
"""Where the details of a row hold its references, for :class:`HFEvaluateCorpus`."""


class HFEvaluate:
    """A metric of `evaluate` on one response, as the library computes it for a list of one.

    The response is scored as the system returned it, with its reasoning. A metric that takes a list of references gets
    all answers of the example, another one the first.

    Args:
        metric: Its name on the hub, ``owner/name``, or a folder or script on this machine, such as ``./my_metric``.
        config: Its configuration, if it has several.
        revision: Commit, tag or branch of its script on the hub.
        args: Arguments of ``compute``, each ``NAME=VALUE``; a value is JSON, or a text.
        key: Which number of its result is the score; by default the only one. Not needed for the metrics of
            :data:`~context_bench_hf_evaluate.score_keys.KNOWN`.
        better: Which values of other metrics are better: ``higher`` or ``lower``.
        seed: Seed of numpy while it computes.

    Raises:
        ConfigurationError: An argument has no value, or ``better`` is something else.
    """

    def __init__(
        self,
        metric: str = "exact_match",
        config: str | None = None,
        *,
        revision: str | None = None,
        args: Sequence[str] = (),
        key: str | None = None,
        better: str = "higher",
        seed: int = 0,
    ) -> None:
        if better not in BETTER:
            raise ConfigurationError(f"better must be higher or lower, got {better!r}.")
        self._source = MetricSource(metric, config, revision, arguments_of(args), seed)
        self.name = f"hf_{self._source.name}"
        self._key = key
        self._known = {} if key is not None else KNOWN.get(self._source.name, {})
        self._other = BETTER[better]

    @property
    def score_keys(self) -> tuple[str, ...]:
        """The keys that it returns with its options."""
        return tuple(self._known.values()) or (self._other,)

    @property
    def primary(self) -> str:
        """The first of its keys."""
        return self.score_keys[0]

    def fingerprint(self) -> dict[str, Any]:
        """Return every parameter that can change a score, with the hash of the metric's script."""
        return {**self._source.fingerprint(), "key": self._key, "score_keys": self.score_keys}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the numbers of the metric for one response; nothing where the example has no reference."""
        response = reply_of(processed)
        answers = references(original)
        if response is None or not answers:
            reason = NO_ANSWER if response is None else "the example has no reference"
            return Scores({}, {"unscored": reason})
        form = form_for(self._source.forms(), [len(answers)])
        name = self._source.name
        result = self._source.compute(
            [prediction_in(form, response, 0)],
            [references_in(form, answers, 0)],
            **ONE_ROW.get(name, {}),
        )
        numbers = numbers_of(result, name, of_one_row=True)
        details: dict[str, Any] = {REFERENCES: list(answers), "result": numbers}
        scores = self._scores(numbers)
        if not scores:
            details["unscored"] = "the metric returned no finite number"
        return Scores(scores, details)

    def _scores(self, numbers: Mapping[str, float]) -> dict[str, float]:
        if self._known:
            return {key: numbers[name] for name, key in self._known.items() if name in numbers}
        key = self._key
        if key is None and len(numbers) > 1:
            raise ConfigurationError(
                f"The metric {self._source.metric} returns several numbers. Choose one with key: {', '.join(numbers)}."
            )
        if key is None:
            key = next(iter(numbers), "")
        return {self._other: numbers[key]} if key in numbers else {}
