"""Matched controls: what deletion at random, and three other ways of not thinking, keep at the tokens that a compressor kept."""

from context_bench_controls.choosing import NAMES, chosen, share
from context_bench_controls.measuring import Held, held, held_rows
from context_bench_controls.units import Region, Unit, region_of

__all__ = ["NAMES", "Held", "Region", "Unit", "chosen", "held", "held_rows", "region_of", "share"]
