"""What a memory gave back of the evidence, apart from what a reader made of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.prompts import text_of_field
from context_bench.records import Scores

IS_THERE = 0.8
"""Share of a turn's words that have to be in the context for the turn to be there."""

_WORD = re.compile(r"\w+")


class EvidenceWords:
    """Compares the turns that hold the answer with the context that a memory gave back.

    evidence_words   mean share of the words of these turns that stand in the context
    evidence_any     1.0 where at least one of them is there: 80 % of its words
    evidence_all     1.0 where all of them are

    A stand-in for recall by id, which works for a memory that rewrites, too: one that summarises gets a share. A question
    without evidence, or whose answer is nowhere, is unscored.

    >>> evidence = [{"session": "1", "text": "My boat is red."}]
    >>> EvidenceWords().score({"evidence": evidence}, {"context": "Ida: My boat is red."})
    {'evidence_words': 1.0, 'evidence_any': 1.0, 'evidence_all': 1.0}
    """

    name = "evidence"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score the context of one output.

        Args:
            original: The example: ``evidence``, mappings with ``text``.
            processed: The output: ``context``.

        Returns:
            The three scores; ``{}`` where there is no evidence, or no context in the output.
        """
        turns = _turns(original.get("evidence"))
        if original.get("abstention") or not turns:
            return Scores({}, {"unscored": "the question has no evidence"})
        if processed.get("context") is None:
            return Scores({}, {"unscored": "the output has no context"})
        given = Counter(_words(text_of_field(processed["context"])))
        shares = [_share(turn, given) for turn in turns]
        there = [share >= IS_THERE for share in shares]
        return {
            "evidence_words": sum(shares) / len(shares),
            "evidence_any": float(any(there)),
            "evidence_all": float(all(there)),
        }

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _turns(evidence: Any) -> list[list[str]]:
    """Return the words of each turn of the evidence that has any."""
    found = evidence if isinstance(evidence, Sequence) and not isinstance(evidence, str) else ()
    texts = [one.get("text") for one in found if isinstance(one, Mapping)]
    return [words for text in texts if isinstance(text, str) and (words := _words(text))]


def _share(turn: Sequence[str], given: Mapping[str, int]) -> float:
    wanted = Counter(turn)
    return sum(min(count, given.get(word, 0)) for word, count in wanted.items()) / len(turn)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
