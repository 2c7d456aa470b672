"""What a mark of omission says itself: how much it left out, and by what that is fetched again.

Such a line tells of what is gone, so its own literals are no invention. All others on the line are.
"""

from __future__ import annotations

import re

from context_bench_survival.literals import Literal
from context_bench_survival.markers import references_in

_MARK = re.compile(
    r"(?i)\b(?:omitted|elided|truncated|compressed|removed|retrieve|collapsed|hidden|summari[sz]ed|ccr)\b|<<|(?:^\s*|[\[(])\.\.\.|…"
)
_GROUP = re.compile(r"<<[^<>]*>>|\[[^\[\]\"]*\]|\([^()\"]*\)")
"""What is set apart in brackets; a list of JSON is none of these."""

_COUNT = re.compile(
    r"(?i)(?<![\w.,])(?P<first>\d[\d,]*)(?:\s*(?:->|→|to|of)\s*(?P<second>\d[\d,]*))?\s*-?(?:more\s+|other\s+)?"
    r"(?:%|(?:lines?|rows?|items?|entr(?:y|ies)|char(?:acter)?s?|tokens?|bytes?|[kmg]i?b|words?|messages?|results?|records?"
    r"|elements?|match(?:es)?|files?|objects?|events?|more|others?|paragraphs?|sentences?|duplicates?|keys|fields)\b)"
)
"""How much was left out: a number, or two, and what is counted."""


def unexcused(line: str, found: tuple[Literal, ...]) -> list[Literal]:
    """Return the literals of a line that no mark of omission on it says itself.

    A mark says what stands in brackets with it, references to what was laid aside, and how many lines or tokens it left out.

    >>> from context_bench_survival.literals import literals
    >>> line = "the port is 9999 [... 120 lines omitted, hash=5f3a9c1b ...]"
    >>> [one.text for one in unexcused(line, literals(line))]
    ['9999']
    """
    if _MARK.search(line) is None:
        return list(found)
    places = [group.span() for group in _GROUP.finditer(line) if _MARK.search(group[0])]
    places += [
        count.span(name)
        for count in _COUNT.finditer(line)
        for name in ("first", "second")
        if count[name]
    ]
    references = set(references_in(line))
    return [
        one
        for one in found
        if one.text not in references
        and not any(start <= one.start and one.end <= end for start, end in places)
    ]
