"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

import pytest

from context_bench.catalog import open_catalog

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)


class TestBBHExactMatch(suites.EvaluatorSuite):
    component = "bbh-exact-match"
    expected = (({"answer": "1"}, {"response": "1"}, {"bbh_exact_match": 1.0}),)


def test_it_is_wired_to_its_benchmark():
    manifest = open_catalog((), {}).find("evaluators", "bbh-exact-match").manifest
    assert [rule.datasets for rule in manifest.wire] == [("bbh",)]
