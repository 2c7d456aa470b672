"""ROUGE: the ROUGE-L scores of summaries, and the scores of the rouge-score package."""

from context_bench_rouge.bands import score_band
from context_bench_rouge.choices import Mode, RougeType
from context_bench_rouge.evaluator import RougeScore
from context_bench_rouge.lcs import lcs_length
from context_bench_rouge.measures import Score
from context_bench_rouge.summarization import SummarizationQuality, rouge_l
from context_bench_rouge.truthful import TruthfulRouge

__all__ = [
    "Mode",
    "RougeScore",
    "RougeType",
    "Score",
    "SummarizationQuality",
    "TruthfulRouge",
    "lcs_length",
    "rouge_l",
    "score_band",
]
