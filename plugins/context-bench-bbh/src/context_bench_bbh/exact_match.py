"""The evaluator: whether the first line behind "the answer is" is the target."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench.answers import (
    NO_ANSWER,
    announced,
    answer_of,
    gold,
    read_reply,
    without_layout,
    without_remarks,
)
from context_bench.records import Scores

_BOXED = re.compile(r"\$*\s*\\boxed\s*\{(.*)\}\s*\$*\.?")


class BBHExactMatch:
    """1.0 where the answer of a response is exactly the target of a BIG-Bench Hard example, else 0.0.

    The answer is the first line behind the last "the answer is", or what a response without it announces in other words or
    another language (`context_bench.answers.announced`), or else its first line, less one full stop at its end. Layout such as the marks of bold type or code is taken off before, and what the reply quotes is read
    only where its own words state nothing. Case, brackets and the order of words count.
    This is the rule of the benchmark's authors: Suzgun et al. 2022, "Challenging BIG-Bench Tasks and Whether Chain-of-Thought
    Can Solve Them", https://arxiv.org/abs/2210.09261.

    Score keys: ``bbh_exact_match``. Details: ``extracted``, and ``is_stated``, whether the pattern was found.

    Args:
        pattern: A regular expression, ignoring case, for what stands before the answer.

    Raises:
        ValueError: The pattern is no regular expression.

    >>> BBHExactMatch().score({"answer": "(B)"}, {"response": "Let's think. So the answer is (B)."})
    {'bbh_exact_match': 1.0}
    """

    name = "bbh_exact_match"

    def __init__(self, pattern: str = "the answer is:?") -> None:
        self.pattern = pattern
        try:
            self._pattern = re.compile(pattern, re.IGNORECASE)
        except (re.error, TypeError) as error:
            raise ValueError(
                f"pattern of BBHExactMatch must be a regular expression, not {pattern!r}: {error}."
            ) from error

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example; any of its references is right (`context_bench.answers.references`).
            processed: The output: ``response``.

        Returns:
            ``{"bbh_exact_match": 0.0 or 1.0}``, or ``{}`` where there is no target or no response.
        """
        found, response = gold(original), answer_of(processed)
        if not found.texts or response is None:
            return Scores({}, {"unscored": found.reason or NO_ANSWER})
        written = set(map(_bare, found.texts))
        targets = written | {_bare(without_layout(text)) for text in found.texts}
        answer, is_stated = self._read(response, written)
        if not is_stated:
            other = announced(response)
            answer, is_stated = (answer, False) if other is None else (_bare(other), True)
        forms = {answer, _bare(without_layout(answer))}
        is_right = not targets.isdisjoint(forms)
        return Scores(
            {"bbh_exact_match": float(is_right)},
            {"extracted": answer[:500], "is_stated": is_stated},
        )

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {"pattern": self.pattern}

    def _read(self, response: str, targets: set[str]) -> tuple[str, bool]:
        """The answer in the reply's own words; where targets are signs alone, as brackets are, no sign is layout."""
        if not any(character.isalnum() for target in targets for character in target):
            return self._answer(response)
        return read_reply(response).first(self._answer, lambda found: found[1])

    def _answer(self, response: str) -> tuple[str, bool]:
        start, is_stated = 0, False
        for match in self._pattern.finditer(response):
            start, is_stated = match.end(), True
        rest = response[start:] if is_stated else without_remarks(response)
        return _bare(rest.strip().split("\n", 1)[0]), is_stated


def _bare(line: str) -> str:
    r"""A line less one full stop and the box around it.

    >>> _bare("(B) ."), _bare("True."), _bare("] } )"), _bare(r"\boxed{(B)}.")
    ('(B)', 'True', '] } )', '(B)')
    """
    bare = line.strip().removesuffix(".").strip()
    boxed = _BOXED.fullmatch(bare)
    return boxed[1].strip() if boxed else bare
