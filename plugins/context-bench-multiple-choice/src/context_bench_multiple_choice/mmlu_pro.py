"""The extraction of the MMLU-Pro leaderboard, for whoever has to reproduce its numbers."""

from __future__ import annotations

import re

_STEPS = (
    re.compile(r"answer is \(?([A-J])\)?"),
    re.compile(r"[aA]nswer:\s*([A-J])"),
)
_LAST = re.compile(r"\b[A-J]\b")


def mmlu_pro_letter(response: str) -> str | None:
    """The letter that the MMLU-Pro leaderboard takes from a response.

    The *first* "answer is (X)"; without one, the last "Answer: X"; without that, the last capital letter that is a word. The
    leaderboard's published predictions follow these steps, and so share their errors: "20 A" answers A.

    Source: `evaluate_from_api.py` of TIGER-AI-Lab/MMLU-Pro.

    >>> mmlu_pro_letter("The answer is (C).")
    'C'
    >>> mmlu_pro_letter("The current is 20 A.")
    'A'
    """
    if found := _STEPS[0].search(response):
        return found[1]
    if several := _STEPS[1].findall(response):
        return str(several[-1])
    letters = _LAST.findall(response)
    return str(letters[-1]) if letters else None
