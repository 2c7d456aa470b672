"""Names, signatures and defaults that the pages of the four source systems show."""

from __future__ import annotations

import enum
import importlib
import inspect
from typing import Any

import pytest

REQUIRED = inspect.Parameter.empty
HEDGE = "As an AI language model, I don't have personal opinions, emotions, or beliefs."
DEBERTA = "microsoft/deberta-v3-base"
BATCH = ("candidate_batch", "reference_batch", "input_text_batch", "context_batch")
RUN = {"candidate_outputs": REQUIRED, "reference_outputs": None, "inputs": None, "contexts": None}

SIGNATURES: list[tuple[str, dict[str, Any]]] = [
    # context-bench
    ("context_bench.evaluators:SummarizationQuality", {}),
    ("context_bench.evaluators.rouge:rouge_l", {"prediction": REQUIRED, "reference": REQUIRED}),
    ("context_bench.evaluators:AnswerQuality", {}),
    ("context_bench.evaluators:MultipleChoiceAccuracy", {}),
    ("context_bench.evaluators:CodeExecution", {"timeout": 10.0}),
    ("context_bench.evaluators:MathEquivalence", {}),
    ("context_bench.evaluators:NLILabelMatch", {}),
    ("context_bench.evaluators:IFEvalChecker", {}),
    ("context_bench:evaluate", {"systems": REQUIRED}),
    ("context_bench.metrics:MeanScore", {}),
    # ROUGE Score Metric
    ("context_bench_rouge:RougeScore", {"rouge_type": "ROUGE_L", "mode": "FMEASURE"}),
    # ragas summarization score
    ("context_bench_summary_score:SummarizationScore", {"length_penalty": True, "coeff": 0.5}),
    # arthur_bench.scoring
    ("context_bench_scorers.scoring_method:scorer_from_string", {"method": REQUIRED}),
    ("context_bench_scorers.scorer:Scorer.run", {**RUN, "batch_size": 1}),
    ("context_bench_scorers.scorer:Scorer.arun", {**RUN, "batch_size": 5}),
    (
        "context_bench_scorers.scorer:Scorer.run_batch",
        {BATCH[0]: REQUIRED, **dict.fromkeys(BATCH[1:])},
    ),
    (
        "context_bench_scorers.scorer:Scorer.arun_batch",
        {BATCH[0]: REQUIRED, **dict.fromkeys(BATCH[1:])},
    ),
    ("context_bench_scorers.scorer:Scorer.to_dict", {"warn": False}),
    ("context_bench_scorers.scorer:Scorer.from_dict", {"config": REQUIRED}),
    ("context_bench_scorers.scorer:Scorer.to_metadata", {}),
    ("context_bench_scorers.scorer:Scorer.type", {}),
    ("context_bench_scorers.bertscore:BERTScore", {"model_type": DEBERTA, "precision_weight": 0.1}),
    ("context_bench_scorers.exact_match:ExactMatch", {"case_sensitive": True}),
    ("context_bench_scorers.hallucination:Hallucination", {}),
    (
        "context_bench_scorers.hedging_language:HedgingLanguage",
        {"model_type": DEBERTA, "hedging_language": HEDGE},
    ),
    (
        "context_bench_scorers.python_unit_testing:PythonUnitTesting",
        {"unit_test_dir": None, "unit_tests": None},
    ),
    ("context_bench_scorers.qa_quality:QAQualityCorrectness", {"llm": None}),
    ("context_bench_scorers.readability:Readability", {}),
    ("context_bench_scorers.specificity:Specificity", {}),
    (
        "context_bench_scorers.specificity:Specificity.get_mean_word_freq",
        {"candidate_output": REQUIRED},
    ),
    (
        "context_bench_scorers.specificity:Specificity.get_num_vague_words",
        {"candidate_output": REQUIRED},
    ),
    (
        "context_bench_scorers.specificity:Specificity.get_pn_and_num",
        {"candidate_output": REQUIRED},
    ),
    (
        "context_bench_scorers.summary_quality:SummaryQuality",
        {"llm": None, "context_window": 4096, "tokenizer": None},
    ),
    (
        "context_bench_scorers.summary_quality:SummaryQuality.truncate_input_text",
        {
            "input_text": REQUIRED,
            "ref_output": REQUIRED,
            "cand_output": REQUIRED,
            "context_window": 4096,
        },
    ),
    (
        "context_bench_scorers.summary_quality:truncate_input_text",
        {
            "input_text": REQUIRED,
            "ref_output": REQUIRED,
            "cand_output": REQUIRED,
            "context_window": 4096,
        },
    ),
    ("context_bench_scorers.summary_quality:SummaryQuality.validate_batch", {BATCH[0]: REQUIRED}),
    ("context_bench_scorers.qa_quality:QAQualityCorrectness.validate_batch", {BATCH[0]: REQUIRED}),
    ("context_bench_scorers.word_count_match:WordCountMatch", {}),
    ("context_bench_scorers.utils:suppress_warnings", {"logger_name": REQUIRED}),
]

