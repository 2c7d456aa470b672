"""Cuts: where a session is held, and what of it a compressor may take away.

A cut is a message of the agent. What stands before it is the prefix: the head (system prompt and first message of the user), the
tail (the last messages, never parted between a call and its result), and the region between them, of which alone is asked what
survived.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from context_bench.errors import ConfigurationError
from context_bench_sessions.messages import Compaction, Message

LAST = "last"

COMPACTION = "compaction"
"""A cut at each compaction that the agent made; its region is what that compaction took away."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


@frozen
class Cut:
    """A place in a session.

    Attributes:
        at: Index of the agent's message that comes next; the prefix is what stands before it.
        head_end: Index behind the head.
        tail_start: Index of the first message of the tail; the region lies between the two.
    """

    at: int
    head_end: int
    tail_start: int


def tokens_of(text: str) -> int:
    """Return the number of words and signs of a text: an estimate for choosing cuts, never a measure."""
    return len(_TOKEN.findall(text))


def message_tokens(message: Message) -> int:
    """Return the estimate for a whole message, calls included."""
    calls = message.get("tool_calls", ())
    return tokens_of(message["content"]) + sum(
        tokens_of(one["name"]) + tokens_of(one["arguments"]) for one in calls
    )


def read_cuts(cuts: Sequence[object]) -> list[float | str]:
    """Return cut points as shares of the session, or ``"last"``.

    Raises:
        ConfigurationError: One is neither.
    """
    found: list[float | str] = []
    for cut in cuts:
        if cut in (LAST, COMPACTION):
            found.append(str(cut))
            continue
        try:
            share = float(cut)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            share = -1.0
        if not 0 < share <= 1:
            raise ConfigurationError(
                f"The cut {cut!r} is no share of a session above 0 and up to 1, and neither 'last' nor 'compaction'."
            )
        found.append(share)
    if not found:
        raise ConfigurationError("There is no cut. Give shares of a session such as cuts=0.5/last.")
    return found


def cut_session(
    messages: Sequence[Message],
    cuts: Sequence[float | str],
    tail: float,
    min_tokens: int,
    compactions: Sequence[Compaction] = (),
) -> list[Cut]:
    """Return the cuts of a session, each message of the agent at most once, in their order.

    Args:
        messages: The session.
        cuts: Shares of its tokens; ``"last"`` for its last message of the agent; ``"compaction"`` for the first one behind
            each compaction.
        tail: Share of the prefix's tokens that stays as it is at the end.
        min_tokens: Tokens of the region below which a cut is left out.
        compactions: Those that the agent made.
    """
    sizes = [message_tokens(message) for message in messages]
    agents = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    if not agents:
        return []
    head_end = _head_end(messages)
    places = {_place(cut, sizes, agents) for cut in cuts if cut != COMPACTION}
    starts = {at: _tail_start(messages, sizes, at, tail) for at in places}
    if COMPACTION in cuts:
        for made in compactions:
            at = next((agent for agent in agents if agent >= made.at), agents[-1])
            starts[at] = _before_calls(messages, min(made.first_kept, at))
    found = [Cut(at, head_end, max(head_end, start)) for at, start in sorted(starts.items())]
    return [cut for cut in found if sum(sizes[cut.head_end : cut.tail_start]) >= min_tokens]


def _place(cut: float | str, sizes: Sequence[int], agents: Sequence[int]) -> int:
    if cut == LAST:
        return agents[-1]
    wanted, passed = float(cut) * sum(sizes), 0
    for number, size in enumerate(sizes):
        passed += size
        if passed >= wanted:
            return next((agent for agent in agents if agent >= number), agents[-1])
    return agents[-1]


def _head_end(messages: Sequence[Message]) -> int:
    """Return the index behind the system prompt and the first message of the user."""
    for number, message in enumerate(messages):
        if message["role"] == "user":
            return number + 1
        if message["role"] != "system":
            return number
    return len(messages)


def _tail_start(messages: Sequence[Message], sizes: Sequence[int], at: int, tail: float) -> int:
    wanted = tail * sum(sizes[:at])
    start, kept = at, 0
    while start > 0 and kept < wanted:
        start -= 1
        kept += sizes[start]
    return _before_calls(messages, start)


def _before_calls(messages: Sequence[Message], start: int) -> int:
    """Move a boundary in front of the calls whose results stand behind it, whatever stands between the two."""
    for number, called in sorted(_calls(messages).items(), reverse=True):
        if called < start <= number:
            start = called
    while (
        0 < start < len(messages) and messages[start]["role"] == "tool"
    ):  # results that answer no call
        start -= 1
    return start


def _calls(messages: Sequence[Message]) -> dict[int, int]:
    """Return for each result that answers a call where that call was made, the latest with its id."""
    made: dict[str, int] = {}
    found: dict[int, int] = {}
    for number, message in enumerate(messages):
        made.update((one["id"], number) for one in message.get("tool_calls", ()))
        if message["role"] == "tool" and message["tool_call_id"] in made:
            found[number] = made[message["tool_call_id"]]
    return found
