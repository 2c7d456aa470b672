"""Tasks for agents as a dataset: generated from a seed, or read from own folders."""

from context_bench_tasks.checks import Check, digest_of
from context_bench_tasks.hunt import evidence_hunt
from context_bench_tasks.hunt_reader import HuntReader, Read, Write
from context_bench_tasks.loader import tasks

__all__ = ["Check", "HuntReader", "Read", "Write", "digest_of", "evidence_hunt", "tasks"]
