"""Matched controls: what deletion at random, and three other ways of not thinking, keep at the tokens that a compressor kept.

Names are imported when they are asked for: a module of this package stands below the table of every run, and takes no time there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "choosing": ("NAMES", "chosen", "share"),
    "measuring": ("Held", "held", "held_rows"),
    "stored": ("Controls", "controlled"),
    "units": ("Region", "Unit", "kept_messages", "region_of"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
