"""The evaluator: a metric of deepeval, called by deepeval, with the judge of context-bench as its model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.records import Scores
from context_bench_deepeval.judge import Conversation, model_for
from context_bench_deepeval.library import library
from context_bench_deepeval.metrics import METRICS, RESERVED
from context_bench_deepeval.row import fields_of, missing_reason
from context_bench_http import EndpointError
from context_bench_judging import ClientPolicy, JudgeOnDemand, LanguageModel, UnreadableReply
from context_bench_judging.unreadable import reason_of


class DeepEvalMetric:
    """A metric of deepeval on one row.

    deepeval writes the prompts, reads the replies and computes the score. The judge is asked through the client of
    context-bench, which waits, retries and caches. A judge that fails gives no score: the cause is in the details.

    Args:
        metric: Its name: see :data:`~context_bench_deepeval.metrics.METRICS`.
        args: Arguments of its class, each ``NAME=VALUE``; a value is JSON, or a text.
        include_reason: Whether deepeval asks for a reason, too: one more call for most metrics. It changes no score.
        llm: What judges, in Python: see :func:`context_bench_judging.language_model`.
        base_url, model, provider, api_key, cache: The judge.
        max_tokens: Most tokens of a reply.
        max_in_flight: Requests on their way at a time.
        timeout: Seconds for one attempt as a whole.
        max_retries: Requests after the first one.
        retry_base_delay: Upper bound of the first pause between attempts in seconds.

    Raises:
        ConfigurationError: There is no such metric, or an argument has no value or is set here.
    """

    def __init__(
        self,
        metric: str = "answer_relevancy",
        *,
        args: Sequence[str] = (),
        include_reason: bool = False,
        llm: Any = None,
        base_url: str | None = None,
        model: str = "gpt-4",
        provider: str = "openai",
        api_key: str | None = None,
        cache: str | Path | None = None,
        max_tokens: int = 1024,
        max_in_flight: int = 16,
        timeout: float | None = 60.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> None:
        if metric not in METRICS:
            raise ConfigurationError(
                f"Unknown metric {metric!r}. Choose from: {', '.join(METRICS)}."
            )
        self.name = f"deepeval_{metric}"
        self._metric_name = metric
        self._kind = METRICS[metric]
        self._arguments = dict(_argument(text) for text in args)
        if metric == "g_eval":
            self._arguments.setdefault("evaluation_params", ["input", "actual_output"])
        self._include_reason = include_reason
        self._parameters = {"temperature": 0.0, "max_tokens": max_tokens}
        self._policy = ClientPolicy()
        self._judge = JudgeOnDemand(
            llm,
            base_url=base_url,
            model=model,
            provider=provider,
            api_key=api_key,
            cache=cache,
            max_in_flight=max_in_flight,
            timeout=timeout,
            max_retries=max_retries,
            retry_base_delay=retry_base_delay,
        )

    @property
    def score_keys(self) -> tuple[str, ...]:
        """The key of the metric."""
        return (self.name,)

    @property
    def primary(self) -> str:
        """The key of the metric."""
        return self.name

    @property
    def judge(self) -> LanguageModel:
        """What judges.

        Raises:
            ConfigurationError: None was given, and none is configured.
        """
        return self._judge.get()

    @property
    def max_in_flight(self) -> int:
        """For how many rows the judge may be asked at a time."""
        return self.judge.max_in_flight if self._kind.is_judged else 16

    def fingerprint(self) -> dict[str, Any]:
        """Return every parameter that can change a score."""
        values: dict[str, Any] = {
            "metric": self._metric_name,
            "arguments": self._arguments,
            "deepeval": library("deepeval").__version__,
        }
        if self._kind.is_judged:
            values |= {"judge": self.judge.identity(), "parameters": self._parameters}
        return values

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the score of the metric, or nothing and the cause in the details."""
        fields = fields_of(original, processed)
        needs = [*self._kind.needs, *self._arguments.get("evaluation_params", ())]
        reason = missing_reason(fields, needs)
        if reason is not None:
            return Scores({}, {"unscored": reason})
        conversation = None
        if self._kind.is_judged:
            conversation = Conversation(self.judge, self._policy, self._parameters)
        try:
            metric = self._measured(fields, conversation)
        except (EndpointError, UnreadableReply) as cause:
            return Scores({}, {"unscored": reason_of(cause)})
        except (ValueError, KeyError, TypeError) as cause:
            if conversation is None or not conversation.calls:
                raise
            conversation.forget()
            problem = UnreadableReply(f"deepeval cannot read it: {cause}")
            return Scores({}, {"unscored": reason_of(problem)})
        return self._scores(metric, conversation)

    def close(self) -> None:
        """Close the judge's connections and cache."""
        self._judge.close()

    def _measured(self, fields: Mapping[str, Any], conversation: Conversation | None) -> Any:
        """Return the metric after it has measured a row; each row has one, as a metric stores what it finds."""
        case = library("deepeval.test_case").LLMTestCase(**fields)
        metric = self._built(conversation)
        metric.measure(case, _show_indicator=False)
        return metric

    def _built(self, conversation: Conversation | None) -> Any:
        arguments = dict(self._arguments)
        if conversation is not None:
            arguments |= {"model": model_for(conversation), "async_mode": False}
            if self._metric_name == "g_eval":
                arguments = _of_g_eval(arguments)
            else:
                arguments |= {"include_reason": self._include_reason, "eval_mode": "llm"}
        try:
            return getattr(library("deepeval.metrics"), self._kind.class_name)(**arguments)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"The metric {self._metric_name}: {error}.") from error

    def _scores(self, metric: Any, conversation: Conversation | None) -> Scores:
        details: dict[str, Any] = {}
        if conversation is not None:
            details["judge_calls"] = conversation.calls
        if metric.reason:
            details["reason"] = metric.reason
        value = math.nan if metric.score is None else float(metric.score)
        if not math.isfinite(value):
            return Scores({}, {"unscored": "the metric returned no value", **details})
        return Scores({self.name: value}, details)


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"args must be NAME=VALUE, got {text!r}.")
    if name in RESERVED:
        raise ConfigurationError(f"args cannot set {name}: the evaluator does.")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _of_g_eval(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of GEval: it has a name, and its parameters are members of an enumeration."""
    params = library("deepeval.test_case").SingleTurnParams
    names = [params(name) for name in arguments["evaluation_params"]]
    return {"name": "g_eval", **arguments, "evaluation_params": names}
