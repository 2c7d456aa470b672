"""RULER's tasks beside retrieval: what they have in common, and how they differ.

Hsieh et al. 2024, "RULER: What's the Real Context Size of Your Long-Context Language Models?", arXiv:2404.06654, section 3 and
appendix B; numbers of chains, hops, words and repetitions are those of its thirteen tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

MOST_CHAINS = 90_000
"""Chains of variables in a context: each has a number of five digits of its own."""


@dataclass(frozen=True)
class RulerTask:
    """One of them.

    ``builder`` is ``module:suffix`` of the functions ``build`` and ``least``. ``match`` says whether a response needs ``all`` the
    needles or ``part`` of them, one being enough: RULER's ``string_match_all`` and ``string_match_part``.
    """

    name: str
    builder: str
    haystack: str
    has_places: bool = True
    chains: int = 1
    hops: int = 0
    match: str = "all"

    def __post_init__(self) -> None:
        if self.chains < 1 or self.hops < 0:
            raise ValueError(
                f"needle: chains is {self.chains} and hops is {self.hops}; give at least 1 and 0."
            )
        if self.chains > MOST_CHAINS:
            raise ValueError(
                f"needle: chains is {self.chains}, and there are {MOST_CHAINS} numbers of five digits."
            )
        if self.builder == "documents" and self.hops not in (1, 2):
            raise ValueError(
                f"needle: hops is {self.hops}, and a question goes over 1 or 2 documents."
            )

    @property
    def shape(self) -> str:
        """All that makes the task, in short, as it stands in the ids of rows."""
        return f"c{self.chains}h{self.hops}-{self.haystack}"

    @property
    def asked(self) -> int:
        """How many needles have a place."""
        return {"tracking": self.hops + 1, "documents": self.hops}.get(self.builder, 0)

    def least(self) -> int:
        """Return the tokens of the shortest context."""
        return int(self._function("least")(self))

    def build(self, length: int, place: Place, dice: Any) -> Drawn:
        """Return a drawn row."""
        drawn: Drawn = self._function("build")(self, length, place, dice)
        return drawn

    def _function(self, name: str) -> Any:
        module, _, suffix = self.builder.partition(":")
        return getattr(
            import_module(f"context_bench_needle.{module}"), f"{name}_{suffix}" if suffix else name
        )


@dataclass(frozen=True)
class Place:
    """Where the needles shall stand: ``depth`` in percent, or None for drawn places."""

    depth: float | None


@dataclass(frozen=True)
class Drawn:
    """What was drawn for a row: texts, the needles that are asked for, what they are asked by, and their depths."""

    context: str
    question: str
    needles: list[str]
    keys: list[str]
    depths: list[float]


RULER_TASKS: dict[str, RulerTask] = {
    task.name: task
    for task in (
        RulerTask("variable-tracking", "tracking", "noise", hops=4),
        RulerTask("common-words", "counting:common", "list", has_places=False),
        RulerTask("frequent-words", "counting:frequent", "coded", has_places=False),
        RulerTask("qa", "documents", "documents", hops=1, match="part"),
        RulerTask("qa-two-hops", "documents", "documents", hops=2, match="part"),
    )
}
"""Five tasks by name."""

RULER_TASK_NAMES = {
    "vt": "variable-tracking",
    "cwe": "common-words",
    "fwe": "frequent-words",
    "qa_1": "qa",
    "qa_2": "qa-two-hops",
}
"""Their names in RULER."""

READERS = ("tracking", "counting", "documents")
"""Modules whose ``read`` answers their questions."""
