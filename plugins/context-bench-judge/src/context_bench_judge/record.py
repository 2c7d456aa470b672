"""What is kept of a judgement beside its score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from context_bench.answers import part_answer
from context_bench_http.usage import add_usage
from context_bench_judging.json_reply import json_objects, values_of
from context_bench_judging.unreadable import UnreadableReply, beginning_of
from context_bench_openai import ChatReply

_Reading = TypeVar("_Reading")
_LONGEST_REASON = 4000
_REASONS = ("reason", "reasoning", "explanation", "rationale", "justification", "feedback")


class Record:
    """Collects the replies of one judgement and what was read from them."""

    def __init__(self) -> None:
        self._replies: list[ChatReply] = []
        self._told: dict[str, Any] = {}

    def add(self, reply: ChatReply) -> None:
        """Take a reply."""
        self._replies.append(reply)

    def tell(self, **facts: Any) -> None:
        """Take a fact that belongs into the details."""
        self._told.update(facts)

    def read(
        self, reply: ChatReply, how: Callable[[str], _Reading], is_final: bool = False
    ) -> _Reading:
        """Return what a reply says.

        Args:
            reply: The reply.
            how: Reads its text.
            is_final: Whether a reply that was cut within a number must not be trusted: 1 may be the beginning of 10.

        Raises:
            UnreadableReply: The judge refused, was cut short, or was not clear.
        """
        if reply.refusal:
            raise UnreadableReply(f"the judge refused: {beginning_of(reply.refusal)}")
        if reply.finish_reason == "content_filter":
            raise UnreadableReply("the judge's server filtered its reply")
        was_cut = reply.finish_reason == "length"
        cut = UnreadableReply(
            "the judge's reply was cut at its token limit before it gave its judgement"
        )
        if was_cut and is_final and reply.text.rstrip()[-1:].isdigit():
            raise cut
        if not reply.text.strip() and not was_cut:
            raise UnreadableReply("the judge gave an empty reply")
        try:
            return how(reply.text)
        except UnreadableReply as unclear:
            raise (cut if was_cut else unclear) from None

    def details(self) -> dict[str, Any]:
        """Return the details of the score."""
        if not self._replies:
            return {}
        reasons = [_reason(reply.text) for reply in self._replies]
        details = {**self._told, "reason": reasons[0] if len(reasons) == 1 else reasons}
        details["model"] = self._replies[-1].model
        usage = add_usage(reply.usage for reply in self._replies)
        return {**details, "usage": usage} if usage else details


def _reason(text: str) -> str:
    """Return the reason that a reply gives: the field of that name, or all of it."""
    plain = part_answer(text).answer.strip()
    reasons = (value for fields in json_objects(plain) for value in values_of(fields, _REASONS))
    reason = next((value for value in reasons if isinstance(value, str)), plain)
    return reason[:_LONGEST_REASON]
