"""What scorers that ask a model have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from context_bench_http import EndpointError
from context_bench_judging import (
    Asker,
    ClientPolicy,
    JudgeOnDemand,
    LanguageModel,
    PromptBook,
    Request,
    UnreadableReply,
    atalk,
    talk,
)
from context_bench_judging.asker import changed_prompts
from context_bench_judging.unreadable import reason_of
from context_bench_openai import ChatReply
from context_bench_scorers import Category, Scorer, ScoreResult, UserValueError

INVALID = Category("invalid", "the judge gave no usable reply")
Judgement = Generator[Request, ChatReply, ScoreResult]


class JudgeScorer(Scorer):
    """A scorer whose results rest on a model's replies: one talk for each candidate, many at a time.

    A talk that fails - the call, a refusal, a reply that cannot be read - has the category ``invalid`` and no score; the cause is
    in the details.

    Args:
        llm: What judges: a `judge_model`, a client, or an object with ``invoke`` or ``ainvoke``; None means the configured
            judge.
        prompts: Prompts in place of ours by name, or a TOML file of them.
        max_tokens: Most tokens of a reply.
        repairs: How often a reply that cannot be read is sent back with the reason.

    Raises:
        UserValueError: ``repairs`` is below zero.
    """

    version = "1"
    book_of_prompts: Mapping[str, str] = {}
    prompts_version = "1"

    def __init__(
        self,
        llm: Any = None,
        *,
        prompts: Mapping[str, str] | str | Path | None = None,
        max_tokens: int = 1024,
        repairs: int = 1,
    ) -> None:
        if repairs < 0:
            raise UserValueError(f"repairs must be a whole number from 0 up, not {repairs!r}.")
        self.llm = llm
        self.prompts = changed_prompts(prompts)
        self.max_tokens = max_tokens
        self.repairs = repairs
        self._book = PromptBook(self.book_of_prompts, self.prompts_version, self.prompts)
        self._client_policy = ClientPolicy()
        self._judge = JudgeOnDemand(llm)

    @staticmethod
    def is_categorical() -> bool:
        """Whether every result has a category: it has."""
        return True

    @property
    def max_in_flight(self) -> int:
        """For how many rows the judge may be asked at a time."""
        return self.judge.max_in_flight

    @property
    def judge(self) -> LanguageModel:
        """What judges.

        Raises:
            ConfigurationError: None was given, and none is configured.
        """
        return self._judge.get()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score: judge, prompts and their version, options."""
        return {
            "scorer": self.name(),
            "version": self.version,
            **self.to_dict(),
            "judge": self.judge.identity(),
            "prompts": self._book.fingerprint(),
        }

    def to_dict(self, warn: bool = False) -> dict[str, Any]:
        """Return the configuration; the model is not part of it."""
        return {name: value for name, value in super().to_dict(warn).items() if name != "llm"}

    def close(self) -> None:
        """Close the judge's connections and cache."""
        self._judge.close()

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        cases = self._cases(candidate_batch, reference_batch, input_text_batch, context_batch)
        return [talk(self.judge, partial(self._safe, case)) for case in cases]

    async def arun_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate; as many are asked at once as the judge's bound lets."""
        cases = self._cases(candidate_batch, reference_batch, input_text_batch, context_batch)
        return list(
            await asyncio.gather(*(atalk(self.judge, partial(self._safe, case)) for case in cases))
        )

    def _safe(self, case: Any) -> Judgement:
        asker = Asker(
            self._book,
            {"temperature": 0.0, "max_tokens": self.max_tokens},
            self._client_policy,
            self.repairs,
        )
        try:
            result = yield from self._judgement(case, asker)
        except (UnreadableReply, EndpointError) as cause:
            return ScoreResult(
                None, INVALID, details={"unscored": reason_of(cause), **asker.transcript.details()}
            )
        return ScoreResult(
            result.score, result.category, details={**result.details, **asker.transcript.details()}
        )

    def _cases(
        self,
        candidates: Sequence[str],
        references: Sequence[str] | None,
        inputs: Sequence[str] | None,
        contexts: Sequence[str] | None,
    ) -> list[Any]:
        """Return what is judged, one case for each candidate."""
        raise NotImplementedError

    def _judgement(self, case: Any, asker: Asker) -> Judgement:
        """Yield what is asked, and return the result."""
        raise NotImplementedError


def refuse(scorer: str, what: str, given: Any, why: str) -> None:
    """Refuse a list that a scorer has no use for.

    Raises:
        UserValueError: It was given.
    """
    if given is not None:
        raise UserValueError(f"The scorer {scorer!r} takes no {what}: {why}.")
