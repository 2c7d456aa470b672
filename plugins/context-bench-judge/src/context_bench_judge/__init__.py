"""A model that grades answers: ratings on a scale, and comparisons in both orders."""

from context_bench.records import Scores
from context_bench_judge.judge import LLMJudge
from context_bench_judge.rating import read_rating
from context_bench_judge.scale import Scale
from context_bench_judge.verdict import read_verdict
from context_bench_judging.unreadable import UnreadableReply

__all__ = ["LLMJudge", "Scale", "Scores", "UnreadableReply", "read_rating", "read_verdict"]
