"""What is kept of the talks behind one score."""

from __future__ import annotations

from typing import Any

from context_bench_http import add_usage
from context_bench_openai import ChatReply


class Transcript:
    """Counts the calls and adds up what they cost."""

    def __init__(self) -> None:
        self._replies: list[ChatReply] = []

    def add(self, reply: ChatReply) -> ChatReply:
        """Take a reply and give it back."""
        self._replies.append(reply)
        return reply

    def details(self) -> dict[str, Any]:
        """Return the number of replies, the model that gave the last, and the usage of all."""
        if not self._replies:
            return {}
        usage = add_usage(reply.usage for reply in self._replies)
        told = {"calls": len(self._replies), "model": self._replies[-1].model}
        return {**told, "usage": usage} if usage else told