TEN = {
    "bertscore": ("BERTScore", False, True),
    "exact_match": ("ExactMatch", True, True),
    "hallucination": ("Hallucination", True, False),
    "hedging_language": ("HedgingLanguage", False, False),
    "python_unit_testing": ("PythonUnitTesting", True, False),
    "qa_correctness": ("QAQualityCorrectness", True, False),
    "readability": ("Readability", False, False),
    "specificity": ("Specificity", False, False),
    "summary_quality": ("SummaryQuality", True, True),
    "word_count_match": ("WordCountMatch", False, True),
}
"""Class, whether it is categorical, whether it compares with references."""


def named(path: str) -> Any:
    module, _, names = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"{module} is not installed here: {error}")
    for name in names.split("."):
        found = getattr(found, name)
    return found


def plain(value: Any) -> Any:
    return value.name if isinstance(value, enum.Enum) else value


@pytest.mark.parametrize(("path", "documented"), SIGNATURES, ids=[path for path, _ in SIGNATURES])
def test_a_documented_parameter_has_its_name_its_place_and_its_default(
    path: str, documented: dict[str, Any]
) -> None:
    parameters = dict(inspect.signature(named(path)).parameters)
    parameters.pop("self", None)
    assert list(parameters)[: len(documented)] == list(documented)
    for name, default in documented.items():
        assert plain(parameters[name].default) == default
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    further = [parameter for name, parameter in parameters.items() if name not in documented]
    assert all(
        parameter.default is not REQUIRED or parameter.kind in variable for parameter in further
    )


@pytest.mark.parametrize("name", TEN)
def test_a_scorer_has_its_name_its_class_and_its_kind(name: str) -> None:
    scorers = pytest.importorskip("context_bench_scorers", reason="it brings the base of scorers")
    class_name, is_categorical, requires_reference = TEN[name]
    assert scorers.ScoringMethodName[class_name.replace("QAQuality", "QA")].value == name
    found = scorers.scorer_from_string(name)
    assert (found.__name__, found.name()) == (class_name, name)
    assert (found.is_categorical(), found.requires_reference()) == (
        is_categorical,
        requires_reference,
    )
    assert bool(found.categories()) == is_categorical
    assert getattr(scorers, class_name) is found
    assert issubclass(found, scorers.Scorer)
    assert list(TEN) == [method.value for method in scorers.ScoringMethodName]


def test_the_judge_takes_address_and_model() -> None:
    parameters = inspect.signature(named("context_bench.evaluators:LLMJudge")).parameters
    assert list(parameters)[:2] == ["base_url", "model"]


def test_the_page_of_rouge_has_its_alias() -> None:
    rouge = named("context_bench_rouge:RougeScore")
    assert "rougeType" in inspect.signature(rouge).parameters
    assert rouge(rougeType="ROUGE_1").fingerprint() == rouge(rouge_type="ROUGE_1").fingerprint()


def test_evaluate_and_the_protocols_are_at_the_top() -> None:
    import context_bench

    for name in ("evaluate", "EvalResult", "EvalRow", "Evaluator", "System", "Metric"):
        assert hasattr(context_bench, name)
    assert {"dataset", "evaluators", "metrics"} <= set(
        inspect.signature(context_bench.evaluate).parameters
    )
    assert "score_field" in inspect.signature(named("context_bench.metrics:MeanScore")).parameters
