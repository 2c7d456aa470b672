"""Whether a model's answer equals the reference as mathematics."""

from context_bench.records import Scores
from context_bench_math.evaluator import MathEquivalence
from context_bench_math.extraction import Extraction, extract

__all__ = ["Extraction", "MathEquivalence", "Scores", "extract"]
