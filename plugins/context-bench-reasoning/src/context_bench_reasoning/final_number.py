"""The final number of a solution, as GSM8K's authors compare it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, gold, read_reply
from context_bench.records import Scores

_NUMBER = re.compile(
    r"""
    (?<![\^_])(?<!\^\{)                                         # 50 m^2 ends with 50
    (?:(?<![\w)\]}])-)?(?:\\?[$€£¥]\s?)?(?:(?<=[$€£¥])-)?       # the hyphen of 10-15 is no minus
    (?:\d{1,3}(?:\.\d{3}){2,}(?!\d)(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+    # 1.234.567 and 1.234,50
      |\d{1,3}(?:[ \xa0\u2009\u202f]\d{3})+(?![\d.,]\d)|\d[\d,]*(?:\.\d+)?|\.\d+)
    (?:[eE][-+]?\d{1,4}(?!\w)|\s?(?:\\times|\\cdot|[×*x])\s?10\s?\^\s?\{?-?\d{1,4}\}?)?
    """,
    re.VERBOSE,
)
_MARK = re.compile(r"####[\s*]*(?!\d+[.)]\s+[A-Za-z])")  # "#### 2. Multiply" is a heading
_POWER_OF_TEN = re.compile(r"\s?(?:\\times|\\cdot|[×*x])\s?10\s?\^\s?\{?(-?\d+)\}?")
_DECIMAL_COMMA = re.compile(r"(-?(?:\d+|\d{1,3}(?:\.\d{3})+)),(\d{1,2}|\d{4,}|(?<=\.\d{3},)\d+)")
_POINT_GROUPS = re.compile(r"-?\d{1,3}(?:\.\d{3}){2,}")
_LONGEST = 400


class FinalNumber:
    """1.0 where the last number of a response is the reference, else 0.0.

    A response with ``####`` before a number counts by the first one, as in the authors' ``extract_answer`` (Cobbe et al. 2021,
    "Training Verifiers to Solve Math Word Problems"): a model that goes on writes the answers to other questions. Thousands
    separators, a currency sign and zeros at the end do not count; ``2,5`` is two and a half, and the hyphen of ``10-15`` and
    the exponent of ``m^2`` are parts of no number, nor is a bullet a minus. A number that the reply quotes counts only where it
    has no other.

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
        found, response = gold(original), answer_of(processed)
        wanted = {number for number in map(_value, found.texts) if number is not None}
        if not wanted or response is None:
            reason = NO_ANSWER if wanted else found.reason or "the example's answer is no number"
            return Scores({}, {"unscored": reason})
        reply = read_reply(response, hashes=True)
        number = reply.first(_final, lambda found: found is not None)
        extracted = "" if number is None else format(number, "g")
        return Scores({"final_number": float(number in wanted)}, {"extracted": extracted})

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _final(response: str) -> Decimal | None:
    response = re.sub(r"[−–﹣－]", "-", response).replace("{,}", ",").replace("\\,", "\u2009")
    marked = (_NUMBER.match(response, mark.end()) for mark in _MARK.finditer(response))
    if first := next(filter(None, marked), None):
        return _value(first[0])
    numbers = _NUMBER.findall(response)
    return _value(numbers[-1]) if numbers else None


def _value(text: str) -> Decimal | None:
    """Return a number in one spelling; None for anything else."""
    bare = re.sub(r"[\\$€£¥\s]", "", _POWER_OF_TEN.sub(r"e\1", text))
    if not bare or len(bare) > _LONGEST:
        return None
    if comma := _DECIMAL_COMMA.fullmatch(bare):
        bare = f"{comma[1].replace('.', '')}.{comma[2]}"
    elif _POINT_GROUPS.fullmatch(bare):
        bare = bare.replace(".", "")
    try:
        number = Decimal(bare.replace(",", "").rstrip("."))
    except InvalidOperation:
        return None
    return number.normalize() if number.is_finite() else None
