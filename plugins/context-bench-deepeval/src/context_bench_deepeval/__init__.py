"""Metrics of deepeval as an evaluator, asked through the judge of context-bench.

deepeval is imported with the first use, with its telemetry off.

>>> DeepEvalMetric("faithfulness").score_keys
('deepeval_faithfulness',)
"""

from context_bench_deepeval.evaluator import DeepEvalMetric

__all__ = ["DeepEvalMetric"]
