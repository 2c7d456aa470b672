"""What a reply says to its reader around its answer: "I hope this helps!", "Sure, here is the
answer:"."""

from __future__ import annotations

import re

_MOST = 6  # sentences of courtesy in a row
_LONGEST = 300
_CLOSING = re.compile(
    r"""
    [\W_]*(?:
      (?:I\s+|we\s+)?(?:really\s+|do\s+)?hope\s+(?:this|that|it|these|the)\b.{0,60}\b(?:help|clear|useful|clarif|answer)
     |(?:please\s+)?(?:do\s+)?(?:let\s+me\s+know|feel\s+free|don'?t\s+hesitate|do\s+not\s+hesitate|reach\s+out)\b
     |(?:is|was)\s+there\s+anything\s+else\b
     |if\s+(?:you|there)\b.{0,120}\b(?:questions?|help|let\s+me\s+know|ask|details?|clarification|free\s+to|explanation|assist)
     |(?:would|do)\s+you\s+(?:like|want|need|have)\b.{0,160}\?
     |(?:thanks?|thank\s+you)\b.{0,60}
     |(?:have|enjoy)\s+(?:a|your)\s+(?:\w+\s+){0,2}(?:day|evening|weekend|time)\b
     |good\s+luck\b | (?:I'?m|I\s+am|always|glad|happy)\s+(?:\w+\s+){0,3}to\s+help\b
     |(?:I'?m|I\s+am)\s+here\s+to\s+help\b
     |you(?:'re|\s+are)\s+welcome\b | (?:best|kind)\s+regards\b
     |cheers\b | happy\s+to\s+(?:help|assist|explain)\b
    )[^\n]{0,200}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE_START = re.compile(r"(?:\n|[.!?]['\")*_]*\s)\s*(?=\S)")
_ANSWERS = re.compile(
    r"\b(?:answer|rating|score|verdict|label)\s*(?:is|:|=)|\\boxed|\[\[|####|\d", re.IGNORECASE
)
_OPENING = re.compile(
    r"\s*(?:(?:sure|certainly|of\s+course|absolutely|okay|ok|alright|great\s+question|no\s+problem"
    r"|yes)(?:\s+thing)?[,!.]+\s*)?"
    r"(?:here(?:'s|\u2019s|\s+is|\s+are)\b|below\s+is\b)[^\n.:]{0,80}(?::[ \t]*|\.?[ \t]*(?=\n))"
    r"|\s*(?:sure|certainly|of\s+course|absolutely|okay|ok|alright|great\s+question|no\s+problem)"
    r"(?:\s+thing)?[!.,]*[ \t]*\n",
    re.IGNORECASE,
)


def without_remarks(text: str) -> str:
    """Return a text without the courtesies that open and close it, unless it says nothing else.

    >>> without_remarks("Sure! Here is the answer:\\n18\\n\\nI hope this helps!")
    '18'
    """
    return without_opening(without_closing(text))


def without_closing(text: str) -> str:
    """Return a text without the courtesies at its end; a sentence that states something is none.

    >>> without_closing("The answer is B. Hope this helps!"), without_closing("Thank you.")
    ('The answer is B.', 'Thank you.')
    """
    text = text.rstrip()
    for _ in range(_MOST):
        start = max(0, len(text) - _LONGEST)
        starts = [match.end() for match in _SENTENCE_START.finditer(text, start)]
        if not starts:
            return text
        last = text[starts[-1] :]
        if not _CLOSING.fullmatch(last) or _ANSWERS.search(last):
            return text
        text = text[: starts[-1]].rstrip()
    return text


def without_opening(text: str) -> str:
    """Return a text without the courtesy at its beginning.

    >>> without_opening("Here is the final answer: 18")
    '18'
    """
    opening = _OPENING.match(text)
    answer = text[opening.end() :].lstrip() if opening else ""
    return answer or text
