"""Conversations: rows with ``multi_turn`` and ``turns`` go through a system's ``process_conversation``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.records import Usage


class Conversational:
    """A system whose multi-turn rows go through its ``process_conversation(turns)``, and all others through ``process``.

    Everything else about the system is as it was.

    Args:
        system: A system with ``process_conversation``. It returns the assistant's replies in order, as texts or as
            ``{"content": ..., "usage": ...}``, or an output with ``turn_responses`` of its own.
    """

    def __init__(self, system: Any) -> None:
        self._system = system
        self.name = system.name
        if hasattr(system, "aprocess") and hasattr(system, "aprocess_conversation"):
            self.aprocess = self._aprocess

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_system", "aprocess"):
            raise AttributeError(name)  # without aprocess_conversation, the async way would miss process_conversation
        return getattr(self._system, name)

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return the output for an example, a conversation or not."""
        if not is_conversation(example):
            return self._system.process(example)  # type: ignore[no-any-return]
        return conversation_output(self._system.process_conversation(example["turns"]))

    async def _aprocess(self, example: dict[str, Any]) -> Mapping[str, Any]:
        if not is_conversation(example):
            return await self._system.aprocess(example)  # type: ignore[no-any-return]
        return conversation_output(await self._system.aprocess_conversation(example["turns"]))


def with_conversations(system: Any) -> Any:
    """Return the system ready for multi-turn rows; one that reads ``multi_turn`` by itself stays as it is."""
    if not callable(getattr(system, "process_conversation", None)):
        return system
    return system if "multi_turn" in (getattr(system, "reads", None) or ()) else Conversational(system)


def is_conversation(example: Mapping[str, Any]) -> bool:
    """Whether an example is a conversation: it says so, and has turns."""
    return bool(example.get("multi_turn")) and isinstance(example.get("turns"), list | tuple) and bool(example["turns"])


def conversation_output(replies: Any) -> Mapping[str, Any]:
    """Return the output of a conversation: the last reply as ``response``, all as ``turn_responses``, usage summed.

    Raises:
        TypeError: The replies are neither a sequence nor a mapping, or one of them has no text.
    """
    output = replies if isinstance(replies, Mapping) else getattr(replies, "output", None)
    if isinstance(output, Mapping):
        return output
    if isinstance(replies, str) or not isinstance(replies, Sequence) or not replies:
        raise TypeError(f"process_conversation returned {type(replies).__name__}, not the replies to the turns")
    texts = [reply.get("content") if isinstance(reply, Mapping) else reply for reply in replies]
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"reply {number + 1} of process_conversation has no text")
    found: dict[str, Any] = {"response": texts[-1], "turn_responses": texts}
    usages = [usage for reply in replies if isinstance(reply, Mapping) and (usage := Usage.read(reply)) is not None]
    if usages:
        total = usages[0]
        for usage in usages[1:]:
            total = total + usage
        found["usage"] = total.to_dict()
        found["turn_usage"] = [usage.to_dict() for usage in usages]
    elif isinstance(getattr(replies, "usage", None), Mapping):
        found["usage"] = dict(replies.usage)  # type: ignore[attr-defined]
    return found
