"""The judges against a real model with constrained output. It is too small to judge: what is tested is structure."""

from __future__ import annotations

from typing import Any

import pytest

for _package in ("context_bench_summary_score", "context_bench_scorers_judge", "context_bench_rag"):
    pytest.importorskip(_package, reason="these judges ask the model")

ROW = {
    "question": "Which city is the capital of Italy?",
    "context": "Rome is the capital of Italy. It lies on the Tiber.",
    "contexts": ["Rome is the capital of Italy. It lies on the Tiber."],
    "answer": "Rome",
}
OUTPUT = {"response": "Rome is the capital."}


@pytest.fixture
def judge(model: str) -> Any:
    from context_bench_judging import judge_model

    return judge_model(model, "smollm2-135m", timeout=300, max_retries=0)


def test_every_judge_takes_what_a_real_model_says(judge: Any) -> None:
    from context_bench_rag import ContextPrecision, Faithfulness
    from context_bench_scorers_judge import (
        HallucinationEvaluator,
        QACorrectnessEvaluator,
        SummaryQualityEvaluator,
    )
    from context_bench_summary_score import SummarizationScore

    short: dict[str, Any] = {"max_tokens": 160, "repairs": 1}
    judges: list[Any] = [
        QACorrectnessEvaluator(judge),
        SummaryQualityEvaluator(judge, swap=True),
        HallucinationEvaluator(judge, **short),
        Faithfulness(judge, **short),
        ContextPrecision(judge, **short),
        SummarizationScore(llm=judge, **short),
    ]
    for evaluator in judges:
        scores = evaluator.score(ROW, OUTPUT)
        assert scores.details["calls"] >= 1
        assert scores.details["usage"]["output_tokens"] > 0
        if scores:
            assert all(isinstance(value, float) for value in scores.values())
        else:
            assert scores.details["unscored"]
    correctness = QACorrectnessEvaluator(judge).score(ROW, OUTPUT)
    assert correctness.details["category"] in {
        "correct",
        "incorrect",
        "na",
    }  # the server holds it to the schema
