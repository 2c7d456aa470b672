"""Answers from memory without a judge: short ones by what a reply concludes with, abstentions by a list of refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, gold
from context_bench.records import Scores
from context_bench_answer_quality.short_answer import short_answer
from context_bench_long_memory.kinds import by_kind

LONGEST = 12
"""Words of an answer that is compared; a longer one is left to a judge."""

_RUBRIC = "single-session-preference"
_REFUSES = re.compile(
    r"\b(?:not|never|n't|nor)\b[^.!?\n]{0,40}\b(?:mention\w*|stat\w+|specif\w+|sa(?:y|id|ys)|discuss\w*|provid\w+|availab\w+|enough"
    r"|shar\w+|told|tell|know|knew|determin\w+|answer\w*|find|found|contain\w*|includ\w+|indicat\w+|have (?:any )?information|recorded)\b"
    r"|\b(?:do(?:es)?n't|didn't|cannot|can't|couldn't|isn't|wasn't|hasn't|haven't|unable to)\b[^.!?\n]{0,40}"
    r"\b(?:mention\w*|stat\w+|specif\w+|say|discuss\w*|provid\w+|know|tell|determin\w+|answer|find|have|contain|include|indicate)\b"
    r"|\bno (?:information|mention|record|data|details?|indication|evidence|answer)\b|\bunknown\b|\bunanswerable\b|\binsufficient\b",
    re.IGNORECASE,
)


def refuses(reply: str) -> bool:
    """Whether a reply says that the answer cannot be told.

    >>> refuses("You never mentioned a cat."), refuses("I don't know."), refuses("You do not like tea.")
    (True, True, False)
    """
    return _REFUSES.search(reply.replace("\u2019", "'")) is not None


class MemoryAnswer:
    """Scores an answer from memory, without a judge.

    memory_answer   of a question that can be answered, what `short_answer` says; of any other, 1.0 for a reply that says
                    that it cannot be told
    false_refusal   1.0 for such a reply to a question that can be answered

    ``memory_answer`` is also given by kind of question, such as ``memory_answer_knowledge_update`` or ``memory_answer_code_2``.
    An answer of more than 12 words, or a rubric (LongMemEval's preferences), is unscored: it needs a judge.

    >>> MemoryAnswer().score({"answer": "Turku", "abstention": False}, {"response": "You live in Turku."})
    {'memory_answer': 1.0, 'false_refusal': 0.0}
    """

    name = "memory_answer"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: its references, ``abstention``, and ``question_type`` where there is one.
            processed: The output: ``response``.

        Returns:
            ``memory_answer``, the same by kind and, of a question that can be answered, ``false_refusal``; ``{}`` where it needs a judge, or
            there is no response.
        """
        response = answer_of(processed)
        if response is None:
            return Scores({}, {"unscored": NO_ANSWER})
        if original.get("abstention"):
            return by_kind("memory_answer", float(refuses(response)), original)
        found = gold(original)
        if not found.texts:
            return Scores({}, {"unscored": found.reason or "there is no answer"})
        if original.get("question_type") == _RUBRIC:
            return Scores({}, {"unscored": "the answer is a rubric, which needs a judge"})
        texts = [text for text in found.texts if len(text.split()) <= LONGEST]
        if not texts:
            return Scores(
                {}, {"unscored": f"the answer has more than {LONGEST} words, and needs a judge"}
            )
        score = short_answer(response, texts)
        is_refusal = not score and refuses(response)
        return {**by_kind("memory_answer", score, original), "false_refusal": float(is_refusal)}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}
