"""IFEval: are verifiable instructions followed, by the benchmark's own rules?"""

from context_bench.records import Scores
from context_bench_ifeval.checker import IFEvalChecker
from context_bench_ifeval.instructions import INSTRUCTIONS
from context_bench_ifeval.language import detect_language
from context_bench_ifeval.sentences import sentences
from context_bench_ifeval.words import words

__all__ = ["INSTRUCTIONS", "IFEvalChecker", "Scores", "detect_language", "sentences", "words"]
