"""The evaluator: whether the answer of a response equals the reference as mathematics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any, NamedTuple

from context_bench.answers import NO_ANSWER, answer_of, gold
from context_bench.errors import InconclusiveScoreError
from context_bench.records import Scores
from context_bench_math import exact, limits, wording
from context_bench_math.extraction import Extraction, extract, extract_reference
from context_bench_math.notation import without_repeating
from context_bench_math.pool import WorkerPool
from context_bench_math.reading import Reading, read

_LONGEST_FOR_ALGEBRA = 2000
_LONGEST_DETAIL = 500
_GAVE_UP = {
    "timeout": "it took longer than it may (option timeout, seconds of processor time)",
    "crash": "its process was killed, twice",
    "MemoryError": "it ran out of memory",
}
_DECISIONS = frozenset(["yes", "no", "true", "false"])
_DECIDES = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)
_POINT_GROUPS = re.compile(r"(?<![\d.])[1-9]\d{0,2}\.\d{3}(?![\d.])")
_WRITERS_OF_POINT_GROUPS = re.compile(r"\b(?:antwort|respuesta|resposta|risposta)", re.IGNORECASE)
_LANGUAGES_WITH_POINT_GROUPS = frozenset(
    ["de", "es", "it", "pt", "nl", "id", "tr", "da", "el", "ca", "hr", "ro", "sl", "vi"]
)


class Verdict(NamedTuple):
    """Whether what was extracted is right, which tier said so, and why nothing could be said where that is so."""

    equal: bool
    extracted: str
    tier: str
    undecided: str = ""


class MathEquivalence:
    """1.0 where the answer that a response concludes with equals the reference as mathematics, else 0.0.

    The answer is found by ``extract``. A cheap tier compares writings, numbers and lists of numbers exactly; what it cannot
    decide goes to math-verify (SymPy) in a worker process with a limit of processor time. What takes longer is undecided:
    an error, which the runner keeps as a failure of the row, and no 0.0. False positives are worse than misses.

    Score keys: ``math_equiv``. Details: ``extracted``, ``rule``, ``tier`` (``exact``, ``symbolic`` or ``refused``), and
    ``error`` where computer algebra could not read a text.

    Args:
        decimal_places: To how many decimal places a number with a decimal point has to agree with the reference.
        timeout: Seconds of processor time that computer algebra may spend on one comparison: many times what comparisons that
            end at all need, so that a verdict does not depend on how busy the machine is.

    Raises:
        ValueError: An option is out of range.

    >>> MathEquivalence().score({"answer": "0.5"}, {"response": r"So it is \\boxed{\\frac12}."})
    {'math_equiv': 1.0}
    """

    name = "math_equivalence"

    def __init__(self, decimal_places: int = 6, timeout: float = 5.0) -> None:
        self.decimal_places = int(_checked("decimal_places", decimal_places, int, 0, 15))
        self.timeout = float(_checked("timeout", timeout, (int, float), 0.01, 3600))
        self._pool = WorkerPool(self.timeout)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``answers`` (the best counts) or ``answer``; ``language`` tells how numbers are grouped.
            processed: The output: ``response``.

        Returns:
            ``{"math_equiv": 0.0 or 1.0}``, or ``{}`` where there is no reference or no response.

        Raises:
            InconclusiveScoreError: Computer algebra took too long, or its process was killed.
        """
        found, response = gold(original), answer_of(processed)
        if not found.texts or response is None:
            return Scores({}, {"unscored": found.reason or NO_ANSWER})
        references = [extract_reference(text) for text in found.texts]
        if response.strip() in (text.strip() for text in found.texts):
            extracted = response.strip()[:_LONGEST_DETAIL]
            return Scores(
                {"math_equiv": 1.0}, {"extracted": extracted, "rule": "identical", "tier": "exact"}
            )
        extraction = extract(response)
        verdict = _decision(references, extraction, response) or self._best(
            references, extraction, _has_point_groups(original, response, extraction)
        )
        if why := _GAVE_UP.get(verdict.undecided.partition(":")[0]):
            answer = verdict.extracted[:80]
            raise InconclusiveScoreError(
                f"Computer algebra could not say whether {answer!r} is the reference: {why}."
            )
        details: dict[str, Any] = {
            "extracted": verdict.extracted[:_LONGEST_DETAIL],
            "rule": extraction.rule,
            "tier": verdict.tier,
        }
        if verdict.undecided:
            details["error"] = verdict.undecided
        return Scores({"math_equiv": float(verdict.equal)}, details)

    def fingerprint(self) -> dict[str, Any]:
        """Everything but the texts that can change a score."""
        versions = {
            name: metadata.version(name)
            for name in ("math-verify", "latex2sympy2-extended", "sympy")
        }
        return {"decimal_places": self.decimal_places, "timeout": self.timeout, **versions}

    def __getstate__(self) -> dict[str, Any]:
        return {"decimal_places": self.decimal_places, "timeout": self.timeout}

    def __setstate__(self, options: dict[str, Any]) -> None:
        self.__init__(**options)  # type: ignore[misc]  # the workers stay behind, so a copy begins without any

    def _best(
        self, references: Sequence[str], extraction: Extraction, point_groups: bool
    ) -> Verdict:
        """The verdict on the best reference: all are tried by the cheap tier before one is by the other."""
        open_questions = []
        for text in references:
            reference = read(text, True)
            answer = _answer_for(reference, extraction)
            reading = read(answer, False, point_groups)
            verdict = _exact(text, answer, reference, reading, self.decimal_places)
            if verdict:
                return Verdict(True, answer, "exact")
            if extraction.said and exact.is_same_writing(
                reference.writing, read(extraction.said).writing
            ):
                return Verdict(True, extraction.said, "exact")
            if verdict is None:
                open_questions.append((text, answer, reference, reading))
        best = Verdict(False, extraction.answer, "exact")
        for question in open_questions:
            verdict_by_algebra = self._by_algebra(*question)
            if verdict_by_algebra.equal:
                return verdict_by_algebra
            if not best.undecided:
                best = verdict_by_algebra
        return best

    def _by_algebra(self, text: str, answer: str, reference: Reading, reading: Reading) -> Verdict:
        if not answer:
            return Verdict(False, answer, "exact")
        is_long = len(text) + len(answer) > _LONGEST_FOR_ALGEBRA
        if (
            is_long
            or limits.is_too_large(reference.writing)
            or limits.is_too_large(reading.writing)
        ):
            return Verdict(False, answer, "refused")
        outcome = self._pool.compare(
            _for_algebra(text, reference), _for_algebra(answer, reading), self.decimal_places
        )
        return Verdict(outcome.equal, answer, "symbolic", outcome.undecided)


