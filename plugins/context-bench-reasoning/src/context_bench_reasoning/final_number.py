"""The final number of a solution, as GSM8K's authors compare it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_NUMBER = re.compile(r"-?\$?\s?-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
_LONGEST = 400


class FinalNumber:
    """1.0 where the last number of a response is the reference, else 0.0.

    A response with ``####`` counts by the number behind its last one, as the solutions of GSM8K are written (Cobbe et al. 2021,
    "Training Verifiers to Solve Math Word Problems"). Thousands separators, a dollar sign and zeros at the end do not count.

    Score keys: ``final_number``. Details: ``extracted``.

    >>> FinalNumber().score({"answer": "1200"}, {"response": "So they paid $1,200.00 in all."})
    {'final_number': 1.0}
    """

    name = "final_number"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``answer`` or ``answers``.
            processed: The output: ``response``.

        Returns:
            ``{"final_number": 0.0 or 1.0}``, or ``{}`` where the reference is no number or there is no response.
        """
        response = processed.get("response")
        answers = original.get("answers") or [original.get("answer")]
        wanted = {number for number in map(_value, answers) if number is not None}
        if not isinstance(response, str) or not wanted:
            return {}
        return {"final_number": float(_final(response) in wanted)}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _final(response: str) -> Decimal | None:
    _, mark, behind = response.rpartition("####")
    if mark and (found := _NUMBER.search(behind)):
        return _value(found[0])
    numbers = _NUMBER.findall(response)
    return _value(numbers[-1]) if numbers else None


def _value(text: Any) -> Decimal | None:
    """Return a number in one spelling; None for anything else."""
    bare = re.sub(r"[$,\s]", "", str(text))
    if not bare or len(bare) > _LONGEST or isinstance(text, bool):
        return None
    try:
        number = Decimal(bare.rstrip("."))
    except InvalidOperation:
        return None
    return number.normalize() if number.is_finite() else None
