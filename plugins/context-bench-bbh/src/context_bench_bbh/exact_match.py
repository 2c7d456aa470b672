"""The evaluator: whether the first line behind "the answer is" is the target."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_AROUND = " \t\r\n*`"


class Scores(dict[str, float]):
    """Scores by key, with ``details`` about how they came about."""

    def __init__(self, scores: Mapping[str, float], details: Mapping[str, Any]) -> None:
        super().__init__(scores)
        self.details = dict(details)


class BBHExactMatch:
    """1.0 where the answer of a response is exactly the target of a BIG-Bench Hard example, else 0.0.

    The answer is the first line behind the last "the answer is", or the first line of a response without it, less one full
    stop at its end and the marks of bold type or code around it. Case, brackets and the order of words count.
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
            original: The example: ``answers`` (any of them is right) or ``answer``.
            processed: The output: ``response``.

        Returns:
            ``{"bbh_exact_match": 0.0 or 1.0}``, or ``{}`` where there is no target or no response.
        """
        targets = set(_targets(original))
        response = _text(processed.get("response"))
        if not targets or response is None:
            return {}
        answer, is_stated = self._answer(response)
        return Scores(
            {"bbh_exact_match": float(answer in targets)}, {"extracted": answer[:500], "is_stated": is_stated}
        )

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {"pattern": self.pattern}

    def _answer(self, response: str) -> tuple[str, bool]:
        start, is_stated = 0, False
        for match in self._pattern.finditer(response):
            start, is_stated = match.end(), True
        return _bare(response[start:].strip().split("\n", 1)[0]), is_stated


def _bare(line: str) -> str:
    """A line less one full stop and the marks of bold type or code around it.

    >>> _bare("**(B)**."), _bare("True."), _bare("] } )")
    ('(B)', 'True', '] } )')
    """
    return line.strip(_AROUND).removesuffix(".").strip(_AROUND)


def _targets(original: Mapping[str, Any]) -> Iterator[str]:
    answers = original.get("answers")
    texts = [_text(value) for value in (answers if isinstance(answers, (list, tuple)) else [answers])]
    if not any(text and text.strip() for text in texts):
        texts = [_text(original.get("answer"))]
    return (_bare(text) for text in texts if text and text.strip())


def _text(value: Any) -> str | None:
    """A text, or a finite number or truth value as a text; ``None`` for anything else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (bool, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python prints
        return None
