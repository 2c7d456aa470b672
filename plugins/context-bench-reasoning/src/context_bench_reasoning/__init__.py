"""Reasoning benchmarks: cards in the manifest, the functions that make their records examples, and two evaluators.

>>> DropF1().score({"answers": ["3"]}, {"response": "three"})
{'drop_f1': 1.0, 'drop_em': 1.0}
"""

from context_bench_reasoning.drop import DropF1
from context_bench_reasoning.final_number import FinalNumber

__all__ = ["DropF1", "FinalNumber"]
