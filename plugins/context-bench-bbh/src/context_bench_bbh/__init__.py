"""The exact match of BIG-Bench Hard."""

from context_bench_bbh.exact_match import BBHExactMatch, Scores

__all__ = ["BBHExactMatch", "Scores"]