def _exact(
    text: str, answer: str, reference: Reading, reading: Reading, places: int
) -> bool | None:
    """The verdict without computer algebra: False where only words differ, None where that takes more."""
    if not exact.is_same_writing(reference.writing, reading.writing) and wording.differ_as_text(
        text, answer
    ):
        return False
    return exact.same(reference, reading, places)


def _decision(references: Sequence[str], extraction: Extraction, response: str) -> Verdict | None:
    """The verdict where the reference is yes or no, and the response begins its answer with one of them."""
    wanted = {text.strip().strip(".").lower() for text in references}
    if not wanted <= _DECISIONS:
        return None
    said = _DECIDES.match(
        response if extraction.rule in ("bare", "last", "none") else extraction.said
    )
    return None if said is None else Verdict(said[1].lower() in wanted, said[1], "exact")


def _checked(name: str, value: Any, kind: Any, lowest: float, highest: float) -> Any:
    """The value of an option, if it is a number of that kind and in range."""
    if isinstance(value, bool) or not isinstance(value, kind) or not lowest <= value <= highest:
        wanted = "a whole number" if kind is int else "a number"
        raise ValueError(
            f"{name} of MathEquivalence must be {wanted} from {lowest:g} to {highest:g}, not {value!r}."
        )
    return value


def _for_algebra(text: str, reading: Reading) -> str:
    """The text, or the number that it was read as: math-verify reads ``1e3`` and ``2 1/2`` otherwise."""
    is_number = len(reading.numerals) == 1 and not reading.items
    return (is_number and reading.numerals[0].latex()) or without_repeating(text)


def _answer_for(reference: Reading, extraction: Extraction) -> str:
    """The answer to compare: of several boxes that may be one answer all, if the reference lists several values."""
    if len(reference.items) > 1 and len(extraction.parts) > 1:
        return ", ".join(extraction.parts)
    return extraction.answer


def _has_point_groups(original: Mapping[str, Any], response: str, extraction: Extraction) -> bool:
    """Whether points between groups of three digits may be separators: the example's language, or the response's, says so."""
    if not _POINT_GROUPS.search(extraction.answer):
        return False
    language = original.get("language")
    is_known = isinstance(language, str) and language[:2].lower() in _LANGUAGES_WITH_POINT_GROUPS
    return is_known or bool(_WRITERS_OF_POINT_GROUPS.search(response))
