"""The texts of an example that a model is sent: its context, its question and its instruction.

Every layout of every system takes them from here, so that all systems ask the same.

An example says what its context is with ``context_role``: material of its own (``given``, or
``shared`` with other questions), nothing (``none``: the question is all there is), or the question
itself (``question``: a context compressor may shorten it, ``--compress-question``). Its
``instruction`` says in which form the task wants its answer, and follows the question. Its
``shots`` are worked examples, as one text, and come before the question. Context compressors
receive neither.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

GIVEN = "given"
SHARED = "shared"
NONE = "none"
QUESTION = "question"

CONTEXT_ROLES = (GIVEN, SHARED, NONE)
"""What a dataset can declare its contexts to be."""

AROUND_QUESTIONS = ("shots", "instruction")
"""Fields of an example that are sent before and after its question."""

ASKING_FIELDS = ("instruction", "context_role", "shots")
"""Fields of an example that say how it is asked; systems receive them of every dataset."""

HISTORY_FIELDS = ("sessions", "haystack_sessions")
"""Fields with earlier sessions, which a memory is told and no model is sent."""

_HOLDS_A_SESSION = ("messages", "turns", *HISTORY_FIELDS)


class PromptTexts(NamedTuple):
    """What a model is sent of an example.

    Attributes:
        context: The context; empty where the question is all there is.
        question: Worked examples, question and instruction, a blank line between them.
    """

    context: str
    question: str

    @property
    def present(self) -> list[str]:
        """The texts that are not empty, in this order."""
        return [text for text in self if text]


def prompt_texts(example: Mapping[str, Any]) -> PromptTexts:
    """Return the texts of an example that a model is sent; both are empty where it has none.

    >>> example = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
    >>> prompt_texts({**example, "instruction": "Answer with the country alone."}).question
    'Where is Rome?\\n\\nAnswer with the country alone.'
    >>> prompt_texts({**example, "context_role": "none"}).context
    ''

    Raises:
        ValueError: It holds sessions that a model would not be sent, as nothing has put them, or
            what a memory keeps of them, into the context.
    """
    context = _text(example, "context")
    if not context and any(example.get(name) for name in HISTORY_FIELDS):
        raise ValueError(
            "The example holds earlier sessions, and the model would be asked without them. Put a "
            "memory or whole-history before it: --system whole-history --reader MODEL; "
            "whole-history:last=0 leaves them out."
        )
    question = _text(example, "question")
    context, question = _as_sent(context, question, context_role(example))
    return PromptTexts(context, asked(question, example) if question else "")


def _as_sent(context: str, question: str, role: str) -> tuple[str, str]:
    """Return context and question as they are sent; the context is empty where the question is all
    there is."""
    if role == QUESTION:
        return "", context or question
    if role == NONE:
        return "", question or context
    if not question or context.strip() == question.strip():
        return "", context
    return context, question


def asked(question: str, example: Mapping[str, Any], apart: Collection[str] = ()) -> str:
    """Return a question with the worked examples of its example before it and the instruction after
    it, where it has them.

    Args:
        question: The question.
        example: The example.
        apart: Those of :data:`AROUND_QUESTIONS` that are sent elsewhere.
    """
    sent = {name: _text(example, name).strip() for name in AROUND_QUESTIONS if name not in apart}
    texts = [sent.get("shots"), question, sent.get("instruction")]
    return "\n\n".join(text for text in texts if text)


def context_role(example: Mapping[str, Any]) -> str:
    """Return what the context of an example is: its ``context_role``, or what its fields tell.

    An example without a context, and without messages, turns or sessions in its place, has none.
    """
    role = example.get("context_role")
    if isinstance(role, str) and role:
        return role
    if _text(example, "context") or any(example.get(name) for name in _HOLDS_A_SESSION):
        return GIVEN
    return NONE


def as_compressible(example: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an example whose question stands as its context, where it has no other context.

    A context compressor may then shorten the question, and what it leaves is asked. A conversation
    is asked turn by turn, so it stays as it is.

    >>> as_compressible({"question": "What is 2 + 2?"})["context"]
    'What is 2 + 2?'
    """
    if context_role(example) != NONE or example.get("turns"):
        return example
    question = example.get("question") or example.get("context")
    return {**example, "context": question, "context_role": QUESTION}


def text_of_field(value: Any) -> str:
    """Return a field of an example as text: paragraphs of a list apart, anything else that is no
    text as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _text(example: Mapping[str, Any], name: str) -> str:
    """Return a field as text, empty where it is blank."""
    text = text_of_field(example.get(name))
    return text if text.strip() else ""
