"""Accuracy on multiple-choice questions."""

from __future__ import annotations

import re
import reprlib
import string
from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, part_answer, reply_of
from context_bench.records import Scores
from context_bench_multiple_choice.extraction import Finding, find_letter
from context_bench_multiple_choice.gold import Gold, gold_of
from context_bench_multiple_choice.names import is_letter, same_text

_STEPS = (
    re.compile(r"answer is \(?([A-J])\)?"),
    re.compile(r"(?=[aA]nswer:\s*([A-J]))"),
)
_LAST = re.compile(r"\b[A-J]\b")


class MultipleChoiceAccuracy:
    """Scores 1.0 if the response answers the right option, 0.0 if it answers another one or none.

    >>> row = {"choices": ["London", "Paris"], "correct_letter": "B", "answer": "Paris"}
    >>> MultipleChoiceAccuracy().score(row, {"response": "I think A is wrong, so B."})
    {'mc_accuracy': 1.0}

    `details` of the scores hold the letter that was found, the rule that found it and the place; or `"letter": None` and the
    reason. An example without a right letter, and an output without a text, are unscored.

    Args:
        parity: "mmlu-pro" extracts the letter as the MMLU-Pro leaderboard does, first statement first, to reproduce
            its published numbers record by record.
        several: Which answer counts of a response that opens with a bare answer sentence ("The answer is (X).", alone
            in its line) and gives others later without a word of correction or conclusion: the "first", as in the
            benchmarks whose prompts demand that sentence, or the "last". Of any other response the concluding statement counts.
        index_base: What an index as the right answer counts from, 0 or 1. By default only an index that can be read in
            one way is used.

    Raises:
        ValueError: An option has a value that it cannot have.
    """

    name = "multiple-choice"

    def __init__(
        self, parity: str | None = None, index_base: int | None = None, several: str = "first"
    ) -> None:
        for name, value, allowed, words in (
            ("parity", parity, (None, "mmlu-pro"), "'mmlu-pro' or left out"),
            ("index_base", index_base, (None, 0, 1), "0, 1 or left out"),
            ("several", several, ("first", "last"), "'first' or 'last'"),
        ):
            if value not in allowed or isinstance(value, bool):
                raise ValueError(f"multiple-choice: {name} is {value!r}, but has to be {words}")
        self.parity = parity
        self.index_base = index_base
        self.several = several

    def fingerprint(self) -> dict[str, Any]:
        """The parameters that can change a score."""
        return {"parity": self.parity, "index_base": self.index_base, "several": self.several}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """`mc_accuracy` of one response.

        Args:
            original: The example, with `correct_letter` (or `answer`, a letter or the text of an option) and `choices`.
            processed: The output, with `response`.
        """
        gold = gold_of(original, self.index_base)
        if not gold.letters:
            return Scores(details={"unscored": gold.reason})
        response = reply_of(processed)
        if response is None:
            return Scores(details={"unscored": NO_ANSWER})
        finding = self._find(response, gold)
        details: dict[str, Any] = {"letter": finding.letter, "gold": "/".join(sorted(gold.letters))}
        shown = {"how": finding.how, "quote": finding.quote, "reason": finding.reason}
        details.update((name, text) for name, text in shown.items() if text)
        if finding.others:
            details["others"] = list(finding.others)
        return Scores({"mc_accuracy": float(finding.letter in gold.letters)}, details)

    def _find(self, response: str, gold: Gold) -> Finding:
        if self.parity == "mmlu-pro":
            letter = mmlu_pro_letter(part_answer(response).answer)
            return (
                Finding(letter, how="mmlu-pro")
                if letter
                else Finding(None, reason="no letter found")
            )
        answer = part_answer(response).answer
        options = None if gold.choices else max(10, ord(max(gold.letters)) - ord("A") + 1)
        is_named = is_letter(
            answer, string.ascii_uppercase[: options or len(gold.choices)], gold.texts.values()
        )
        if gold.texts and not is_named and (whole := same_text(answer, gold.texts)):
            return Finding(whole, "whole response is the text", reprlib.repr(answer.strip()))
        return find_letter(response, gold.choices, options, self.several)


def mmlu_pro_letter(response: str) -> str | None:
    """The letter that the MMLU-Pro leaderboard takes from a response.

    The *first* "answer is (X)"; without one, the last "Answer: X" of the first line that has one; without that, the last
    capital letter that is a word. The leaderboard's published predictions follow these steps, and so share their errors:
    "20 A" answers A.

    Source: `evaluate_from_api.py` of TIGER-AI-Lab/MMLU-Pro.

    >>> mmlu_pro_letter("The answer is (C).")
    'C'
    >>> mmlu_pro_letter("The current is 20 A.")
    'A'
    """
    if found := _STEPS[0].search(response):
        return found[1]
    if several := list(_STEPS[1].finditer(response)):
        line_end = response.find("\n", several[0].start())
        in_line = [one for one in several if line_end < 0 or one.start() < line_end]
        return in_line[-1][1]
    letters = _LAST.findall(response)
    return str(letters[-1]) if letters else None
