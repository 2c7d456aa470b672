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

    This works for a memory that rewrites, too: one that summarises gets a share. Where the memory returns ``turn_ids``, the ids
    of the turns that it gave back, and the evidence has them, recall is counted by id as well:

    evidence_recall       share of the evidence turns among those ids
    evidence_recall_any   1.0 where at least one is
    evidence_recall_all   1.0 where all are

    A question without evidence, or whose answer is nowhere, is unscored.

    >>> evidence = [{"session": "1", "text": "My boat is red."}]
    >>> EvidenceWords().score({"evidence": evidence}, {"context": "Ida: My boat is red."})
    {'evidence_words': 1.0, 'evidence_any': 1.0, 'evidence_all': 1.0}
    """

    name = "evidence"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score the context of one output.

        Args:
            original: The example: ``evidence``, mappings with ``text`` and, for recall by id, ``turn``.
            processed: The output: ``context`` and ``turn_ids``, either or both.

        Returns:
            Three scores for each of them; ``{}`` where there is no evidence, or neither is in the output.
        """
        evidence = _mappings(original.get("evidence"))
        turns = _turns(evidence)
        if original.get("abstention") or not turns:
            return Scores({}, {"unscored": "the question has no evidence"})
        recall = _recall(evidence, processed.get("turn_ids"))
        if processed.get("context") is None:
            return recall or Scores({}, {"unscored": "the output has no context"})
        return {**_shares(turns, text_of_field(processed["context"])), **recall}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _shares(turns: Sequence[Sequence[str]], context: str) -> dict[str, float]:
    given = Counter(_words(context))
    shares = [_share(turn, given) for turn in turns]
    there = [share >= IS_THERE for share in shares]
    return {
        "evidence_words": sum(shares) / len(shares),
        "evidence_any": float(any(there)),
        "evidence_all": float(all(there)),
    }


def _recall(evidence: Sequence[Mapping[str, Any]], returned: Any) -> dict[str, float]:
    """Return recall by id; nothing where the output has no ids, or a turn of the evidence has none."""
    wanted = {turn.get("turn") for turn in evidence}
    if not isinstance(returned, (list, tuple)) or None in wanted:
        return {}
    ids = {str(name) for name in returned}
    count = sum(str(name) in ids for name in wanted)
    return {
        "evidence_recall": count / len(wanted),
        "evidence_recall_any": float(count > 0),
        "evidence_recall_all": float(count == len(wanted)),
    }


def _mappings(evidence: Any) -> list[Mapping[str, Any]]:
    listed = evidence if isinstance(evidence, Sequence) and not isinstance(evidence, str) else ()
    return [turn for turn in listed if isinstance(turn, Mapping)]


def _turns(evidence: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the words of each turn of the evidence that has any."""
    texts = [turn.get("text") for turn in evidence]
    return [words for text in texts if isinstance(text, str) and (words := _words(text))]


def _share(turn: Sequence[str], given: Mapping[str, int]) -> float:
    wanted = Counter(turn)
    return sum(min(count, given.get(word, 0)) for word, count in wanted.items()) / len(turn)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
