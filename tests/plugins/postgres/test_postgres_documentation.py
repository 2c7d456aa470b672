"""The package as a whole keeps its word: manifest, entry points, exports and docstrings."""

from __future__ import annotations

import pytest

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)


class TestPostgres(suites.PackageSuite):
    distribution = "context-bench-postgres"
