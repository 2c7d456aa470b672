"""LoCoMo's own F1, by the rule of each kind of question."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, gold
from context_bench.records import Scores
from context_bench_long_memory.kinds import CODES
from context_bench_long_memory.locomo import ADVERSARIAL
from context_bench_rouge.porter import stem

MULTI_HOP = 1
OPEN_DOMAIN = 3

_SMALL_WORDS = re.compile(r"\b(?:a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NOT_THERE = ("no information available", "not mentioned")


class LoCoMoF1:
    """The F1 of word stems that LoCoMo's authors compute: Maharana et al. 2024.

    Code 1 (multi-hop) parts answer and response at commas: each part of the answer takes its best F1, and their mean counts.
    Code 3 (open-domain) compares with what stands before the first semicolon. Codes 2 and 4 compare the whole. Code 5
    (adversarial) has a score of its own, ``locomo_adversarial``: 1.0 where the response says "not mentioned" or "no
    information available". A system that always says so has 446 of 1,986 right, so the headline leaves code 5 out.

    Score keys: ``locomo_f1`` and the same by code, such as ``locomo_f1_code_1``; or ``locomo_adversarial``.

    >>> LoCoMoF1().score({"category": 1, "answer": "pottery, camping"}, {"response": "camping trips, pottery"})
    {'locomo_f1': 0.8333333333333333, 'locomo_f1_code_1': 0.8333333333333333}
    """

    name = "locomo_f1"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``category``, from 1 to 5, and ``answer``.
            processed: The output: ``response``.

        Returns:
            One score, and ``locomo_f1`` by code too; ``{}`` where there is no answer or no response.
        """
        response = answer_of(processed)
        if response is None:
            return Scores({}, {"unscored": NO_ANSWER})
        category = original.get("category")
        if category == ADVERSARIAL:
            lowered = response.lower()
            return {"locomo_adversarial": float(any(words in lowered for words in _NOT_THERE))}
        found = gold(original)
        if not found.texts:
            return Scores({}, {"unscored": found.reason or "there is no answer"})
        answer = found.texts[0]
        if category == OPEN_DOMAIN:
            answer = answer.split(";")[0].strip()
        if category == MULTI_HOP:
            parts = [part.strip() for part in response.split(",")]
            wanted = [part.strip() for part in answer.split(",")]
            best = [max(_f1(part, one) for part in parts) for one in wanted]
            f1 = sum(best) / len(best)
        else:
            f1 = _f1(response, answer)
        scores = {"locomo_f1": f1}
        if category in CODES:
            scores[f"locomo_f1_code_{category}"] = f1
        return scores

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _f1(response: str, answer: str) -> float:
    ours = _stems(response)
    theirs = _stems(answer)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(ours), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


def _stems(text: str) -> list[str]:
    """Return the stems of a text's words, in the authors' order of steps: commas go first, then case, marks, small words."""
    bare = text.replace(",", "").lower().translate(_NO_PUNCTUATION)
    return [stem(word) for word in _SMALL_WORDS.sub(" ", bare).split()]
