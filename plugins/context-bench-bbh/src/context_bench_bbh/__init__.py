"""The exact match of BIG-Bench Hard."""

from context_bench.records import Scores
from context_bench_bbh.exact_match import BBHExactMatch

__all__ = ["BBHExactMatch", "Scores"]
