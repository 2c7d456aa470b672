"""A conversation in progress: which messages to send next, and what was answered so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from context_bench_anthropic.reply import MessageReply, output_of
from context_bench_http import add_usage
from context_bench_openai import Replies, build_messages


class Conversation:
    """Replays turns: each user turn is asked with everything before it, the model's own replies included.

    A user turn that is followed by a given assistant turn is history and is not asked again.

    Args:
        turns: User turns as text, or turns as ``{"role", "content"}``.
        system_prompt: A system prompt before the first turn.

    Raises:
        ValueError: The turns are malformed, or none of them is to be answered.
    """

    def __init__(self, turns: Sequence[Any], system_prompt: str | None = None) -> None:
        self._turns = build_messages({"turns": turns}, system_prompt=system_prompt)
        self._history: list[dict[str, Any]] = []
        self._replies: list[MessageReply] = []
        if not any(self._is_open(position) for position in range(len(self._turns))):
            raise ValueError("There is nothing to ask: the conversation has no user turn without an answer.")

    def requests(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the messages of each request; `add` the reply before asking for the next."""
        for position, turn in enumerate(self._turns):
            self._history.append(turn)
            if self._is_open(position):
                yield list(self._history)

    def add(self, reply: MessageReply) -> None:
        """Take the reply to the latest request into the history."""
        self._replies.append(reply)
        self._history.append({"role": "assistant", "content": reply.text})

    def result(self) -> Replies:
        """Return the replies, their usage summed."""
        total = {
            "turn_responses": [reply.text for reply in self._replies],
            "usage": add_usage(reply.usage for reply in self._replies),
            "turn_usage": [dict(reply.usage) for reply in self._replies],
            "latency": sum(reply.latency for reply in self._replies),
            "attempts": sum(reply.attempts for reply in self._replies),
        }
        messages = [{"role": "assistant", "content": reply.text} for reply in self._replies]
        return Replies(messages, {**output_of(self._replies[-1]), **total})

    def _is_open(self, position: int) -> bool:
        following = self._turns[position + 1 : position + 2]
        return self._turns[position]["role"] == "user" and not (following and following[0]["role"] == "assistant")
