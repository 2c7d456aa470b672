"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from context_bench.catalog import open_catalog
from context_bench_ifeval import INSTRUCTIONS, IFEvalChecker

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)

README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-ifeval" / "README.md"


class TestIFEvalChecker(suites.EvaluatorSuite):
    component = "ifeval"


def test_it_is_wired_to_its_benchmark():
    manifest = open_catalog((), {}).find("evaluators", "ifeval").manifest
    assert [rule.datasets for rule in manifest.wire] == [("ifeval",)]


def test_every_choice_of_an_option_can_be_made():
    options = open_catalog((), {}).find("evaluators", "ifeval").manifest.options
    for choice in options["loose"].choices:
        assert IFEvalChecker(loose=choice).fingerprint() == {"loose": choice}


def test_the_readme_lists_the_25_instructions():
    listed = re.findall(r"^\| `(\w+:\w+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == list(INSTRUCTIONS)
