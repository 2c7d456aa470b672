"""Conversations: rows with ``multi_turn`` and ``turns``, asked turn by turn where the system can be asked so."""

from context_bench_conversations.asker import Conversational, Conversations
from context_bench_conversations.open_turns import messages_of_turns, open_turns, turns_to_ask

__all__ = ["Conversational", "Conversations", "messages_of_turns", "open_turns", "turns_to_ask"]
