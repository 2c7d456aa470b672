"""Verdicts on one aspect: "A wins on style" says nothing of the whole where "B wins on accuracy" stands beside it."""

from __future__ import annotations

import re

_OF_ALL = (  # what stands behind "in" or "for" and limits a verdict to nothing
    r"(?:conclusion|summary|short|sum|total|general|fact|contrast|comparison|balance|overall|this|these|that|my|our|me|us|both"
    r"|every|all|most|any|almost|example|instance|closer|closest|further|reflection|reconsideration|review|inspection|second|light"
    r"|view|reality|truth|its|their|being|what|(?:several|many|two|three) reasons"
    r"|the (?:whole|end|other|above|following|reasons?|(?:given )?(?:task|question|prompt|user|instruction)s?))\b"
)
_ASPECT = rf"(?:on|in|at|for|regarding|concerning|when it comes to|with respect to)\s{{1,9}}(?!{_OF_ALL})[a-z]"
_HEADING = r"(?:final|overall|verdict|winner|answer|conclusion|decision|result|judge?ment|preference|choice|better|best)\b"
_BEHIND = re.compile(
    r"(?:\s{1,9}(?:than\s{1,9})?(?:[a-z]{1,12}\s{1,9})?\(?[ab12]\)?)?"
    rf"\s{{1,9}}(?:{_ASPECT}|(?:written|structured|organi[sz]ed|formatted|phrased|styled|worded|presented)\b)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"\W{{0,9}}(?:(?:and|but|while|whereas)\s)?(?:in terms of\b|as (?:for|to)\b|on (?:the )?(?:one|other) hand\b|{_ASPECT}"
    rf"|(?!(?:my |the )?{_HEADING})[a-z][a-z ]{{2,30}}:\s)",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\b(?:more|less) \w+\Z", re.IGNORECASE)
_CONCLUDING = re.compile(
    r"\b(?:overall|therefore|thus|hence|so|finally|ultimately|in (?:conclusion|summary|total|short|the end)"
    r"|on (?:balance|the whole))\b",
    re.IGNORECASE,
)
_OTHER = re.compile(
    rf"[^.\n]{{1,60}}?(?:[,;]|\b(?:and|but|while|whereas))\s{{1,9}}(?:(?:and|but|while|whereas)\s{{1,9}})?"
    rf"(?:[A-Za-z]{{1,12}}\s{{1,9}})?(?P<side>[AB12])\s{{1,9}}(?i:{_ASPECT})"
)
_SENTENCE = re.compile(r"[.;!?\n]")
_REACH = 80


def is_of_an_aspect(match: re.Match[str]) -> bool:
    """Whether a verdict is one on a single aspect, by the words around it, and not drawn as the conclusion."""
    start = match.end() - len(match[0].lstrip())
    before = _SENTENCE.split(match.string[max(0, start - _REACH) : start])[-1]
    behind = _SENTENCE.split(match.string[match.end() : match.end() + _REACH])[0]
    if any(map(_CONCLUDING.search, (before, match[0], behind))):
        return False
    return any((_BEHIND.match(behind), _BEFORE.match(before), _COMPARED.search(match[0])))


def other_aspect(match: re.Match[str]) -> re.Match[str] | None:
    """Return the side that follows for another aspect without a verb, as in "A is better in style, B in accuracy"."""
    return (
        _OTHER.match(match.string, match.end())
        if _BEHIND.match(match.string, match.end())
        else None
    )
