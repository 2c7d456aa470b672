"""Which turns of a conversation are asked, and which were answered before: one rule for all that ask or show one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_INSTRUCTIONS = ("system", "developer")
_RESULTS = ("tool", "function")


def open_turns(roles: Sequence[str]) -> list[int]:
    """Return the places of the turns that are asked, from 0: behind each of them an answer is wanted, and none is given.

    A user turn is asked, unless the next turn is the assistant's; system turns between the two are no answer and part
    none from its question. A conversation that ends with the results of tools that an assistant turn called is asked at
    its end: the model goes on from them, as a chat interface does whose last message is a tool's. System turns behind the
    last question are sent with it, so that the place is theirs.

    >>> open_turns(["user", "user"]), open_turns(["user", "system", "assistant", "user"])
    ([0, 1], [3])
    >>> open_turns(["user", "user", "system"])
    [0, 2]
    >>> open_turns(["user", "assistant", "tool", "tool"])
    [3]

    Args:
        roles: The roles of all turns, in order: those of the OpenAI chat interface, ``developer`` and ``function`` among them.
    """
    spoken = [place for place, role in enumerate(roles) if role not in _INSTRUCTIONS]
    words = [roles[place] for place in spoken]
    asked = [
        place
        for place, role, following in zip(spoken, words, [*words[1:], None])
        if role == "user" and following != "assistant"
    ]
    if words[-1:] == ["user"]:
        asked[-1] = len(roles) - 1
    while words and words[-1] in _RESULTS:
        words.pop()
    if len(words) < len(spoken) and words[-1:] == ["assistant"]:
        asked.append(len(roles) - 1)
    return asked


def turns_to_ask(turns: Sequence[Any]) -> list[int]:
    """Return the places of the turns that are asked; see :func:`open_turns`.

    Args:
        turns: User turns as text, or turns as ``{"role", "content"}``.

    Raises:
        ValueError: The turns are malformed, or none of them is to be asked.
    """
    asked = open_turns([message["role"] for message in messages_of_turns(turns)])
    if not asked:
        raise ValueError(
            "There is nothing to ask: the conversation has no user turn without an answer, and no tool's result at its end."
        )
    return asked


def messages_of_turns(turns: Sequence[Any]) -> list[dict[str, Any]]:
    """Return turns as messages; a turn that is plain text is the user's, and one with calls of tools may have no ``content``.

    Raises:
        ValueError: The turns are malformed; the message names the first that is.
    """
    if isinstance(turns, (str, bytes, Mapping)) or not isinstance(turns, Sequence):
        raise ValueError(f"`turns` must be a list of turns, not {type(turns).__name__}.")
    return [_message(turn, place) for place, turn in enumerate(turns)]


def _message(turn: Any, place: int) -> dict[str, Any]:
    if isinstance(turn, str):
        return {"role": "user", "content": turn}
    if (
        isinstance(turn, Mapping)
        and isinstance(turn.get("role"), str)
        and ("content" in turn or turn.get("tool_calls"))
    ):
        return dict(turn)
    raise ValueError(f"turns[{place}] must be text or a mapping with `role` and `content`.")
