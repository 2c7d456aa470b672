"""The ragas summarization score: questions from the source, answered from the summary, and conciseness."""

from context_bench_summary_score.formula import conciseness, final_score
from context_bench_summary_score.score import SummarizationScore

__all__ = ["SummarizationScore", "conciseness", "final_score"]
