"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_bench.catalog import open_catalog
from context_bench_rouge import RougeScore, RougeType

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)


class TestPackage(suites.PackageSuite):
    distribution = "context-bench-rouge"
    readme = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-rouge" / "README.md"


class TestSummarizationQuality(suites.EvaluatorSuite):
    component = "rouge"


class TestRougeScore(suites.EvaluatorSuite):
    component = "rouge-score"


class TestTruthfulRouge(suites.EvaluatorSuite):
    component = "truthful-rouge"


def test_it_is_wired_to_summaries():
    manifest = open_catalog((), {}).find("evaluators", "rouge").manifest
    labels = ("multi-news", "dialogsum", "qmsum", "summscreenfd", "meetingbank", "govreport")
    assert [set(rule.datasets or rule.tags) for rule in manifest.wire] == [
        {*labels},
        {"summarization"},
    ]


def test_every_choice_of_an_option_can_be_made():
    options = open_catalog((), {}).find("evaluators", "rouge-score").manifest.options
    for choice in options["tokenizer"].choices:
        RougeScore(tokenizer=choice)
    assert all(rouge_type.value in options["rouge_type"].help for rouge_type in RougeType)
