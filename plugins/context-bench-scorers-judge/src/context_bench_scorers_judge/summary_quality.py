"""Which of two summaries is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench_judging import Asker, tagged
from context_bench_scorers import Category, ScoreResult, UserValueError
from context_bench_scorers.batches import need, need_references
from context_bench_scorers_judge.choices import ask_choice
from context_bench_scorers_judge.judge_scorer import INVALID, Judgement, JudgeScorer, refuse
from context_bench_scorers_judge.qa_quality import checked_parity, with_parity
from context_bench_scorers_judge.truncation import PAD, counter, fitted

CANDIDATE = Category("candidate", "the candidate is the better summary")
REFERENCE = Category("reference", "the reference is the better summary")
EQUAL = Category("equal", "neither is better")
_SCORES = {1.0: CANDIDATE, 0.0: REFERENCE}
_CHOICES = {
    "0": "0", "summary 0": "0", "1": "1", "summary 1": "1",
    "tie": "tie", "equal": "tie", "both": "tie", "neither": "tie", "draw": "tie",
}  # fmt: skip
_PROMPTS = {
    "compare": (
        "Two summaries of one text follow. Say which of them tells more truly and more shortly what matters in the text; being "
        "longer earns nothing. The order in which they stand means nothing.\n\n{text}\n\n{summary_0}\n\n{summary_1}\n\n"
        'Reply with a JSON object of one field, "verdict": "0" when summary 0 is better, "1" when summary 1 is better, "tie" '
        "when neither is."
    )
}


class SummaryQuality(JudgeScorer):
    """1.0 where the candidate is a better summary of the input than the reference, 0.0 where it is worse, 0.5 for a tie.

    The input is cut at its end so that the prompt fits the window of the judge.

    Args:
        llm: What judges; None means the configured judge.
        context_window: Tokens that the judge can read.
        tokenizer: What counts them: anything with ``encode`` or ``count``; None counts more than most models do.
        swap: Whether both orders are asked: the score is then their mean, and ``orders_agree`` in the details says whether
            they agreed.
        prompts: A prompt in place of ours (``compare``), or a TOML file.
        max_tokens: Most tokens of a reply.
        repairs: How often a reply that cannot be read is sent back.
        parity: ``"arthur"`` gives -1.0 where there is no score, as the predecessor did.
    """

    book_of_prompts = _PROMPTS

    def __init__(
        self,
        llm: Any = None,
        context_window: int = 4096,
        tokenizer: Any = None,
        *,
        swap: bool = False,
        prompts: Mapping[str, str] | str | Path | None = None,
        max_tokens: int = 64,
        repairs: int = 0,
        parity: str | None = None,
    ) -> None:
        super().__init__(llm, prompts=prompts, max_tokens=max_tokens, repairs=repairs)
        if type(context_window) is not int or context_window < 1:
            raise UserValueError(
                f"context_window must be a whole number above 0, not {context_window!r}."
            )
        self.context_window = context_window
        self.tokenizer = tokenizer
        self.swap = bool(swap)
        self.parity = checked_parity(parity)
        counter(tokenizer)

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "summary_quality"

    @staticmethod
    def requires_input() -> bool:
        """Whether it must know what was asked: it must know the text."""
        return True

    @staticmethod
    def categories() -> list[Category]:
        """Return the categories."""
        return [REFERENCE, CANDIDATE, EQUAL, INVALID]

    @classmethod
    def validate_batch(
        cls,
        candidate_batch: Sequence[str],
        reference_batch: Sequence[str] | None = None,
        input_text_batch: Sequence[str] | None = None,
        context_batch: Sequence[str] | None = None,
    ) -> tuple[list[str], list[str]]:
        """Return inputs and references.

        Raises:
            UserTypeError: References are missing.
            UserValueError: Inputs are missing, or there are contexts.
        """
        refuse(cls.name(), "contexts", context_batch, "the text that is summarised is the input")
        wanted = need_references(cls.name(), reference_batch, len(candidate_batch))
        return need(cls.name(), "inputs", input_text_batch, len(candidate_batch)), wanted

    def truncate_input_text(
        self,
        input_text: str,
        ref_output: str,
        cand_output: str,
        context_window: int = 4096,
        tokenizer: Any = None,
    ) -> tuple[str, bool]:
        """Return the beginning of a text that fits the window with both summaries, and whether anything was left out.

        Args:
            input_text: The text.
            ref_output: The reference.
            cand_output: The candidate.
            context_window: Tokens that the judge can read.
            tokenizer: What counts them; None takes that of the scorer.

        Raises:
            UserValueError: The summaries alone do not fit.
        """
        count = counter(self.tokenizer if tokenizer is None else tokenizer)
        empty = self._messages("", ref_output, cand_output)
        return fitted(
            input_text, context_window - PAD - sum(count(m["content"]) for m in empty), count
        )

    def _cases(self, candidates: Any, references: Any, inputs: Any, contexts: Any) -> list[Any]:
        texts, wanted = self.validate_batch(candidates, references, inputs, contexts)
        found = []
        for candidate, reference, text in zip(candidates, wanted, texts):
            kept, is_cut = self.truncate_input_text(text, reference, candidate, self.context_window)
            found.append((candidate, reference, kept, is_cut))
        return found

    def _messages(self, text: str, first: str, second: str) -> list[dict[str, str]]:
        return self._book.messages("compare", **_texts(text, first, second))

    def _judgement(self, case: Any, asker: Asker) -> Judgement:
        candidate, reference, text, is_cut = case
        outcomes = []
        for own in ("1", "0")[: 2 if self.swap else 1]:
            first, second = (reference, candidate) if own == "1" else (candidate, reference)
            verdict = yield from ask_choice(
                asker, "compare", _CHOICES, **_texts(text, first, second)
            )
            outcomes.append(0.5 if verdict == "tie" else float(verdict == own))
        score = sum(outcomes) / len(outcomes)
        details: dict[str, Any] = {"truncated": is_cut}
        if self.swap:
            details |= {"outcomes": outcomes, "orders_agree": outcomes[0] == outcomes[1]}
        return ScoreResult(score, _SCORES.get(score, EQUAL), details=details)

    def _safe(self, case: Any) -> Judgement:
        return (yield from with_parity(super()._safe(case), self.parity))


def truncate_input_text(
    input_text: str,
    ref_output: str,
    cand_output: str,
    context_window: int = 4096,
    tokenizer: Any = None,
) -> tuple[str, bool]:
    """Return what `SummaryQuality.truncate_input_text` does with the packaged prompt.

    >>> truncate_input_text("Rain fell.", "It rained.", "Rain.")
    ('Rain fell.', False)
    """
    scorer = SummaryQuality(tokenizer=tokenizer)
    return scorer.truncate_input_text(input_text, ref_output, cand_output, context_window)


def _texts(text: str, first: str, second: str) -> dict[str, str]:
    return {
        "text": tagged("text", text),
        "summary_0": tagged("summary-0", first),
        "summary_1": tagged("summary-1", second),
    }
