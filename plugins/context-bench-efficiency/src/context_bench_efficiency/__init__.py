"""Efficiency metrics: tokens saved, tokens for a passing row, latency, waiting, time to the first token."""

from context_bench_efficiency.compression import CompressionRatio, PromptTokens, TrueCompression
from context_bench_efficiency.cost_of_pass import CostOfPass
from context_bench_efficiency.timing import Latency, TimeToFirstToken, Waiting

__all__ = [
    "CompressionRatio",
    "CostOfPass",
    "Latency",
    "PromptTokens",
    "TimeToFirstToken",
    "TrueCompression",
    "Waiting",
]
