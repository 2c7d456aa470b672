"""Scores of the answer: is it borne out, and to the point."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request, tagged
from context_bench_judging.claims import (
    CLAIM_PROMPTS,
    Claim,
    check_claims,
    split_claims,
    verdicts_of,
)
from context_bench_openai import ChatReply
from context_bench_rag.row import RagRow

_Judgement = Generator[Request, ChatReply, Scores]
_RELEVANCE = {
    **CLAIM_PROMPTS,
    "relevance": (
        "An answer was split into numbered statements. For each say whether it helps to answer the question: 1 when it does, 0 "
        "when it is beside the point, evades the question, or says only that the answer is not known. Whether it is true "
        "does not matter.\n\n{question}\n\n{claims}\n\n"
        'Reply with a JSON object of one field: "verdicts", a list with one 1 or 0 for each statement, in their order.'
    ),
}


class Faithfulness(JudgedEvaluator):
    """The share of the response's claims that the contexts bear out, under ``faithfulness``.

    A response without claims is unscored.
    """

    name = "faithfulness"
    prompts = CLAIM_PROMPTS

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> _Judgement:
        row = RagRow.of(original, processed)
        lack = row.lacks("response", "contexts")
        if lack:
            return Scores({}, {"unscored": lack})
        claims = yield from split_claims(asker, row.response or "", row.question)
        checked = yield from check_claims(asker, claims, row.source)
        if not checked:
            return Scores({}, {"unscored": "the response makes no claim"})
        return Scores({self.name: _share(checked)}, {"claims": shown(checked)})


class AnswerRelevancy(JudgedEvaluator):
    """The share of the response's statements that help to answer the question, under ``answer_relevancy``.

    A response that says nothing is 0.0. The definition is that of statements, not of questions made from the answer: it needs no
    embeddings.
    """

    name = "answer_relevancy"
    prompts = _RELEVANCE

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> _Judgement:
        row = RagRow.of(original, processed)
        lack = row.lacks("question", "response")
        if lack:
            return Scores({}, {"unscored": lack})
        statements = yield from split_claims(asker, row.response or "", row.question)
        if not statements:
            return Scores({self.name: 0.0}, {"reason": "the response states nothing"})
        numbered = "\n".join(
            f"{number}. {statement}" for number, statement in enumerate(statements, 1)
        )
        verdicts = yield from asker.ask(
            "relevance",
            {"verdicts": {"type": "array", "items": {"type": "integer", "enum": [0, 1]}}},
            verdicts_of("verdicts", len(statements)),
            question=tagged("question", row.question),
            claims=tagged("statements", numbered),
        )
        aside = [statement for statement, helps in zip(statements, verdicts) if not helps]
        return Scores({self.name: sum(verdicts) / len(verdicts)}, {"beside_the_point": aside})


def _share(claims: list[Claim]) -> float:
    return sum(claim.is_supported for claim in claims) / len(claims)


def shown(claims: list[Claim]) -> list[dict[str, Any]]:
    """Return claims as details."""
    return [
        {"claim": claim.text, "supported": claim.is_supported, "reason": claim.reason}
        for claim in claims
    ]
