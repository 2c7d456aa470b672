"""What there is to judge in a row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_bench.answers import gold, part_answer
from context_bench_conversations import open_turns


class UnjudgeableRow(ValueError):  # noqa: N818 - says what the row is
    """The row holds nothing that could be judged; the message says what is missing."""


@dataclass(frozen=True)
class Row:
    """The texts of a row.

    Attributes:
        task: What was asked: the question, or the context when there is no question.
        context: The context beside the question; empty when there is none.
        references: Good answers, any of which will do.
        response: The answer under judgement; of a conversation, its last reply.
        conversation: The whole conversation as ``(role, text)``, replies included; empty for a single question.
    """

    task: str
    context: str
    references: tuple[str, ...]
    response: str
    conversation: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Row:
        """Read an example and what a system made of it.

        Raises:
            UnjudgeableRow: There is no response, or nothing to judge it by.
        """
        response = processed.get("response")
        if isinstance(response, (bytes, bytearray, Mapping)) or not isinstance(
            response, (str, int, float)
        ):
            raise UnjudgeableRow(f"the response is {_kind(response)}, not text")
        context, question = text_of(original.get("context")), text_of(original.get("question"))
        answer = part_answer(str(response)).answer
        conversation = _conversation(original, processed, answer)
        asked = {
            question.strip(),
            *(text.strip() for role, text in conversation if role != "assistant"),
        }
        row = cls(
            task=question if question.strip() else context,
            context=context if question.strip() and context.strip() not in asked else "",
            references=_references(original),
            response=answer,
            conversation=conversation,
        )
        if not (row.task.strip() or row.references or row.conversation):
            raise UnjudgeableRow(
                "the example has neither a question nor a context nor turns nor an answer"
            )
        return row


def compared_text(
    field: str, row: Row, original: Mapping[str, Any], processed: Mapping[str, Any]
) -> str:
    """Return the text of a field that the response is compared with; ``answer`` means the first reference.

    Raises:
        UnjudgeableRow: The row has no such text.
    """
    if field in ("answer", "answers"):
        other = row.references[0] if row.references else ""
    else:
        other = text_of(original.get(field, processed.get(field)))
    if not other.strip():
        raise UnjudgeableRow(f"the row has no {field!r} to compare the response with")
    return other


def text_of(value: Any) -> str:
    """Return a field as text: lists of texts joined by blank lines, anything else that is no text as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        raise UnjudgeableRow(
            f"a field of the example is {_kind(value)}, which cannot be shown as text"
        ) from None


def _references(original: Mapping[str, Any]) -> tuple[str, ...]:
    found = gold(original)
    if found.texts:
        return found.texts
    return tuple(dict.fromkeys(text for text in map(text_of, found.values) if text.strip()))


def _conversation(
    original: Mapping[str, Any], processed: Mapping[str, Any], response: str
) -> tuple[tuple[str, str], ...]:
    """Return the turns with the replies to them; the last reply is the response."""
    turns = [_turn(turn) for turn in _sequence(original.get("turns"))]
    replies = [
        part_answer(text_of(reply.get("content") if isinstance(reply, Mapping) else reply)).answer
        for reply in _sequence(processed.get("turn_responses"))
    ]
    asked = open_turns([role for role, _ in turns])
    replied = dict(zip(asked, replies)) if len(replies) == len(asked) else {}
    conversation: list[tuple[str, str]] = []
    for place, turn in enumerate(turns):
        conversation.append(turn)
        if place in replied:
            conversation.append(("assistant", replied[place]))
    if turns and not replied:
        conversation.append(("assistant", response))
    return tuple(conversation)


def _turn(turn: Any) -> tuple[str, str]:
    if isinstance(turn, Mapping):
        return str(turn.get("role", "user")), text_of(turn.get("content"))
    return "user", text_of(turn)


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _kind(value: Any) -> str:
    return "missing" if value is None else f"of type {type(value).__name__}"
