"""Needle-in-a-haystack tasks in the manner of RULER, their score, and a perfect reader."""

from __future__ import annotations

from context_bench.records import Scores
from context_bench_needle.generator import make_row, needle
from context_bench_needle.oracle import NeedleOracle
from context_bench_needle.places import LengthAndDepth
from context_bench_needle.recall import NeedleRecall
from context_bench_needle.ruler import RULER_TASK_NAMES, RULER_TASKS, RulerTask
from context_bench_needle.tasks import RULER_NAMES, TASKS, Task
from context_bench_needle.tokens import count_tokens

__all__ = [
    "RULER_NAMES",
    "RULER_TASKS",
    "RULER_TASK_NAMES",
    "TASKS",
    "LengthAndDepth",
    "NeedleOracle",
    "NeedleRecall",
    "RulerTask",
    "Scores",
    "Task",
    "count_tokens",
    "make_row",
    "needle",
]
