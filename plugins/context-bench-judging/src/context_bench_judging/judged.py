"""What evaluators that ask a model have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.records import Scores
from context_bench_http import EndpointError
from context_bench_judging.asker import Asker, changed_prompts
from context_bench_judging.asking import ClientPolicy, Request
from context_bench_judging.language_model import JudgeOnDemand, LanguageModel
from context_bench_judging.prompt_book import PromptBook
from context_bench_judging.talking import atalk, talk
from context_bench_judging.unreadable import UnreadableReply, reason_of
from context_bench_openai import ChatReply

Pair = tuple[Mapping[str, Any], Mapping[str, Any]]
Judgement = Generator[Request, ChatReply, Scores]


class JudgedEvaluator:
    """An evaluator whose scores rest on a model's replies.

    A subclass has a ``name``, a ``version``, its ``prompts`` with their ``prompts_version``, and a ``_judgement`` that asks and
    returns scores. A judgement that fails - the call, a refusal, a reply that cannot be read - leaves the row unscored, with the
    cause in the details.

    Args:
        llm: What judges: see `language_model`. None takes ``base_url``, or else the configured judge.
        base_url, model, provider, api_key, timeout, max_retries, retry_base_delay: As in `judge_model`, without an ``llm``.
        cache, max_in_flight: As in `judge_model`, for all but an ``llm`` that is one and has its own.
        prompts: Prompts in place of ours by name, or a TOML file of them.
        language: Language that the judge writes in; None leaves it.
        max_tokens: Most tokens of a reply.
        repairs: How often a reply that cannot be read is sent back.
    """

    name = "judged"
    version = "1"
    prompts: Mapping[str, str] = {}
    prompts_version = "1"

    def __init__(
        self,
        llm: Any = None,
        *,
        base_url: str | None = None,
        model: str = "gpt-4",
        provider: str = "openai",
        api_key: str | None = None,
        cache: str | Path | None = None,
        prompts: Mapping[str, str] | str | Path | None = None,
        language: str | None = None,
        max_tokens: int = 1024,
        repairs: int = 3,
        max_in_flight: int = 16,
        timeout: float | None = 60.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> None:
        if type(repairs) is not int or repairs < 0:
            raise ValueError(f"repairs must be a whole number from 0 up, not {repairs!r}.")
        self._book = PromptBook(
            self.prompts, self.prompts_version, changed_prompts(prompts), language
        )
        self._parameters = {"temperature": 0.0, "max_tokens": max_tokens}
        self._repairs = repairs
        self._client_policy = ClientPolicy()
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
    def judge(self) -> LanguageModel:
        """What judges.

        Raises:
            ConfigurationError: None was given, and none is configured.
        """
        return self._judge.get()

    @property
    def max_in_flight(self) -> int:
        """For how many rows the judge may be asked at a time."""
        return self.judge.max_in_flight

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the scores of a row, or nothing and the cause in the details.

        Raises:
            RuntimeError: It is called on an event loop, which it would block.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return talk(self.judge, lambda: self._safe(original, processed))
        raise RuntimeError(
            f"{type(self).__name__}.score would block this event loop: await ascore(...) instead."
        )

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the scores of a row without blocking the event loop; see `score`."""
        return await atalk(self.judge, lambda: self._safe(original, processed))

    async def abatch(self, pairs: Sequence[Pair]) -> list[Scores]:
        """Return the scores of several rows, in their order; as many are asked at once as the judge's bound lets."""
        return list(await asyncio.gather(*(self.ascore(*pair) for pair in pairs)))

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score: judge, prompts and their version, options."""
        return {
            "evaluator": self.name,
            "version": self.version,
            "judge": self.judge.identity(),
            "prompts": self._book.fingerprint(),
            "parameters": self._parameters,
            "repairs": self._repairs,
        }

    def close(self) -> None:
        """Close the judge's connections and cache."""
        self._judge.close()

    def _safe(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Judgement:
        asker = Asker(self._book, self._parameters, self._client_policy, self._repairs)
        try:
            scores = yield from self._judgement(original, processed, asker)
        except (UnreadableReply, EndpointError) as cause:
            return Scores({}, {"unscored": reason_of(cause), **asker.transcript.details()})
        return Scores(scores, {**getattr(scores, "details", {}), **asker.transcript.details()})

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> Judgement:
        """Yield what is asked, and return the scores."""
        raise NotImplementedError
