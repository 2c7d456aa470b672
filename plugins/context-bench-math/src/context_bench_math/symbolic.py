"""The verdict of computer algebra, by math-verify. Runs in the worker process only: it may take forever or crash."""

from __future__ import annotations

import re
from typing import Any

from context_bench_math.notation import canonical, plain

_FACTOR_AT_END = re.compile(r"(?<=[\d}])([cdghlmost]|ab|bc)\Z")
"""A variable behind a number, which math-verify would take for a unit and drop: it reads ``5t`` as 5."""
_DIGITS = 60
_AGREEMENT = 1e-30


class Comparer:
    """Compares two texts by math-verify, whose own time limits are off: they need the main thread and its signals."""

    def __init__(self) -> None:
        import math_verify  # type: ignore[import-untyped, import-not-found, unused-ignore]

        self._math_verify = math_verify
        self._latex = (math_verify.LatexExtractionConfig(boxed_match_priority=0),)
        self._lenient = (*self._latex, math_verify.ExprExtractionConfig())

    def equal(self, reference: str, answer: str, places: int = 6) -> bool:
        """Whether an answer equals its reference.

        Both are read as LaTeX, as they are written and then in plain notation. Where neither of them can be read as it is
        written, math-verify's own fallback has the last word: it compares the last numbers that it finds in them.

        Args:
            reference: The reference, with or without ``$``.
            answer: The answer, likewise.
            places: To how many decimal places numbers have to agree.
        """
        written = self._parse(reference, self._latex), self._parse(answer, self._latex)
        if self._verify(*written, places):
            return True
        simple = [self._parse(canonical(plain(text)), self._latex) for text in (reference, answer)]
        if self._verify(simple[0], simple[1], places):
            return True
        if any(written):
            return False
        return self._verify(
            self._parse(reference, self._lenient), self._parse(answer, self._lenient), places
        )

    def _parse(self, text: str, targets: tuple[Any, ...]) -> list[Any]:
        line = " ".join(text.replace("\\$", "").replace("$", "").split())
        line = _FACTOR_AT_END.sub(r"{\1}", line)
        parsed: list[Any] = self._math_verify.parse(
            f"${line}$", targets, fallback_mode="no_fallback", parsing_timeout=None
        )
        return parsed

    def _verify(self, reference: list[Any], answer: list[Any], places: int) -> bool:
        if not reference or not answer:
            return False
        if not self._math_verify.verify(
            reference, answer, float_rounding=places, timeout_seconds=None
        ):
            return False
        return _agree_in_size(reference[0], answer[0])


def _agree_in_size(reference: Any, answer: Any) -> bool:
    """Whether two exact constants agree relative to their size.

    math-verify takes two constants for equal that differ by less than 1e-15, as ``1/2004!`` and ``1/2006!`` do, or that
    agree to so many decimal places, as the square root of 10^20 + 1 and 10^10 do.
    """
    from sympy import Expr, Float  # type: ignore[import-untyped, import-not-found, unused-ignore]

    sizes = []
    for value in (reference, answer):
        if not isinstance(value, Expr) or value.free_symbols or value.has(Float):
            return True
        size = value.doit().evalf(_DIGITS)
        if not size.is_comparable:
            return True
        sizes.append(size)
    larger = max(map(abs, sizes))
    return bool(larger == 0 or abs(sizes[0] - sizes[1]) <= _AGREEMENT * larger)
