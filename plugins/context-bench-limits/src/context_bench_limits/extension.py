"""The extension that learns the limits of every endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench.hookspecs import hookimpl
from context_bench_limits.rates import Rates


@frozen
class LearnedLimits:
    """Learns how many requests and tokens each endpoint allows, in whatever windows it counts them."""

    @hookimpl
    def rate_limiter(
        self,
        endpoint: str,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        learned: Mapping[str, Any],
    ) -> Rates:
        """Return a rate limiter that starts with the limits of the user, and with what an earlier session learned."""
        return Rates(
            requests_per_minute, tokens_per_minute, learned, is_first_gentle=bool(endpoint)
        )
