"""What needs no deepeval: options, and the fields that a row fills."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_deepeval import DeepEvalMetric
from context_bench_deepeval.metrics import METRICS
from context_bench_deepeval.row import fields_of

ROW = {"question": "Who?", "answer": ["Ann", "Anna"], "contexts": [{"text": "Ann did."}, " "]}


def test_fields_of_a_row() -> None:
    assert fields_of(ROW, {"response": "It was Ann."}) == {
        "input": "Who?",
        "actual_output": "It was Ann.",
        "expected_output": "Ann",
        "retrieval_context": ["Ann did."],
        "context": ["Ann did."],
    }


def test_texts_that_the_system_returns_come_before_those_of_the_example() -> None:
    fields = fields_of(ROW, {"response": "Ann", "context": "I found Ann."})
    assert fields["retrieval_context"] == ["I found Ann."]
    assert fields["context"] == ["Ann did."]


@pytest.mark.parametrize(
    ("metric", "original", "processed", "reason"),
    [
        ("bias", {}, {"response": "a"}, "no question"),
        ("bias", {"question": "?"}, {}, "no text"),
        ("faithfulness", {"question": "?"}, {"response": "a"}, "retrieved_contexts"),
        ("hallucination", {"question": "?"}, {"response": "a", "context": "b"}, "the example has"),
        ("exact_match", {"question": "?"}, {"response": "a"}, "no reference"),
    ],
)
def test_row_that_lacks_a_field_is_unscored(
    metric: str, original: dict[str, Any], processed: dict[str, Any], reason: str
) -> None:
    scores = DeepEvalMetric(metric, base_url="http://127.0.0.1:9").score(original, processed)
    assert scores == {}
    assert reason in scores.details["unscored"]


def test_parameters_of_g_eval_are_needed() -> None:
    evaluator = DeepEvalMetric("g_eval", args=['evaluation_params=["expected_output"]'])
    scores = evaluator.score({"question": "?"}, {"response": "a"})
    assert scores.details["unscored"] == "the example has no reference"


def test_keys_and_wrong_options() -> None:
    assert {DeepEvalMetric(name).primary for name in METRICS} == {
        f"deepeval_{name}" for name in METRICS
    }
    with pytest.raises(ConfigurationError, match="Unknown metric 'dag'"):
        DeepEvalMetric("dag")
    with pytest.raises(ConfigurationError, match="NAME=VALUE"):
        DeepEvalMetric(args=["strict_mode"])
    with pytest.raises(ConfigurationError, match="cannot set model"):
        DeepEvalMetric(args=["model=gpt-4"])
