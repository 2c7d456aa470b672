"""The score: the fraction of the needles that a response names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench.answers import answer_of, plain_signs, plain_value, text_of, without_layout
from context_bench.records import Scores


class NeedleRecall:
    """The fraction of a row's ``needles`` found in the response's answer part.

    All needles are wanted: they are parts of one answer, not alternatives. A needle is found where the response
    contains it, upper and lower case being the same; it is what RULER calls ``string_match_all`` (its reports show it
    times 100). Where the system gave no response but a ``context`` (a compressor without a reader), the needles are
    looked for in that: the score then says what survived the compression. A row without needles is not scored. Where a row
    says ``match = "part"``, as questions over documents do, one needle is enough (RULER's ``string_match_part``).

    Args:
        word_boundary: Count a needle only where no word character touches it, so that ``12`` is not found in ``123``.

    >>> NeedleRecall().score({"needles": ["4711023", "8150815"]}, {"response": "The number is 4711023."})
    {'needle_recall': 0.5}
    """

    name = "needle-recall"

    def __init__(self, word_boundary: bool = False) -> None:
        self.word_boundary = word_boundary

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Return ``needle_recall`` from 0 to 1; ``{}`` without needles, or without anything to read.

        The details say what was read (``read_from``: ``response`` or ``context``), and which needles are ``missing``.
        """
        needles = _needles_of(original.get("needles"))
        read_from, text = _text_of(processed)
        if not needles or text is None:
            return Scores(
                {},
                {
                    "unscored": "there is no text to look in"
                    if needles
                    else "the example has no needles"
                },
            )
        missing = [needle for needle in needles if not self._is_in(needle.lower(), text)]
        found = len(needles) - len(missing)
        share = float(found > 0) if original.get("match") == "part" else found / len(needles)
        return Scores(
            {"needle_recall": share},
            {"read_from": read_from, "missing": missing},
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change a score."""
        return {"word_boundary": self.word_boundary}

    def _is_in(self, needle: str, text: str) -> bool:
        if needle not in text:
            return False
        return (
            not self.word_boundary
            or re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", text) is not None
        )


def _needles_of(value: object) -> list[str]:
    """Return the needles as texts; a single text or number is one needle, blank ones are none."""
    value = plain_value(value)
    items = value if isinstance(value, (list, tuple)) else [value]
    texts = (None if isinstance(item, bool) else text_of(item) for item in items)
    return [plain_signs(text) for text in texts if text and text.strip()]


def _text_of(processed: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the name of the field that is read, and its text in lower case."""
    if processed.get("response") is not None:
        response = answer_of(processed)
        return "response", None if response is None else _searched(response)
    context = plain_value(processed.get("context"))
    if isinstance(context, (list, tuple)):
        context = "\n".join(part for part in context if isinstance(part, str))
    return "context", plain_signs(context).lower() if isinstance(context, str) else None


def _searched(response: str) -> str:
    """A response in small letters, as it is written and behind that without its layout, in which needles may be broken."""
    text = plain_signs(response)
    bare = without_layout(text)
    return (text if bare == text else f"{text}\n\n{bare}").lower()
