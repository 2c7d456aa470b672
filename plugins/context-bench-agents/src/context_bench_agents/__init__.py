"""Agent benchmarks: cards in the manifest, the functions that make their records examples, and BFCL's match of calls.

>>> example = {"ground_truth": [{"area": {"base": [10], "unit": ["cm", ""]}}]}
>>> BFCLMatch().score(example, {"response": "[area(base=10)]"})
{'bfcl_ast': 1.0}
"""

from context_bench_agents.bfcl import BFCLMatch

__all__ = ["BFCLMatch"]
