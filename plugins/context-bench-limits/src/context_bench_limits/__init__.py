"""Limits: how many requests and tokens an endpoint allows is learned from what it refuses, and from what its headers say."""

from context_bench_limits.extension import LearnedLimits

__all__ = ["LearnedLimits"]
