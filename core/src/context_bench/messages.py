"""Messages as an example holds them, and systems that rewrite messages.

An example of a session has ``messages`` - ``role``, ``content``, for the agent's ``tool_calls``
(``id``, ``name``, ``arguments``), for results ``tool_call_id`` - and ``region``, the first message
that may be taken away and the one behind the last. Its ``context`` is that region as one text, so
that what rewrites texts can rewrite it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def whole_text(message: Mapping[str, Any]) -> str:
    """Return all that a message says: its text, then the arguments of its calls, a line each; a
    provider's message too.

    >>> calls = [{"id": "1", "name": "read", "arguments": "{}"}]
    >>> whole_text({"role": "assistant", "content": "I look.", "tool_calls": calls})
    'I look.\\n{}'
    """
    if not (asked := message.get("tool_calls")) or not isinstance(asked, list | tuple):
        return _told(message.get("content"))
    calls = [one for one in asked if isinstance(one, Mapping)]
    made = [one["function"] if isinstance(one.get("function"), Mapping) else one for one in calls]
    return "\n".join([_told(message.get("content")), *(str(one.get("arguments")) for one in made)])


def _told(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = content.get("text", content.get("content", content.get("input")))
    if isinstance(content, list | tuple):
        return "\n".join(map(_told, content))
    return "" if content is None else str(content)


def region_text(messages: Sequence[Mapping[str, Any]], region: Sequence[int]) -> str:
    """Return the messages of a region as one text, a blank line between them."""
    start, end = region
    return "\n\n".join(map(whole_text, messages[start:end]))


def as_sent(example: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example with what a system put out, its messages as one text that says everything
    once.

    Where there are messages, ``context`` is their region: it is not told beside them, and where a
    system put out nothing but a new context, that stands in the region's place.

    >>> messages = [{"role": "user", "content": "one"}, {"role": "tool", "content": "two"}]
    >>> as_sent({"messages": messages, "region": [1, 2]}, {"context": "2"})["messages"]
    'one\\n2'
    """
    told, before, after = {**example, **output}, example.get("messages"), output.get("messages")
    if not (before and _are_messages(before) and _are_messages(after or [])):
        return told
    if "region" not in example and example.get("context"):
        return told
    messages, context = after or before, told.pop("context", None)
    start, end = example.get("region") or (0, len(before))
    if "context" in output and after is None:
        messages = [*before[:start], {"content": context}, *before[end:]]
    told["messages"] = "\n".join(map(whole_text, messages))
    return told


def _are_messages(found: Any) -> bool:
    return isinstance(found, list | tuple) and all(isinstance(one, Mapping) for one in found)


class MessageTransformer:
    """An object with ``transform(messages, tools) -> messages`` as a system.

    Its output holds the new ``messages``, their ``region`` (between as many messages as stood
    before and behind it) and ``context``, the region's text. Where the messages changed, the
    recorded ones are laid aside: ``raw_messages`` is empty, so that no later step sends what was
    compressed away.

    Args:
        transformer: The object. ``name``, ``fingerprint``, ``reads`` and ``close`` of it count,
            where it has them, and ``redeem(messages)``: what each of its markers in them brings
            back, by reference; it is put out as ``redeemed``.
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer
        self.name = str(getattr(transformer, "name", type(transformer).__name__))
        self.reads = getattr(transformer, "reads", ("messages", "tools", "region"))
        for ability in {"fingerprint", "close"} & set(dir(transformer)):
            setattr(self, ability, getattr(transformer, ability))

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the example's messages as the transformer leaves them.

        Raises:
            ValueError: The example has no messages.
            TypeError: The transformer returned no list of messages.
        """
        before = example.get("messages")
        if not before:
            raise ValueError(
                f"{self.name} rewrites messages, and the example has none. Give it a dataset of "
                "sessions."
            )
        found = self.transformer.transform(
            [dict(message) for message in before], list(example.get("tools") or ())
        )
        if not isinstance(found, Sequence) or not all(
            isinstance(one, Mapping) and "role" in one for one in found
        ):
            raise TypeError(
                f"{self.name}: transform() must return a list of messages, not "
                f"{type(found).__name__}."
            )
        messages = [dict(message) for message in found]
        start, end = example.get("region") or (0, len(before))
        region = [start, max(start, len(messages) - (len(before) - end))]
        changed: dict[str, Any] = {} if messages == before else {"raw_messages": []}
        if callable(redeem := getattr(self.transformer, "redeem", None)):
            changed["redeemed"] = dict(redeem(messages))
        return {
            "messages": messages,
            "region": region,
            "context": region_text(messages, region),
            **changed,
        }
