"""How an example becomes chat messages.

A proxy may touch only some roles, so the same example in another layout can be another experiment. Every layout sends
the same texts:

    system   the context as a system message, the question as a user message
    user     one user message: context, blank line, question
    tool     the question, then the context as the result of a tool call
    chat     the context as an earlier user turn, then the question
    messages the messages of a recorded session, as they were recorded

The instruction of an example, which says in which form the task wants its answer, stands behind the question, and worked
examples before it. An example with
``turns`` is sent as those turns in every layout, and one with nothing but ``messages`` as these. An example without a context
of its own is one user message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from context_bench.prompts import prompt_texts
from context_bench_conversations import messages_of_turns
from context_bench_openai.recorded import openai_messages, session_messages

Message = dict[str, Any]


def build_messages(
    example: Mapping[str, Any], layout: str = "system", system_prompt: str | None = None
) -> list[Message]:
    """Return the chat messages of an example.

    >>> build_messages({"context": "Rome is in Italy.", "question": "Where is Rome?"}, layout="user")
    [{'role': 'user', 'content': 'Rome is in Italy.\\n\\nWhere is Rome?'}]

    Raises:
        ValueError: The layout is unknown, or the example has nothing to ask.
    """
    opening = opening_messages(system_prompt)
    if sends_session(example, layout):
        messages, is_recorded = session_messages(example)
        return opening + (messages if is_recorded else openai_messages(messages))
    if example.get("turns"):
        return opening + messages_of_turns(example["turns"])
    texts = prompt_texts(example)
    if not texts.present:
        raise ValueError(
            "There is nothing to ask: the example has neither a context nor a question nor turns. "
            f"It has: {', '.join(map(str, example)) or 'no fields'}."
        )
    if not texts.context:
        return [*opening, _user(texts.question)]
    return opening + layout_named(layout)(texts.context, texts.question)


def sends_session(example: Mapping[str, Any], layout: str) -> bool:
    """Whether an example is sent as the messages that it holds: the layout says so, or it has nothing else to ask."""
    return layout == MESSAGES or bool(
        example.get("messages") and not example.get("turns") and not prompt_texts(example).present
    )


def opening_messages(system_prompt: str | None) -> list[Message]:
    """Return the messages that stand before everything else."""
    return [{"role": "system", "content": system_prompt}] if system_prompt else []


def layout_named(name: str) -> Callable[[str, str], list[Message]]:
    """Return the layout of this name.

    Raises:
        ValueError: There is no such layout; the message lists them.
    """
    try:
        return LAYOUTS[name]
    except (KeyError, TypeError):
        raise ValueError(f"No layout is called {name!r}. There is: {', '.join(LAYOUTS)}.") from None


def _context_as_system(context: str, question: str) -> list[Message]:
    return [{"role": "system", "content": context}, _user(question)]


def _one_user_message(context: str, question: str) -> list[Message]:
    return [_user(f"{context}\n\n{question}")]


def _context_as_tool_result(context: str, question: str) -> list[Message]:
    call = {
        "id": "call_context",
        "type": "function",
        "function": {"name": "read_context", "arguments": "{}"},
    }
    return [
        _user(question),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_context", "content": context},
    ]


def _context_as_earlier_turn(context: str, question: str) -> list[Message]:
    return [
        _user(context),
        {"role": "assistant", "content": "I have read it. What is your question?"},
        _user(question),
    ]


def _no_session(context: str, question: str) -> list[Message]:
    raise ValueError(
        "layout=messages sends recorded messages, and the example has none. Choose another layout."
    )


MESSAGES = "messages"

LAYOUTS: Mapping[str, Callable[[str, str], list[Message]]] = {
    "system": _context_as_system,
    "user": _one_user_message,
    "tool": _context_as_tool_result,
    "chat": _context_as_earlier_turn,
    MESSAGES: _no_session,
}


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
