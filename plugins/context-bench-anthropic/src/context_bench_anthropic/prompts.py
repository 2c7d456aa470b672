"""Requests of the Messages API, made from the same layouts that OpenAI-compatible endpoints are asked in.

    system   the context in the system prompt, the question as user message
    user     one user message: context, blank line, question
    tool     the question, then the context as the result of a tool call
    chat     the context as an earlier user turn, then the question
    messages the messages of a recorded session, as they were recorded

A system message becomes part of the ``system`` field, a tool call a ``tool_use`` block, its result a ``tool_result`` block.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.prompts import prompt_texts
from context_bench_anthropic.recorded import recorded_tools, session_of, with_joined_turns
from context_bench_openai import build_messages
from context_bench_openai.layouts import sends_session

Block = dict[str, Any]
_TOOL = {
    "description": "Returns the text that the question is about.",
    "input_schema": {"type": "object", "properties": {}},
}


def prompt_of(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields ``system``, ``messages`` and ``tools`` of a request for chat messages.

    >>> prompt_of([{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"}])["system"]
    [{'type': 'text', 'text': 'Be short.'}]

    Raises:
        ValueError: A message has a role that the interface does not know.
    """
    system: list[Block] = []
    turns: list[dict[str, Any]] = []
    tools: list[str] = []
    for position, message in enumerate(messages):
        role = message.get("role")
        if role in ("system", "developer"):
            system += _blocks(message.get("content"))
        elif role in ("user", "assistant", "tool"):
            turns.append(
                {
                    "role": "assistant" if role == "assistant" else "user",
                    "content": _content(message),
                }
            )
            tools += [call["function"]["name"] for call in message.get("tool_calls") or ()]
        else:
            raise ValueError(
                f"message {position} has the role {role!r}, which the Messages API does not know."
            )
    fields: dict[str, Any] = {"messages": turns}
    if system:
        fields["system"] = system
    if tools:  # a history with a tool call needs the tool's definition; calling it once more would answer nothing
        fields["tools"] = [{"name": name, **_TOOL} for name in dict.fromkeys(tools)]
        fields["tool_choice"] = {"type": "none"}
    return fields


def prompt_of_example(
    example: Mapping[str, Any], layout: str, system_prompt: str | None
) -> dict[str, Any]:
    """Return the prompt of an example in a layout.

    Raises:
        ValueError: The layout is unknown, or the example has nothing to ask.
    """
    if sends_session(example, layout):
        return session_prompt(example, system_prompt)
    fields = prompt_of(build_messages(example, layout, system_prompt))
    if layout == "user":
        _part_context_and_question(fields["messages"], example)
    return fields


def session_prompt(example: Mapping[str, Any], system_prompt: str | None) -> dict[str, Any]:
    """Return the prompt of a recorded session: its messages are the very same where they were recorded for this interface.

    Raises:
        ValueError: The example has no messages.
    """
    messages, is_recorded = session_of(example)
    opening = [{"role": "system", "content": system_prompt}] if system_prompt else []
    if is_recorded:
        told = [one for one in example["messages"] if one["role"] == "system"]
        fields = {**prompt_of([*opening, *told]), "messages": messages}
        called = [
            block["name"]
            for message in messages
            if isinstance(message.get("content"), list)
            for block in message["content"]
            if block.get("type") == "tool_use"
        ]
        if called:
            fields["tools"] = [{"name": name, **_TOOL} for name in dict.fromkeys(called)]
    else:
        fields = prompt_of([*opening, *messages])
        fields["messages"] = with_joined_turns(fields["messages"])
    tools = recorded_tools(example)
    if tools:
        fields.pop("tool_choice", None)
        fields["tools"] = tools
    if _is_told_as_recorded(example):
        raw = example["raw_system"]
        added = prompt_of(opening).get("system", [])
        fields["system"] = [*added, *_blocks(raw)] if added else raw
    return fields


def _is_told_as_recorded(example: Mapping[str, Any]) -> bool:
    """Whether the system prompt is still the one that was recorded beside the messages; a compressor may have changed it."""
    raw = example.get("raw_system")
    told = [str(one.get("content") or "") for one in example["messages"] if one["role"] == "system"]
    if not raw or not told:
        return False
    texts = [raw] if isinstance(raw, str) else [str(block.get("text", "")) for block in raw]
    return "".join("".join(texts).split()) == "".join("".join(told).split())


def with_breakpoint(fields: Mapping[str, Any], where: str, ttl: str | None) -> dict[str, Any]:
    """Return a prompt that is cached up to a breakpoint.

    Args:
        fields: The prompt.
        where: ``none``; ``prefix``, before the last message, where the question stands; or ``all``, its end.
        ttl: How long the cache lives; None leaves it to the server.
    """
    if where == "none":
        return dict(fields)
    control = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    system = [dict(block) for block in fields.get("system", ())]
    messages = [
        {**message, "content": [dict(block) for block in message["content"]]}
        for message in fields["messages"]
    ]
    if where == "all":
        candidates = [block for message in messages for block in message["content"]]
    else:
        earlier = [block for message in messages[:-1] for block in message["content"]]
        candidates = [*system, *earlier, *messages[-1]["content"][:-1]]
    if candidates:
        candidates[-1]["cache_control"] = control
    return {**fields, **({"system": system} if system else {}), "messages": messages}


def _content(message: Mapping[str, Any]) -> list[Block]:
    if message.get("role") == "tool":
        result = {
            "type": "tool_result",
            "tool_use_id": message.get("tool_call_id"),
            "content": _blocks(message["content"]),
        }
        return [result]
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": _input(call["function"]),
        }
        for call in message.get("tool_calls") or ()
    ]
    return _blocks(message.get("content"), may_be_empty=bool(calls)) + calls


def _blocks(content: Any, may_be_empty: bool = False) -> list[Block]:
    """Return content as blocks. The interface refuses empty text, so that stands as a dash."""
    if isinstance(content, list):
        return [dict(block) for block in content]
    text = (
        content
        if isinstance(content, str)
        else ""
        if content is None
        else json.dumps(content, ensure_ascii=False)
    )
    if not text.strip():
        return [] if may_be_empty else [{"type": "text", "text": "-"}]
    return [{"type": "text", "text": text}]


def _input(function: Mapping[str, Any]) -> Any:
    try:
        return json.loads(function.get("arguments") or "{}")
    except (ValueError, RecursionError):
        return {}


def _part_context_and_question(messages: list[dict[str, Any]], example: Mapping[str, Any]) -> None:
    """Put the question into a block of its own, so that a breakpoint can stand before it; the text stays the same."""
    question = prompt_texts(example).question
    if len(messages) != 1 or not question:
        return
    [block] = messages[0]["content"]
    context = block["text"].removesuffix(question)
    if context.strip() and context != block["text"]:
        messages[0]["content"] = [
            {"type": "text", "text": context},
            {"type": "text", "text": question},
        ]
