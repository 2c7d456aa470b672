"""A conversation under way: what is to be asked next, and what came of it in the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_bench.protocols import Turns
from context_bench.records import Usage, quantity
from context_bench_conversations.open_turns import turns_to_ask


class Talk:
    """A conversation under way: :func:`open_turns` tells which turns are asked; all others are history.

    Args:
        turns: User turns as text, or turns as ``{"role", "content"}``.
        kept: The turns that were answered.

    Raises:
        ValueError: The turns are malformed, or none of them is to be asked.
    """

    def __init__(self, turns: Sequence[Any], kept: Turns) -> None:
        self._turns, self._kept = turns, kept
        self._open = frozenset(turns_to_ask(turns))
        self._history: list[Any] = []
        self._outputs: list[Mapping[str, Any]] = []

    def questions(self) -> Iterator[list[Any]]:
        """Yield for each turn to ask, once it may be asked, what was said up to it; :meth:`answer` it then."""
        for place, turn in enumerate(self._turns):
            self._history.append(turn)
            if place not in self._open:
                continue
            history = list(self._history)
            known = self._kept.recall(len(self._outputs), history)
            if known is not None:
                self._add(known)
            else:
                yield history

    def answer(self, found: Any, seconds: float) -> None:
        """Take the answer to the latest question, once it is safe."""
        number = len(self._outputs)
        output = {"response": found} if isinstance(found, str) else found
        if isinstance(output, Mapping) and not isinstance(output.get("response", 0), str | None):
            raise TypeError(f"the answer to turn {number + 1} has no text under 'response'")
        self._add(self._kept.keep(number, self._history, output, seconds))

    def _add(self, output: Mapping[str, Any]) -> None:
        self._outputs.append(output)
        self._history.append({"role": "assistant", "content": output["response"]})

    def output(self) -> dict[str, Any]:
        """Return the output of the whole: that of the last turn, all responses, and sums of what was used."""
        found = {
            **self._outputs[-1],
            "turn_responses": [output["response"] for output in self._outputs],
            "latency": sum(output["latency"] for output in self._outputs),
            "attempts": sum(output["attempts"] for output in self._outputs),
        }
        if any("usage" in output for output in self._outputs):
            found |= _used([Usage.read(output) or Usage() for output in self._outputs])
        return found


class Forgetful:
    """The turns of a conversation outside of a run: nothing was answered before, and nothing is kept."""

    def recall(self, number: int, history: Sequence[Any]) -> None:
        """Return None: the turn is to be asked."""

    def keep(
        self, number: int, history: Sequence[Any], found: Any, seconds: float
    ) -> Mapping[str, Any]:
        """Return the answer, with what the clock measured where the system measured nothing itself.

        Raises:
            TypeError: It has no text.
        """
        if not isinstance(found, Mapping) or not isinstance(found.get("response"), str):
            raise TypeError(f"the answer to turn {number + 1} has no text under 'response'")
        told = quantity(found.get("latency"))
        attempts = int(quantity(found.get("attempts")) or 1)
        return {**found, "latency": seconds if told is None else told, "attempts": attempts}


def is_conversation(example: Mapping[str, Any]) -> bool:
    """Whether an example is a conversation: it says so, and has turns."""
    return (
        bool(example.get("multi_turn"))
        and isinstance(example.get("turns"), list | tuple)
        and bool(example["turns"])
    )


def conversation_output(replies: Any) -> Mapping[str, Any]:
    """Return the output of a conversation: the last reply as ``response``, all as ``turn_responses``, usage summed.

    Raises:
        TypeError: The replies are neither a sequence nor a mapping, or one of them has no text.
    """
    output = replies if isinstance(replies, Mapping) else getattr(replies, "output", None)
    if isinstance(output, Mapping):
        return output
    if isinstance(replies, str) or not isinstance(replies, Sequence) or not replies:
        raise TypeError(
            f"process_conversation returned {type(replies).__name__}, not the replies to the turns"
        )
    texts = [reply.get("content") if isinstance(reply, Mapping) else reply for reply in replies]
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"reply {number + 1} of process_conversation has no text")
    found: dict[str, Any] = {"response": texts[-1], "turn_responses": texts}
    usages = [
        usage
        for reply in replies
        if isinstance(reply, Mapping) and (usage := Usage.read(reply)) is not None
    ]
    if usages:
        found |= _used(usages)
    elif isinstance(getattr(replies, "usage", None), Mapping):
        found["usage"] = dict(replies.usage)  # type: ignore[attr-defined]
    return found


def _used(usages: Sequence[Usage]) -> dict[str, Any]:
    return {
        "usage": sum(usages[1:], usages[0]).to_dict(),
        "turn_usage": [usage.to_dict() for usage in usages],
    }
