"""Whether an answer is right, by a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench_judging import Asker, tagged
from context_bench_scorers import Category, ScoreResult, UserValueError
from context_bench_scorers.batches import need
from context_bench_scorers_judge.choices import ask_choice
from context_bench_scorers_judge.judge_scorer import INVALID, Judgement, JudgeScorer, refuse

CORRECT = Category("correct", "the context bears the answer out")
INCORRECT = Category("incorrect", "the answer is wrong by the context")
NOT_AVAILABLE = Category("na", "the context does not say")
_CHOICES = {
    "1": "1", "correct": "1", "true": "1", "0": "0", "incorrect": "0", "false": "0",
    "na": "NA", "n/a": "NA", "not available": "NA", "unanswerable": "NA",
}  # fmt: skip
_PROMPTS = {
    "correctness": (
        "Somebody answered a question from a context. Say whether the answer is right, by the context alone: 1 when it answers "
        "the question and the context bears it out, 0 when it is wrong or answers something else, NA when the context does not "
        "hold what the question asks for.\n\n{context}\n\n{question}\n\n{answer}\n\n"
        'Reply with a JSON object of one field, "verdict": "1", "0" or "NA".'
    )
}


class QAQualityCorrectness(JudgeScorer):
    """1.0 for an answer that is right by its context, 0.0 for one that is wrong; no score where the context does not say.

    Args:
        llm: What judges; None means the configured judge.
        prompts: A prompt in place of ours (``correctness``), or a TOML file.
        max_tokens: Most tokens of a reply.
        repairs: How often a reply that cannot be read is sent back.
        parity: ``"arthur"`` gives -1.0 where there is no score, as the predecessor did.
    """

    book_of_prompts = _PROMPTS

    def __init__(
        self,
        llm: Any = None,
        *,
        prompts: Mapping[str, str] | str | Path | None = None,
        max_tokens: int = 64,
        repairs: int = 0,
        parity: str | None = None,
    ) -> None:
        super().__init__(llm, prompts=prompts, max_tokens=max_tokens, repairs=repairs)
        self.parity = checked_parity(parity)

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "qa_correctness"

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references: it does not, and takes none."""
        return False

    @staticmethod
    def requires_input() -> bool:
        """Whether it must know what was asked: it must."""
        return True

    @staticmethod
    def requires_context() -> bool:
        """Whether it must know what the candidate should rest on: it must."""
        return True

    @staticmethod
    def categories() -> list[Category]:
        """Return the categories."""
        return [CORRECT, INCORRECT, NOT_AVAILABLE, INVALID]

    @classmethod
    def validate_batch(
        cls,
        candidate_batch: Sequence[str],
        reference_batch: Sequence[str] | None = None,
        input_text_batch: Sequence[str] | None = None,
        context_batch: Sequence[str] | None = None,
    ) -> tuple[list[str], list[str]]:
        """Return inputs and contexts.

        Raises:
            UserValueError: One of them is missing, or there are references.
        """
        refuse(cls.name(), "references", reference_batch, "it judges by the context")
        count = len(candidate_batch)
        inputs = need(cls.name(), "inputs", input_text_batch, count)
        return inputs, need(cls.name(), "contexts", context_batch, count)

    def _cases(self, candidates: Any, references: Any, inputs: Any, contexts: Any) -> list[Any]:
        return list(zip(candidates, *self.validate_batch(candidates, references, inputs, contexts)))

    def _judgement(self, case: Any, asker: Asker) -> Judgement:
        answer, question, context = case
        verdict = yield from ask_choice(
            asker,
            "correctness",
            _CHOICES,
            context=tagged("context", context),
            question=tagged("question", question),
            answer=tagged("answer", answer),
        )
        if verdict == "NA":
            return ScoreResult(-1.0 if self.parity else None, NOT_AVAILABLE)
        return ScoreResult(1.0, CORRECT) if verdict == "1" else ScoreResult(0.0, INCORRECT)

    def _safe(self, case: Any) -> Judgement:
        return (yield from with_parity(super()._safe(case), self.parity))


def checked_parity(parity: str | None) -> str | None:
    """Return the option.

    Raises:
        UserValueError: It is neither None nor ``"arthur"``.
    """
    if parity not in (None, "", "arthur"):
        raise UserValueError(f"parity must be 'arthur' or None, not {parity!r}.")
    return parity or None


def with_parity(judgement: Judgement, parity: str | None) -> Judgement:
    """Return a result, with the score -1.0 in place of none where the predecessor's values are wanted."""
    result = yield from judgement
    if parity and result.score is None:
        return ScoreResult(
            -1.0, INVALID if result.category is None else result.category, details=result.details
        )
    return result
