"""The pacer: the run part that has the rates of every endpoint learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench_limits.rates import Rates


@frozen
class LearnedLimits:
    """Learns how many requests and tokens each endpoint allows, in whatever windows it counts them."""

    name = "limits"

    def rates(
        self,
        endpoint: str,
        requests: float | None,
        tokens: float | None,
        learned: Mapping[str, Any],
    ) -> Rates:
        """Return the rates of an endpoint, with what the user knows of a minute and what was learned in an earlier session."""
        return Rates(requests, tokens, learned)
