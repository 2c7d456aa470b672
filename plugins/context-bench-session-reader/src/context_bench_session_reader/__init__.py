"""A reader of compressed sessions: what it can still answer, and what it would do next."""

from context_bench_session_reader.actions import Action, agreement, parse_action
from context_bench_session_reader.next_action import NextAction
from context_bench_session_reader.recall import ProbeRecall, same_answer
from context_bench_session_reader.written import WrittenProbe

__all__ = [
    "Action",
    "NextAction",
    "ProbeRecall",
    "WrittenProbe",
    "agreement",
    "parse_action",
    "same_answer",
]
