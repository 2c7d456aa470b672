"""What needs no `evaluate`: options, score keys, and the forms in which metrics take texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench.records import EvalRow, Failure
from context_bench_hf_evaluate import HFEvaluate, HFEvaluateCorpus
from context_bench_hf_evaluate.inputs import (
    Form,
    form_for,
    forms_of,
    prediction_in,
    references_in,
)
from context_bench_hf_evaluate.source import MetricSource

TEXT = SimpleNamespace(dtype="string")
TEXTS = SimpleNamespace(feature=TEXT)
NUMBER = SimpleNamespace(dtype="int32")
ONE = {"predictions": TEXT, "references": TEXT}
SEVERAL = {"predictions": TEXT, "references": TEXTS}


@pytest.mark.parametrize(
    ("features", "forms"),
    [
        (ONE, [Form.ONE]),
        ([SEVERAL, ONE], [Form.SEVERAL, Form.ONE]),
        ({"predictions": {"id": TEXT, "prediction_text": TEXT}, "references": {}}, [Form.SQUAD]),
        ({"predictions": NUMBER, "references": NUMBER}, []),
        ({**ONE, "sources": TEXT}, []),
        ({"predictions": TEXTS, "references": TEXTS}, []),
    ],
)
def test_forms_of_declared_features(features: Any, forms: list[Form]) -> None:
    assert forms_of(features) == forms


@pytest.mark.parametrize(
    ("forms", "counts", "form"),
    [
        ([Form.SEVERAL, Form.ONE], [1, 1], Form.ONE),
        ([Form.SEVERAL, Form.ONE], [1, 2], Form.SEVERAL),
        ([Form.SEVERAL], [1], Form.SEVERAL),
        ([Form.ONE], [2], Form.ONE),
    ],
)
def test_form_for_the_number_of_references(
    forms: list[Form], counts: list[int], form: Form
) -> None:
    assert form_for(forms, counts) is form


def test_texts_in_each_form() -> None:
    assert references_in(Form.ONE, ["a", "b"], 3) == "a"
    assert references_in(Form.SEVERAL, ["a", "b"], 3) == ["a", "b"]
    answers = {"text": ["a"], "answer_start": [0]}
    assert references_in(Form.SQUAD_V2, ["a"], 3) == {"id": "3", "answers": answers}
    assert prediction_in(Form.SQUAD, "a", 3) == {"id": "3", "prediction_text": "a"}


@pytest.mark.parametrize(
    ("metric", "place", "name"),
    [
        ("rouge", "evaluate-metric/rouge", "rouge"),
        ("someone/rouge", "someone/rouge", "rouge"),
        ("/metrics/rouge", "/metrics/rouge", "rouge"),
        ("/metrics/rouge/rouge.py", "/metrics/rouge/rouge.py", "rouge"),
    ],
)
def test_metric_by_name_or_path(metric: str, place: str, name: str) -> None:
    source = MetricSource(metric)
    assert (source.place, source.name) == (place, name)


def test_score_keys_by_metric() -> None:
    assert HFEvaluate("squad").score_keys == ("hf_squad_f1", "hf_squad_exact_match")
    assert HFEvaluate("wer").primary == "hf_wer"
    assert HFEvaluate("someone/mine").score_keys == ("hf_score",)
    assert HFEvaluate("mine", better="lower").primary == "hf_error"
    assert HFEvaluate("rouge", key="rouge1").score_keys == ("hf_score",)


def test_wrong_options() -> None:
    with pytest.raises(ConfigurationError, match="higher or lower"):
        HFEvaluate(better="more")
    with pytest.raises(ConfigurationError, match="NAME=VALUE"):
        HFEvaluateCorpus(args=["ignore_case"])


def test_row_without_reference_or_response_is_unscored() -> None:
    assert HFEvaluate().score({}, {"response": "a"}) == {}
    assert HFEvaluate().score({"answer": "a"}, {}) == {}


def test_corpus_with_a_failed_row_has_no_number() -> None:
    scored = EvalRow(
        "a", "1", {"hf_bleu": 1.0}, response="x", details={"e": {"hf_references": ["x"]}}
    )
    for failure in (
        Failure("system", "TimeoutError", ""),
        Failure("evaluator", "E", "", "hf_bleu"),
    ):
        failed = EvalRow("a", "2", {}, response="x", errors=(failure,))
        assert HFEvaluateCorpus("bleu").compute([scored, failed]) == {}
    assert HFEvaluateCorpus("bleu").compute([]) == {}
