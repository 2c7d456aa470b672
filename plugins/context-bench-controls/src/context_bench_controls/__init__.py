"""Matched controls: what deletion at random, and three other ways of not thinking, keep at the tokens that a compressor kept."""

from context_bench_controls.choosing import NAMES, chosen, share
from context_bench_controls.measuring import Held, held, held_rows
from context_bench_controls.stored import Controls, controlled
from context_bench_controls.units import Region, Unit, kept_messages, region_of

__all__ = [
    "NAMES",
    "Controls",
    "Held",
    "Region",
    "Unit",
    "chosen",
    "controlled",
    "held",
    "held_rows",
    "kept_messages",
    "region_of",
    "share",
]
