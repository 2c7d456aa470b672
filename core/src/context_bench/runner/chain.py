"""Chains: a context transformer followed by a reader is one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.protocols import System
from context_bench.store.encoding import isolate


class Chain:
    """Systems in a row: each sees the example with what the earlier ones returned laid over it.

    The output holds what every step returned, later steps winning; so a compressor's ``context`` and its reader's
    ``response`` stand side by side, and evaluators see both.

    Args:
        steps: The systems, in order.
        name: Name of the whole.
    """

    def __init__(self, steps: Sequence[System], name: str | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name or "+".join(step.name for step in self.steps)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the merged outputs of all steps."""
        output: dict[str, Any] = {}
        for number, step in enumerate(self.steps):
            seen = {**example, **{key: value for key, value in output.items() if key != "usage"}}
            found = step.process(isolate(seen) if number else seen)
            if not isinstance(found, Mapping):
                raise TypeError(f"step {step.name} returned {type(found).__name__}, not a mapping")
            output.update(found)
        return output
