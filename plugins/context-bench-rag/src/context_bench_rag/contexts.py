"""Scores of what was found: does it hold the answer, and does it come first."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request, tagged
from context_bench_judging.claims import CLAIM_PROMPTS, check_claims, split_claims, verdicts_of
from context_bench_openai import ChatReply
from context_bench_rag.answer import shown
from context_bench_rag.row import NOTHING_FOUND, RagRow

_Judgement = Generator[Request, ChatReply, Scores]
_USEFULNESS = {
    "usefulness": (
        "Numbered texts were found for a question whose right answer is known. For each text say whether it helps to arrive "
        "at that answer: 1 when it does, 0 when it does not.\n\n{question}\n\n{answer}\n\n{texts}\n\n"
        'Reply with a JSON object of one field: "verdicts", a list with one 1 or 0 for each text, in their order.'
    )
}


class ContextPrecision(JudgedEvaluator):
    """How far in front the useful contexts stand: average precision, under ``context_precision``.

    A context is useful when it helps to arrive at the reference answer. 0.0 where none is, or none was found.
    """

    name = "context_precision"
    prompts = _USEFULNESS

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> _Judgement:
        row = RagRow.of(original, processed)
        lack = row.lacks("question", "contexts", "reference")
        if lack:
            return Scores({}, {"unscored": lack})
        if row.found_nothing:
            return Scores({self.name: 0.0}, {"reason": NOTHING_FOUND})
        texts = "\n\n".join(
            tagged(f"text-{number}", text) for number, text in enumerate(row.contexts, 1)
        )
        useful = yield from asker.ask(
            "usefulness",
            {"verdicts": {"type": "array", "items": {"type": "integer", "enum": [0, 1]}}},
            verdicts_of("verdicts", len(row.contexts)),
            question=tagged("question", row.question),
            answer=tagged("answer", row.reference),
            texts=texts,
        )
        return Scores(
            {self.name: average_precision(useful)}, {"useful": [int(one) for one in useful]}
        )


class ContextRecall(JudgedEvaluator):
    """The share of the reference's claims that the contexts bear out, under ``context_recall``."""

    name = "context_recall"
    prompts = CLAIM_PROMPTS

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> _Judgement:
        row = RagRow.of(original, processed)
        lack = row.lacks("contexts", "reference")
        if lack:
            return Scores({}, {"unscored": lack})
        claims = yield from split_claims(asker, row.reference, row.question)
        checked = yield from check_claims(asker, claims, row.source)
        if not checked:
            return Scores({}, {"unscored": "the reference makes no claim"})
        found = sum(claim.is_supported for claim in checked)
        return Scores({self.name: found / len(checked)}, {"claims": shown(checked)})


def average_precision(useful: Sequence[bool | int]) -> float:
    """Return the mean, over the useful texts, of the share of useful ones down to each; 0.0 without any.

    >>> average_precision([1, 0, 1]), average_precision([0, 0])
    (0.8333333333333333, 0.0)
    """
    shares = [sum(useful[: place + 1]) / (place + 1) for place, one in enumerate(useful) if one]
    return sum(shares) / len(shares) if shares else 0.0
