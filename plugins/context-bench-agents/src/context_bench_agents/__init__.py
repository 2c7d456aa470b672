"""Agent benchmarks: their cards and examples, BFCL's match of calls, and SWE-bench's verdict.

>>> example = {"ground_truth": [{"area": {"base": [10], "unit": ["cm", ""]}}]}
>>> BFCLMatch().score(example, {"response": "[area(base=10)]"})
{'bfcl_ast': 1.0}
"""

from context_bench_agents.bfcl import BFCLMatch
from context_bench_agents.resolved import SWEBenchResolved

__all__ = ["BFCLMatch", "SWEBenchResolved"]
