"""A conversation in progress: which messages to send next, and what was answered so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from context_bench_conversations import messages_of_turns, turns_to_ask
from context_bench_http.usage import add_usage
from context_bench_openai.layouts import Message, opening_messages
from context_bench_openai.reply import ChatReply


class Replies(list[Message]):
    """The assistant messages of a conversation, one for each turn that was asked.

    A plain list of ``{"role": "assistant", "content": ...}``, with the same facts beside it that a single reply has.

    Attributes:
        usage: Token counts summed over the turns.
        output: The output row: the last reply as ``response``, all of them as ``turn_responses``.
    """

    def __init__(self, messages: Sequence[Message], output: Mapping[str, Any]) -> None:
        super().__init__(messages)
        self.output = dict(output)
        self.usage: dict[str, int] = self.output["usage"]


class _Reply(Protocol):
    """What a conversation reads of a reply: its text, its token counts and seconds."""

    @property
    def text(self) -> str: ...
    @property
    def usage(self) -> Mapping[str, int]: ...
    @property
    def latency(self) -> float: ...


Reply = TypeVar("Reply", bound=_Reply)


class Conversation(Generic[Reply]):
    """Replays turns: each that is to be asked, with everything before it, the model's own replies included.

    `context_bench_conversations.open_turns` tells which these are; a turn with a given answer is history.

    Args:
        turns: User turns as text, or turns as ``{"role", "content"}``.
        system_prompt: A system message before the first turn.
        output_of: Makes the output row of a reply.

    Raises:
        ValueError: The turns are malformed, or none of them is to be asked.
    """

    def __init__(
        self,
        turns: Sequence[Any],
        system_prompt: str | None,
        output_of: Callable[[Reply], dict[str, Any]],
    ) -> None:
        self._open = frozenset(turns_to_ask(turns))
        self._turns = messages_of_turns(turns)
        self._history = opening_messages(system_prompt)
        self._replies: list[Reply] = []
        self._output_of = output_of

    def requests(self) -> Iterator[list[Message]]:
        """Yield the messages of each request; `add` the reply before asking for the next."""
        for place, turn in enumerate(self._turns):
            self._history.append(turn)
            if place in self._open:
                yield list(self._history)

    def add(self, reply: Reply) -> None:
        """Take the reply to the latest request into the history."""
        self._replies.append(reply)
        self._history.append({"role": "assistant", "content": reply.text})

    def result(self) -> Replies:
        """Return the replies, their usage summed."""
        messages = [{"role": "assistant", "content": reply.text} for reply in self._replies]
        last = self._output_of(self._replies[-1])
        total = {
            "turn_responses": [reply.text for reply in self._replies],
            "usage": add_usage(reply.usage for reply in self._replies),
            "turn_usage": [dict(reply.usage) for reply in self._replies],
            "latency": sum(reply.latency for reply in self._replies),
            "attempts": len(self._replies),
        }
        return Replies(messages, {**last, **total})


def output_of(reply: ChatReply) -> dict[str, Any]:
    """Return the output row of a reply; what the server did not send is not in it, except ``usage``."""
    output: dict[str, Any] = {
        "response": reply.text,
        "usage": dict(reply.usage),
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "headers": dict(reply.headers),
        "latency": reply.latency,
    }
    present = {
        "usage_problem": reply.usage_problem,
        "ttft": reply.ttft,
        "refusal": reply.refusal,
        "reasoning": reply.reasoning,
        "logprobs": reply.logprobs,
    }
    output.update((name, value) for name, value in present.items() if value is not None)
    if reply.envelope:
        output["envelope"] = dict(reply.envelope)
    if reply.tool_calls:
        output["tool_calls"] = [dict(call) for call in reply.tool_calls]
    return output
