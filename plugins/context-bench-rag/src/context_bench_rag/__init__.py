"""What a user of a RAG or memory proxy asks first: is the answer borne out, to the point, and was the right text found."""

from context_bench_rag.answer import AnswerRelevancy, Faithfulness
from context_bench_rag.contexts import ContextPrecision, ContextRecall, average_precision
from context_bench_rag.embedded import EmbeddedAnswerRelevancy
from context_bench_rag.lexical import (
    LexicalContextPrecision,
    LexicalContextRecall,
    LexicalFaithfulness,
)
from context_bench_rag.noise import NoiseSensitivity

__all__ = [
    "AnswerRelevancy",
    "ContextPrecision",
    "ContextRecall",
    "EmbeddedAnswerRelevancy",
    "Faithfulness",
    "LexicalContextPrecision",
    "LexicalContextRecall",
    "LexicalFaithfulness",
    "NoiseSensitivity",
    "average_precision",
]
