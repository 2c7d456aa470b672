"""Whether two texts are the same."""

from __future__ import annotations

from context_bench_scorers import Category, Scorer, ScoreResult
from context_bench_scorers.batches import need_references
from context_bench_scorers_text.parity import is_arthur

MATCH = Category("match", "candidate and reference are the same")
NON_MATCH = Category("non match", "candidate and reference differ")


class ExactMatch(Scorer):
    """1.0 where the candidate is the reference, else 0.0; nothing is trimmed.

    >>> [result.score for result in ExactMatch(case_sensitive=False).run(["Abc"], ["abc"])]
    [1.0]

    Args:
        case_sensitive: Whether case counts.
        parity: ``"arthur"`` turns the flag round, as the predecessor did: its default ignored case.
    """

    def __init__(self, case_sensitive: bool = True, *, parity: str | None = None) -> None:
        self.case_sensitive = bool(case_sensitive)
        self.parity = parity
        self._counts_case = self.case_sensitive != is_arthur(parity)

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "exact_match"

    @staticmethod
    def is_categorical() -> bool:
        """Whether every result has a category: it has."""
        return True

    @staticmethod
    def categories() -> list[Category]:
        """Return the categories."""
        return [NON_MATCH, MATCH]

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        wanted = need_references(self.name(), reference_batch, len(candidate_batch))
        return [
            self._result(candidate, reference)
            for candidate, reference in zip(candidate_batch, wanted)
        ]

    def _result(self, candidate: str, reference: str) -> ScoreResult:
        if not self._counts_case:
            candidate, reference = candidate.lower(), reference.lower()
        return ScoreResult(1.0, MATCH) if candidate == reference else ScoreResult(0.0, NON_MATCH)
