"""Named suites: a fixed request with a fixed report, read from TOML files of packages or of a folder.

>>> from context_bench_suites import find_suite
>>> find_suite("compressor-offline").run["evaluators"]
['needle-recall', 'survival']
"""

from __future__ import annotations

from context_bench_suites.recorded_sessions import tau_bench_sessions
from context_bench_suites.stamp import Stamp
from context_bench_suites.suite_file import Column, Suite, read_suite
from context_bench_suites.suite_folders import find_suite, find_suites

__all__ = [
    "Column",
    "Stamp",
    "Suite",
    "find_suite",
    "find_suites",
    "read_suite",
    "tau_bench_sessions",
]
