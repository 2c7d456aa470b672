"""The dataset ``tau-bench-sessions``: recorded sessions that this package contains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from context_bench_sessions import sessions

_FILE = Path(__file__).with_name("sessions") / "tau-bench.gpt-4o-airline.jsonl.gz"
_CUTS = (0.5, 0.8, "last")


def tau_bench_sessions(
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    cuts: Sequence[object] = _CUTS,
    tail: float = 0.15,
    min_tokens: int = 500,
) -> Iterator[dict[str, Any]]:
    """Return an example for each cut of each of the eight sessions.

    Args:
        limit: At most so many examples.
        config: There are no configurations.
        split: There are no splits.
        cuts: Shares of a session's tokens at which it is held, and ``"last"``.
        tail: Share of the prefix's tokens that stays untouched at its end.
        min_tokens: Tokens that the region must have; cuts with fewer are left out.

    Raises:
        ConfigurationError: An option makes no sense.
    """
    return sessions(str(_FILE), limit, config, split, cuts=cuts, tail=tail, min_tokens=min_tokens)
