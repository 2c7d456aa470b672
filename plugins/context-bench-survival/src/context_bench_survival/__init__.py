"""What a compressor left of a context: literals that survived, were invented, or lost what they meant; no model is needed."""

from context_bench_survival.evaluators import Survival, invented, pair_faults
from context_bench_survival.literals import CLASSES, Literal, literals
from context_bench_survival.probes import Probe, probes

__all__ = ["CLASSES", "Literal", "Probe", "Survival", "invented", "literals", "pair_faults", "probes"]
