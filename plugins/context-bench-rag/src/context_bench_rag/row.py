"""The four texts of a RAG row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench.answers import answer_of, references

_CONTEXTS = ("retrieved_contexts", "contexts", "context")
_QUESTIONS = ("question", "user_input")


@frozen
class RagRow:
    """A row of a system that looks texts up.

    Attributes:
        question: What was asked.
        response: What was answered; None where that is no text.
        contexts: The texts that were found, the best first. Those that the system returns come before the example's.
        reference: The first good answer; empty where there is none.
    """

    question: str
    response: str | None
    contexts: tuple[str, ...]
    reference: str

    @classmethod
    def of(cls, original: Mapping[str, Any], processed: Mapping[str, Any]) -> RagRow:
        """Read an example and what a system made of it."""
        found = (_texts(row.get(name)) for row in (processed, original) for name in _CONTEXTS)
        answers = references(original)
        asked = (original.get(name) for name in _QUESTIONS)
        return cls(
            question=next((text for text in asked if isinstance(text, str) and text.strip()), ""),
            response=answer_of(processed),
            contexts=next((texts for texts in found if texts), ()),
            reference=answers[0] if answers else "",
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
            if name in reasons and not getattr(self, name):
                return reasons[name]
        return None

    @property
    def source(self) -> str:
        """All contexts as one text."""
        return "\n\n".join(self.contexts)


def _texts(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, (list, tuple)) else [value]
    named = (one.get("text", one.get("content")) if isinstance(one, Mapping) else one for one in listed)
    return tuple(text for text in named if isinstance(text, str) and text.strip())
