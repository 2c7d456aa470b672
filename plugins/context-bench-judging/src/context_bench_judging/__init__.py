"""The model that judges: one client, cache, prompts and tolerant reading for every judge."""

from context_bench_judging.asker import Asker
from context_bench_judging.asking import ClientPolicy, Exchange, Request
from context_bench_judging.cache import ReplyCache
from context_bench_judging.judged import JudgedEvaluator
from context_bench_judging.language_model import (
    JudgeOnDemand,
    LanguageModel,
    configured_judge,
    judge_model,
    language_model,
)
from context_bench_judging.objects import ask_object
from context_bench_judging.prompt_book import PromptBook, tagged
from context_bench_judging.talking import atalk, talk
from context_bench_judging.transcript import Transcript
from context_bench_judging.unreadable import UnreadableReply

__all__ = [
    "Asker",
    "Exchange",
    "JudgeOnDemand",
    "JudgedEvaluator",
    "LanguageModel",
    "ClientPolicy",
    "PromptBook",
    "ReplyCache",
    "Request",
    "Transcript",
    "UnreadableReply",
    "ask_object",
    "atalk",
    "configured_judge",
    "judge_model",
    "language_model",
    "tagged",
    "talk",
]
