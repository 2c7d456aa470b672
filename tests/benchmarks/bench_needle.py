"""How fast needle rows are made: microseconds for every 1,000 tokens, by haystack and length.

Run it as ``python tests/benchmarks/bench_needle.py``. It needs context-bench-needle and nothing else.
"""

from __future__ import annotations

import time

from context_bench_needle import needle

LENGTHS = (1_000, 16_000, 128_000, 1_000_000)
CONFIGS = ("single", "single-noise", "multi-key-needles", "multi-key-uuid")


def microseconds_per_1k(config: str, length: int, rounds: int = 3) -> float:
    """Return the best of some rounds, each of rows that have 128,000 tokens together or one row that has more."""
    rows = max(128_000 // length, 1)
    best = float("inf")
    for seed in range(rounds):
        start = time.perf_counter()
        for row in needle(rows, config, length=length, seed=seed):
            assert row["length"] == length
        best = min(best, time.perf_counter() - start)
    return best / (rows * length) * 1_000 * 1e6


def main() -> None:
    """Print a table."""
    print(f"{'microseconds per 1k tokens':28}" + "".join(f"{length:>12,}" for length in LENGTHS))
    for config in CONFIGS:
        print(
            f"{config:28}"
            + "".join(f"{microseconds_per_1k(config, length):12.0f}" for length in LENGTHS)
        )


if __name__ == "__main__":
    main()
