"""Arthur's scorers that ask a model: correctness of answers, quality of summaries, hallucination."""

from context_bench_scorers_judge.evaluators import (
    HallucinationEvaluator,
    QACorrectnessEvaluator,
    SummaryQualityEvaluator,
)
from context_bench_scorers_judge.hallucination import Hallucination
from context_bench_scorers_judge.qa_quality import QAQualityCorrectness
from context_bench_scorers_judge.summary_quality import SummaryQuality

__all__ = [
    "Hallucination",
    "HallucinationEvaluator",
    "QACorrectnessEvaluator",
    "QAQualityCorrectness",
    "SummaryQuality",
    "SummaryQualityEvaluator",
]
