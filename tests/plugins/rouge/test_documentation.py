"""The manifest, the README and the docstrings say what the code does."""

from __future__ import annotations

import doctest
import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

import context_bench_rouge
from context_bench_rouge import RougeScore, RougeType, SummarizationQuality

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_rouge.__file__).parent
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-rouge" / "README.md"
ROW = {"answer": "a b"}, {"response": "a c"}


@pytest.fixture(scope="module")
def evaluators():
    return tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text(encoding="utf-8"))[
        "evaluators"
    ]


def test_the_manifest_names_exactly_the_scores_of_summarization_quality(evaluators):
    component = evaluators["rouge"]
    assert component["class"] == "SummarizationQuality"
    assert list(component["scores"]) == list(SummarizationQuality().score(*ROW))
    assert component["primary"] in component["scores"]
    assert set(component["wire"][0]["datasets"]) == {
        *("multi-news", "dialogsum", "qmsum", "summscreenfd", "meetingbank", "govreport"),
    }
    assert component["wire"][1] == {"tags": ["summarization"]}


def test_the_manifest_names_exactly_the_scores_of_rouge_score(evaluators):
    component = evaluators["rouge-score"]
    assert component["class"] == "RougeScore"
    assert list(component["scores"]) == list(RougeScore("all").score(*ROW))
    assert component["primary"] == RougeScore().primary
    assert component["wire"] == []


def test_the_manifest_declares_every_option_with_its_default(evaluators):
    options = evaluators["rouge-score"]["options"]
    assert list(options) == list(inspect.signature(RougeScore).parameters)
    defaults = {name: option.get("default") for name, option in options.items()}
    assert RougeScore(**defaults).fingerprint() == RougeScore().fingerprint()
    for choice in options["tokenizer"]["choices"]:
        RougeScore(tokenizer=choice)
    assert all(rouge_type.value in options["rouge_type"]["help"] for rouge_type in RougeType)


def test_everything_that_is_exported_exists_and_is_explained():
    for name in context_bench_rouge.__all__:
        assert getattr(context_bench_rouge, name).__doc__


@pytest.mark.parametrize("module", sorted(path.stem for path in PACKAGE.glob("[a-z]*.py")))
def test_docstring_examples_are_true(module):
    assert doctest.testmod(import_module(f"context_bench_rouge.{module}")).failed == 0


def test_readme_examples_are_true():
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted >= 12
    assert results.failed == 0
