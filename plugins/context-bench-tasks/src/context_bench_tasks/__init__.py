"""Tasks for agents as a dataset: generated from a seed, or read from own folders."""

from context_bench_tasks.bug_hunt import BugReader, bug_hunt
from context_bench_tasks.checks import (
    PYTEST,
    REWARD,
    STATUS,
    Check,
    CommandCheck,
    HiddenTest,
    digest_of,
)
from context_bench_tasks.hunt import evidence_hunt
from context_bench_tasks.hunt_reader import HuntReader
from context_bench_tasks.loader import tasks
from context_bench_tasks.refactor import RefactorReader, long_refactor
from context_bench_tasks.steps import Read, Write

READERS = (HuntReader, BugReader, RefactorReader)
"""What reads each generated task as a perfect reader without a memory would."""

__all__ = [
    "PYTEST",
    "READERS",
    "REWARD",
    "STATUS",
    "BugReader",
    "Check",
    "CommandCheck",
    "HiddenTest",
    "HuntReader",
    "Read",
    "RefactorReader",
    "Write",
    "bug_hunt",
    "digest_of",
    "evidence_hunt",
    "long_refactor",
    "tasks",
]
