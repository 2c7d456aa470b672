"""Long-context benchmarks: cards in the manifest, the functions that make their records examples, and their own metrics.

>>> LongBench().score({"task": "passage_count", "answers": ["5"]}, {"response": "5 of 6"})
{'longbench_score': 0.5}
"""

from context_bench_long_context.infinitebench import InfiniteBench
from context_bench_long_context.longbench import LongBench

__all__ = ["InfiniteBench", "LongBench"]
