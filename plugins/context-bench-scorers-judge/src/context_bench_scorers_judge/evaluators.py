"""The scorers as evaluators of a run, with the options of their judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from context_bench_judging.language_model import is_configured, language_model
from context_bench_scorers.adapters import AsyncScorerEvaluator
from context_bench_scorers_judge.hallucination import Hallucination
from context_bench_scorers_judge.judge_scorer import JudgeScorer
from context_bench_scorers_judge.qa_quality import QAQualityCorrectness
from context_bench_scorers_judge.summary_quality import SummaryQuality


def _judge(llm: Any, base_url: str | None, settings: dict[str, Any]) -> Any:
    """What judges; None where nobody does, which is said at the first row."""
    if llm is None and not base_url and not is_configured():
        return None
    return language_model(llm, base_url=base_url, **settings)


class _JudgedScorer(AsyncScorerEvaluator):
    """What the three have in common: only the first reference is judged, since each costs a call."""

    def __init__(self, scorer: JudgeScorer) -> None:
        super().__init__(scorer, references="first")


class QACorrectnessEvaluator(_JudgedScorer):
    """`QAQualityCorrectness` of the response to the question, by the context, under ``qa_correctness``.

    Args:
        llm: What judges, in place of ``base_url``.
        base_url, model, provider, api_key, cache, timeout, max_retries, retry_base_delay, max_in_flight: As in `judge_model`.
        prompts, max_tokens, repairs, parity: As in `QAQualityCorrectness`.
    """

    def __init__(
        self,
        llm: Any = None,
        *,
        base_url: str | None = None,
        model: str = "gpt-4",
        provider: str = "openai",
        api_key: str | None = None,
        cache: str | Path | None = None,
        prompts: Any = None,
        max_tokens: int = 64,
        repairs: int = 0,
        parity: str | None = None,
        **settings: Any,
    ) -> None:
        asked = {
            "model": model,
            "provider": provider,
            "api_key": api_key,
            "cache": cache,
            **settings,
        }
        judge = _judge(llm, base_url, asked)
        super().__init__(
            QAQualityCorrectness(
                judge, prompts=prompts, max_tokens=max_tokens, repairs=repairs, parity=parity
            )
        )


class SummaryQualityEvaluator(_JudgedScorer):
    """`SummaryQuality` of the response and the first reference, under ``summary_quality``.

    The text that is summarised is the context, or the question where there is no context.

    Args:
        llm: What judges, in place of ``base_url``.
        base_url, model, provider, api_key, cache, timeout, max_retries, retry_base_delay, max_in_flight: As in `judge_model`.
        context_window, swap, prompts, max_tokens, repairs, parity: As in `SummaryQuality`.
    """

    input_first = "context"

    def __init__(
        self,
        llm: Any = None,
        *,
        base_url: str | None = None,
        model: str = "gpt-4",
        provider: str = "openai",
        api_key: str | None = None,
        cache: str | Path | None = None,
        context_window: int = 4096,
        swap: bool = False,
        prompts: Any = None,
        max_tokens: int = 64,
        repairs: int = 0,
        parity: str | None = None,
        **settings: Any,
    ) -> None:
        asked = {
            "model": model,
            "provider": provider,
            "api_key": api_key,
            "cache": cache,
            **settings,
        }
        judge = _judge(llm, base_url, asked)
        options = {
            "prompts": prompts,
            "max_tokens": max_tokens,
            "repairs": repairs,
            "parity": parity,
        }
        super().__init__(SummaryQuality(judge, context_window, swap=swap, **options))


class HallucinationEvaluator(_JudgedScorer):
    """`Hallucination` of the response, by the context, under ``hallucination``.

    Args:
        llm: What judges, in place of ``base_url``.
        base_url, model, provider, api_key, cache, timeout, max_retries, retry_base_delay, max_in_flight: As in `judge_model`.
        method, threshold, prompts, max_tokens, repairs: As in `Hallucination`.
    """

    def __init__(
        self,
        llm: Any = None,
        *,
        base_url: str | None = None,
        model: str = "gpt-4",
        provider: str = "openai",
        api_key: str | None = None,
        cache: str | Path | None = None,
        method: str = "auto",
        threshold: float = 0.7,
        prompts: Any = None,
        max_tokens: int = 1024,
        repairs: int = 3,
        **settings: Any,
    ) -> None:
        asked = {
            "model": model,
            "provider": provider,
            "api_key": api_key,
            "cache": cache,
            **settings,
        }
        judge = None if method == "lexical" else _judge(llm, base_url, asked)
        options = {"prompts": prompts, "max_tokens": max_tokens, "repairs": repairs}
        super().__init__(Hallucination(judge, method=method, threshold=threshold, **options))
