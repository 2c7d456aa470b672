"""`ours.py` for counting instructions: time ends no group of rows, as valgrind makes everything fifty times as slow."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import ours
from load import measure

FOR_EVER = 1e9

if __name__ == "__main__":
    for name in (
        "context_bench.run.loop",
        "context_bench.run.loop",
    ):  # as it was called before, and is now
        with suppress(ImportError):
            vars(import_module(name)).update(_LONGEST_WAIT=FOR_EVER, CHEAP=FOR_EVER)
    measure(ours.run)
