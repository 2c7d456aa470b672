"""Chains: a context transformer followed by a reader is one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from context_bench.protocols import System
from context_bench.store.encoding import isolate

_OF_A_CALL = ("usage", "latency", "system_latency")
"""What a step says of its own call, and no later step sees."""


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
        self.latency_headers = [name for step in self.steps for name in getattr(step, "latency_headers", None) or ()]

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the merged outputs of all steps, with the seconds of all, and of those before the last.

        A step that measures its own time returns ``latency``, which counts instead of the clock.
        """
        output: dict[str, Any] = {}
        seconds: list[float] = []
        for number, step in enumerate(self.steps):
            seen = {**example, **{key: value for key, value in output.items() if key not in _OF_A_CALL}}
            started = perf_counter()
            found = step.process(isolate(seen) if number else seen)
            clock = perf_counter() - started
            if not isinstance(found, Mapping):
                raise TypeError(f"step {step.name} returned {type(found).__name__}, not a mapping")
            seconds.append(seconds_of(found.get("latency"), clock))
            output.update(found)
        if len(seconds) > 1:
            own = seconds_of(output.pop("system_latency", None), 0.0) if "system_latency" in found else 0.0
            output |= {"latency": sum(seconds), "system_latency": sum(seconds[:-1]) + own}
        return output


def seconds_of(told: object, otherwise: float) -> float:
    """Return seconds that a system tells, when they are some."""
    if isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < float("inf"):
        return float(told)
    return otherwise
