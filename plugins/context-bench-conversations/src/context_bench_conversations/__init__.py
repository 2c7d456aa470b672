"""Conversations: rows with ``multi_turn`` and ``turns``, asked turn by turn where the system can be asked so."""

from context_bench_conversations.asker import Conversational, Conversations

__all__ = ["Conversational", "Conversations"]
