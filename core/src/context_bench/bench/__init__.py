"""The bench: the only place that wires the parts together."""

from context_bench.bench.api import evaluate

__all__ = ["evaluate"]
