"""What a compressor left of a context: literals that survived, were invented, or lost what they meant; no model is needed."""

from context_bench_survival.evaluators import Survival, asked_of, given, invented, kept_probes, left, pair_faults
from context_bench_survival.literals import CLASSES, Literal, literals
from context_bench_survival.probes import Probe, probes
from context_bench_survival.self_check import SelfCheck

__all__ = [
    "CLASSES",
    "Literal",
    "Probe",
    "SelfCheck",
    "Survival",
    "asked_of",
    "given",
    "invented",
    "kept_probes",
    "left",
    "literals",
    "pair_faults",
    "probes",
]
