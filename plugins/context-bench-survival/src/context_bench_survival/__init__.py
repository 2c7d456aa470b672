"""What a compressor left of a context: literals that survived, were invented, or lost what they meant; no model is needed."""

from context_bench_survival.commands import command_text
from context_bench_survival.contexts import given, left
from context_bench_survival.evaluators import SelfCheckError, Survival, kept_probes
from context_bench_survival.literals import CLASSES, Literal, literals
from context_bench_survival.markers import new_references, references_in
from context_bench_survival.pairs import pair_faults
from context_bench_survival.prefix_cost import PrefixCost, unchanged_tokens
from context_bench_survival.prepared import asked_of, content_key
from context_bench_survival.probes import Probe, probes
from context_bench_survival.rereads import files_read
from context_bench_survival.self_check import SelfCheck

__all__ = [
    "CLASSES",
    "Literal",
    "PrefixCost",
    "Probe",
    "SelfCheck",
    "SelfCheckError",
    "Survival",
    "asked_of",
    "command_text",
    "content_key",
    "files_read",
    "given",
    "kept_probes",
    "left",
    "literals",
    "new_references",
    "pair_faults",
    "probes",
    "references_in",
    "unchanged_tokens",
]
