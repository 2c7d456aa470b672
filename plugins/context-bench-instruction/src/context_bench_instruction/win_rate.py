"""AlpacaEval's win rate: how often a judge prefers the response to the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class AlpacaWinRate:
    """The preference for a response over the reference: 1 a win, 0 a loss, one half a draw, or the weight between.

    The preference is asked of a judge, which sees both orders, or read from the output where somebody recorded it, as AlpacaEval
    writes it: from 1 (the reference) to 2 (the response), with 0 for a draw. The mean over the rows is the win rate (Li et al.
    2023, AlpacaEval; Dubois et al. 2024, "Length-Controlled AlpacaEval").

    Score keys: ``alpaca_win_rate``.

    Args:
        base_url: Address of the judge's server; None reads recorded preferences only.
        model: Model that judges.
        api_key: Bearer token of the judge's server.
        timeout: Seconds for one attempt.
        provider: Interface of the judge's server: ``openai`` or ``anthropic``.
        cache: File that stores the judge's replies.
    """

    name = "alpaca_eval"

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "gpt-4",
        api_key: str | None = None,
        timeout: float = 60.0,
        provider: str = "openai",
        cache: str | None = None,
    ) -> None:
        self._judge: Any = None
        self.model = model if base_url else None
        if base_url:
            from context_bench_judge import LLMJudge

            self._judge = LLMJudge(
                base_url,
                model,
                api_key,
                timeout,
                compare_with="answer",
                provider=provider,
                cache=cache,
            )

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``question`` and the reference as ``answer``.
            processed: The output: ``response``, and ``preference`` where it was recorded.

        Returns:
            ``{"alpaca_win_rate": 0.0 to 1.0}``, or ``{}`` without a preference and a judge.
        """
        recorded = won(processed.get("preference"))
        if recorded is not None:
            return {"alpaca_win_rate": recorded}
        if self._judge is None:
            return {}
        found = dict(self._judge.score(original, processed))
        return {"alpaca_win_rate": found["judge_score"]} if "judge_score" in found else {}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {} if self._judge is None else {"judge": self._judge.fingerprint()}


def won(preference: Any) -> float | None:
    """Return how far a recorded preference is for the response; None where it is none.

    >>> [won(value) for value in (1, 2, 0, 1.25, None)]
    [0.0, 1.0, 0.5, 0.25, None]
    """
    if (
        isinstance(preference, bool)
        or not isinstance(preference, int | float)
        or math.isnan(preference)
    ):
        return None
    if preference == 0:
        return 0.5
    return float(preference) - 1 if 1 <= preference <= 2 else None
