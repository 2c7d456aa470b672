"""Messages of an example, and systems that rewrite messages.

An example of a session has ``messages`` - ``role``, ``content``, for the agent's ``tool_calls``
(``id``, ``name``, ``arguments``), for results ``tool_call_id`` - and ``region``: the positions of
the first message that may be removed and of the message after the last one. Its ``context`` is that
region as one text, so that systems that rewrite texts can rewrite it, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def whole_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, then the arguments of its calls, a line each.

    A message in the form of a provider is read, too.

    >>> calls = [{"id": "1", "name": "read", "arguments": "{}"}]
    >>> whole_text({"role": "assistant", "content": "I look.", "tool_calls": calls})
    'I look.\\n{}'
    """
    lines = [_text_of_content(message.get("content"))]
    calls = message.get("tool_calls")
    if isinstance(calls, list | tuple):
        lines += [_arguments(call) for call in calls if isinstance(call, Mapping)]
    return "\n".join(lines)


def _arguments(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return str((function if isinstance(function, Mapping) else call).get("arguments"))


def _text_of_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = content.get("text", content.get("content", content.get("input")))
    if isinstance(content, list | tuple):
        return "\n".join(map(_text_of_content, content))
    return "" if content is None else str(content)


def region_text(messages: Sequence[Mapping[str, Any]], region: Sequence[int]) -> str:
    """Return the messages of a region as one text, a blank line between them."""
    start, end = region
    return "\n\n".join(map(whole_text, messages[start:end]))


def as_sent(example: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example with the output of a system, its messages as one text without repetition.

    Where there are messages, ``context`` is their region, so it is left out. If a system returned
    only a new context, the context replaces the region.

    >>> messages = [{"role": "user", "content": "one"}, {"role": "tool", "content": "two"}]
    >>> as_sent({"messages": messages, "region": [1, 2]}, {"context": "2"})["messages"]
    'one\\n2'
    """
    sent = {**example, **output}
    recorded = example.get("messages")
    rewritten = output.get("messages")
    if not (recorded and _are_messages(recorded) and _are_messages(rewritten or [])):
        return sent
    if "region" not in example and example.get("context"):
        return sent
    messages = rewritten or recorded
    context = sent.pop("context", None)
    start, end = example.get("region") or (0, len(recorded))
    if "context" in output and rewritten is None:
        messages = [*recorded[:start], {"content": context}, *recorded[end:]]
    sent["messages"] = "\n".join(map(whole_text, messages))
    return sent


def _are_messages(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)


class MessageTransformer:
    """An object with ``transform(messages, tools) -> messages`` as a system.

    Its output contains the new ``messages``, their ``region`` (with as many messages before and
    after it as before) and ``context``, the region's text. Where the messages changed,
    ``raw_messages`` is empty, so that no later step sends the recorded messages.

    Args:
        transformer: The object. Its ``name``, ``fingerprint``, ``reads`` and ``close`` are used,
            where it has them, and ``redeem(messages)``, which returns the text that each of its
            markers stands for, by reference; the output has it as ``redeemed``.
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
        recorded = example.get("messages")
        if not recorded:
            raise ValueError(
                f"{self.name} rewrites messages, and the example has none. Give it a dataset of "
                "sessions."
            )
        result = self.transformer.transform(
            [dict(message) for message in recorded], list(example.get("tools") or ())
        )
        if not isinstance(result, Sequence) or not all(map(_has_role, result)):
            raise TypeError(
                f"{self.name}: transform() must return a list of messages, not "
                f"{type(result).__name__}."
            )
        messages = [dict(message) for message in result]
        start, end = example.get("region") or (0, len(recorded))
        region = [start, max(start, len(messages) - (len(recorded) - end))]
        output: dict[str, Any] = {
            "messages": messages,
            "region": region,
            "context": region_text(messages, region),
        }
        if messages != recorded:
            output["raw_messages"] = []
        redeem = getattr(self.transformer, "redeem", None)
        if callable(redeem):
            output["redeemed"] = dict(redeem(messages))
        return output


def _has_role(message: object) -> bool:
    return isinstance(message, Mapping) and "role" in message
