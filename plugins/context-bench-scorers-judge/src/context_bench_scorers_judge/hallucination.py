"""Whether a text says what its context does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_bench_judging import Asker
from context_bench_judging.claims import CLAIM_PROMPTS, Claim, check_claims, split_claims
from context_bench_judging.language_model import is_configured
from context_bench_judging.lexical import LEXICAL, missing_numbers, overlap, sentences
from context_bench_scorers import Category, ScoreResult, UserValueError
from context_bench_scorers.batches import need
from context_bench_scorers_judge.judge_scorer import INVALID, Judgement, JudgeScorer

SUPPORTED = Category("no hallucination", "the context bears every claim out")
UNSUPPORTED = Category("hallucination", "the context does not bear out every claim")
METHODS = ("auto", "llm", "lexical")


class Hallucination(JudgeScorer):
    """1.0 where the context bears out every claim of the candidate, 0.0 where there is one that it does not.

    A model splits the candidate into claims and checks them against the context. Without a model a heuristic takes its place,
    and every result says so: each sentence must have its numbers and most of its content words in the context. The details hold
    the share of supported claims and those that are not, with the reasons.

    Args:
        llm: What judges; None means the configured judge.
        method: ``llm``, ``lexical``, or ``auto``: the model where there is one, else the heuristic.
        threshold: Share of a sentence's content words that the heuristic wants to find.
        prompts: Prompts in place of ours (``claims``, ``support``), or a TOML file.
        max_tokens: Most tokens of a reply.
        repairs: How often a reply that cannot be read is sent back.

    Raises:
        UserValueError: An option has a value that does not exist.
    """

    book_of_prompts = CLAIM_PROMPTS

    def __init__(
        self,
        llm: Any = None,
        *,
        method: str = "auto",
        threshold: float = 0.7,
        prompts: Mapping[str, str] | str | Path | None = None,
        max_tokens: int = 1024,
        repairs: int = 3,
    ) -> None:
        super().__init__(llm, prompts=prompts, max_tokens=max_tokens, repairs=repairs)
        if method not in METHODS:
            raise UserValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
        if (
            isinstance(threshold, bool)
            or not hasattr(threshold, "__float__")
            or not 0 <= threshold <= 1
        ):
            raise UserValueError(f"threshold must be from 0 to 1, not {threshold!r}.")
        self.method = method
        self.threshold = threshold

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "hallucination"

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references: it does not."""
        return False

    @staticmethod
    def requires_context() -> bool:
        """Whether it must know what the candidate should rest on: it must."""
        return True

    @staticmethod
    def categories() -> list[Category]:
        """Return the categories."""
        return [SUPPORTED, UNSUPPORTED, INVALID]

    @property
    def is_lexical(self) -> bool:
        """Whether the heuristic is used: it is asked for, or there is no model."""
        if self.method != "auto":
            return self.method == "lexical"
        return not self._judge.is_built and not is_configured()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score; of the heuristic that it is one."""
        if self.is_lexical:
            return {
                "scorer": self.name(),
                "version": self.version,
                "method": LEXICAL,
                "threshold": self.threshold,
            }
        return super().fingerprint()

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        if self.is_lexical:
            return self._lexical(candidate_batch, context_batch)
        return super().run_batch(candidate_batch, reference_batch, input_text_batch, context_batch)

    async def arun_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate without blocking the event loop."""
        if self.is_lexical:
            return self._lexical(candidate_batch, context_batch)
        return await super().arun_batch(
            candidate_batch, reference_batch, input_text_batch, context_batch
        )

    def _lexical(self, candidates: list[str], contexts: list[str] | None) -> list[ScoreResult]:
        sources = need(self.name(), "contexts", contexts, len(candidates))
        return [
            self._lexical_result(candidate, source)
            for candidate, source in zip(candidates, sources)
        ]

    def _lexical_result(self, candidate: str, source: str) -> ScoreResult:
        claims = [
            Claim(sentence, share >= self.threshold, _reason(sentence, source, share))
            for sentence in sentences(candidate)
            for share in [overlap(sentence, source)]
        ]
        return _result(claims, LEXICAL)

    def _cases(self, candidates: Any, references: Any, inputs: Any, contexts: Any) -> list[Any]:
        return list(zip(candidates, need(self.name(), "contexts", contexts, len(candidates))))

    def _judgement(self, case: Any, asker: Asker) -> Judgement:
        candidate, source = case
        claims = yield from split_claims(asker, candidate)
        checked = yield from check_claims(asker, claims, source)
        return _result(checked, "llm")


def _reason(sentence: str, source: str, share: float) -> str:
    numbers = missing_numbers(sentence, source)
    return (
        f"the context has no {' and no '.join(numbers)}"
        if numbers
        else f"{share:.0%} of its content words are in the context"
    )


def _result(claims: list[Claim], method: str) -> ScoreResult:
    unsupported = [claim for claim in claims if not claim.is_supported]
    details = {
        "method": method,
        "n_claims": len(claims),
        "supported": 1 - len(unsupported) / len(claims) if claims else 1.0,
        "unsupported_claims": [
            {"claim": claim.text, "reason": claim.reason} for claim in unsupported
        ],
    }
    if unsupported:
        return ScoreResult(0.0, UNSUPPORTED, details={**details, "reason": unsupported[0].text})
    return ScoreResult(1.0, SUPPORTED, details=details)
