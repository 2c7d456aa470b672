"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from context_bench.catalog import open_catalog

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)

README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-math" / "README.md"


class TestPackage(suites.PackageSuite):
    distribution = "context-bench-math"
    readme = README


class TestMathEquivalence(suites.EvaluatorSuite):
    component = "math"


def test_it_is_wired_to_its_benchmarks():
    manifest = open_catalog((), {}).find("evaluators", "math").manifest
    assert [rule.datasets or rule.tags for rule in manifest.wire] == [
        ("math", "gsm8k", "mgsm"),
        ("math",),
    ]


def test_the_tables_of_the_readme_are_true(score):
    equal, different = _columns("| equal | not equal |")
    assert len(equal) > 20
    assert len(different) >= 15
    assert [pair for pair in equal if score(*pair) != 1.0] == []
    assert [pair for pair in different if score(*pair) != 0.0] == []


def _columns(header):
    """The pairs that the two columns of the table give: neighbours around `=` and around "and"."""
    rows = README.read_text(encoding="utf-8").split(header)[1].split("\n\n")[0].splitlines()[2:]
    pairs = [[], []]
    for row in rows:
        for column, cell in enumerate(row.strip("| ").split(" | ")):
            for group in cell.split("; "):
                for link in ("` = `", "` and `", "` for the reference `"):
                    parts = group.split(link)
                    pairs[column] += [
                        (b.split("`")[0], a.rpartition("`")[2]) for a, b in pairwise(parts)
                    ]
    return pairs
