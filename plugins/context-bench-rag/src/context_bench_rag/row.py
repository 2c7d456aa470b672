"""The four texts of a RAG row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench.answers import answer_of, plain_value, references

_CONTEXTS = ("retrieved_contexts", "contexts", "context")
_QUESTIONS = ("question", "user_input")
_TEXTS = ("text", "content", "page_content")
NOTHING_FOUND = "the system found no text"
"""Why a score of contexts is 0.0 where the system returned none."""


@frozen
class RagRow:
    """A row of a system that looks texts up.

    Attributes:
        question: What was asked.
        response: What was answered; None where that is no text.
        contexts: The texts that were found, the best first. Those that the system returns come before the example's.
        reference: The first good answer; empty where there is none.
        found_nothing: Whether the system says that it found no text: that is a finding, and the example's are not what it found.
    """

    question: str
    response: str | None
    contexts: tuple[str, ...]
    reference: str
    found_nothing: bool = False

    @classmethod
    def of(cls, original: Mapping[str, Any], processed: Mapping[str, Any]) -> RagRow:
        """Read an example and what a system made of it."""
        returned = [plain_value(processed.get(name)) for name in _CONTEXTS]
        of_system = [value for value in returned if value is not None]
        found_nothing = bool(of_system) and all(map(_is_empty, of_system))
        told = (
            []
            if found_nothing
            else [*of_system, *(plain_value(original.get(name)) for name in _CONTEXTS)]
        )
        answers = references(original)
        asked = (original.get(name) for name in _QUESTIONS)
        return cls(
            question=next((text for text in asked if isinstance(text, str) and text.strip()), ""),
            response=answer_of(processed),
            contexts=next((texts for texts in map(_texts, told) if texts), ()),
            reference=answers[0] if answers else "",
            found_nothing=found_nothing,
        )

    def lacks(self, *needed: str) -> str | None:
        """Return what of the needed parts the row lacks, as a reason to leave it unscored; None when it has them all."""
        reasons = {
            "question": "the example has no question",
            "contexts": f"neither output nor example has {' or '.join(_CONTEXTS)}",
            "reference": "the example has no reference answer",
        }
        for name in needed:
            if name == "response" and self.response is None:
                return "the response is no text"
            if name == "contexts" and self.found_nothing:
                continue
            if name in reasons and not getattr(self, name):
                return reasons[name]
        return None

    @property
    def source(self) -> str:
        """All contexts as one text."""
        return "\n\n".join(text for text in self.contexts if text.strip())


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a field, blank ones in their places; none where all are blank."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    texts = tuple(text for text in map(_text, listed) if isinstance(text, str))
    return texts if any(text.strip() for text in texts) else ()


def _text(value: Any) -> Any:
    return (
        next((value[name] for name in _TEXTS if name in value), None)
        if isinstance(value, Mapping)
        else value
    )


def _is_empty(value: Any) -> bool:
    listed = value if isinstance(value, (list, tuple)) else [value]
    return all(isinstance(text, str) and not text.strip() for text in map(_text, listed))
