"""Conformance checks for plugins of context-bench: a component is called, and what it does is compared
with its manifest."""

from context_bench_testing.engine import check_component
from context_bench_testing.findings import Finding, Report

__all__ = ["Finding", "Report", "check_component"]
