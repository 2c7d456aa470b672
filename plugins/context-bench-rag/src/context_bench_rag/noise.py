"""Whether the answer was misled: wrong claims that come from what was found."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request
from context_bench_judging.claims import CLAIM_PROMPTS, check_claims, split_claims
from context_bench_openai import ChatReply
from context_bench_rag.row import RagRow

_MODES = ("all", "relevant", "irrelevant")


class NoiseSensitivity(JudgedEvaluator):
    """The share of the response's claims that are wrong by the reference and come from the contexts; lower is better.

    Its key is ``noise_sensitivity``. A response without claims is unscored.

    Args:
        llm: What judges; further options are those of `JudgedEvaluator`.
        mode: Which contexts count: "all" of them as one text; those that are "relevant", as they bear out a claim of the
            reference; or the "irrelevant" ones, for claims that no relevant one bears out. The latter two look at each context
            by itself.

    Raises:
        ValueError: There is no such mode.
    """

    name = "noise_sensitivity"
    prompts = CLAIM_PROMPTS

    def __init__(self, llm: Any = None, *, mode: str = "all", **options: Any) -> None:
        if mode not in _MODES:
            raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}.")
        super().__init__(llm, **options)
        self.mode = mode

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return (
            super().fingerprint()
            if self.mode == "all"
            else {**super().fingerprint(), "mode": self.mode}
        )

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> Generator[Request, ChatReply, Scores]:
        row = RagRow.of(original, processed)
        lack = row.lacks("response", "contexts", "reference")
        if lack:
            return Scores({}, {"unscored": lack})
        claims = yield from split_claims(asker, row.response or "", row.question)
        by_reference = yield from check_claims(asker, claims, row.reference)
        if not by_reference:
            return Scores({}, {"unscored": "the response makes no claim"})
        wrong = [claim.text for claim in by_reference if not claim.is_supported]
        details: dict[str, Any] = {"wrong": wrong, "mode": self.mode}
        if self.mode == "all":
            misled = yield from _borne_out(asker, wrong, [row.source])
        else:
            relevant, irrelevant = yield from _sorted_contexts(asker, row)
            details["relevant_contexts"] = [row.contexts.index(context) + 1 for context in relevant]
            misled = yield from _borne_out(asker, wrong, relevant)
            if self.mode == "irrelevant":
                misled = yield from _borne_out(
                    asker, [claim for claim in wrong if claim not in misled], irrelevant
                )
        return Scores(
            {self.name: len(misled) / len(claims)}, {**details, "wrong_from_contexts": misled}
        )


def _sorted_contexts(
    asker: Asker, row: RagRow
) -> Generator[Request, ChatReply, tuple[list[str], list[str]]]:
    """Return the contexts that bear out a claim of the reference, and the others; those said twice once."""
    claims = yield from split_claims(asker, row.reference, row.question)
    relevant: list[str] = []
    irrelevant: list[str] = []
    for context in dict.fromkeys(row.contexts):
        checked = yield from check_claims(asker, claims, context)
        (relevant if any(claim.is_supported for claim in checked) else irrelevant).append(context)
    return relevant, irrelevant


def _borne_out(
    asker: Asker, claims: Sequence[str], sources: Sequence[str]
) -> Generator[Request, ChatReply, list[str]]:
    """Return the claims that any of the sources bears out."""
    found: set[str] = set()
    for source in sources:
        checked = yield from check_claims(
            asker, [claim for claim in claims if claim not in found], source
        )
        found |= {claim.text for claim in checked if claim.is_supported}
    return [claim for claim in claims if claim in found]
