"""Markers: what a compressor leaves in place of what it laid aside, so that the agent can fetch it again.

A marker counts for nothing by itself. The product is asked to redeem it - it puts out ``redeemed``, what came back by the
reference of the marker - and a literal is *recoverable* when it stands in that text. A product whose markers look like none of
these declares them there: a reference in ``redeemed`` that stands in what is left is one too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_sessions.messages import text_of
from context_bench_survival.literals import holds

_PROMISE = re.compile(r"(?i)(?<![a-z])(?:retriev(?:e|al|able)|redeem|expand|ccr)(?![a-z])|<<\w+:")
"""What a line says that holds a reference to something laid aside."""

_PROMISING = ("retriev", "redeem", "expand", "ccr", "<<")
"""What a text without any such line lacks, which a search for words tells much faster than one for a pattern."""

_REFERENCE = re.compile(
    r"<<\w+:([\w.-]+)"
    r"|(?i:[<\[](?:\w*_)?(?:ccr|expand|retrieve|redeem):)([\w.-]*\w)"
    r"|(?i:\b(?:hash|key|ref|reference|id|handle|marker)\b[\"'`]?\s*[=:]\s*[\"'`]?)([\w.-]*\w)"
    r"|(?<![\w.-])((?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{6,64})(?![\w-])"
)


def references_in(text: str) -> list[str]:
    """Return the references of the markers in a text, each once, in order.

    >>> references_in("[100 items compressed to 10. Retrieve more: hash=5f3a9c1b]")
    ['5f3a9c1b']
    >>> references_in("[ccr:5f3] and <lc_expand:0a1b2c3d>")
    ['5f3', '0a1b2c3d']
    >>> references_in("[... 917 lines omitted]")
    []
    """
    found: dict[str, None] = {}
    lowered = text.lower()
    for line in text.splitlines() if any(word in lowered for word in _PROMISING) else ():
        if _PROMISE.search(line):
            found.update(
                dict.fromkeys(
                    next(filter(None, match.groups())) for match in _REFERENCE.finditer(line)
                )
            )
    return list(found)


def new_references(texts: Iterable[str], original: str, declared: Iterable[str] = ()) -> list[str]:
    """Return the references that a system put in; what the recording held is no marker of its.

    Args:
        texts: What is left.
        original: What was given.
        declared: References that the system names itself; those that stand in a text count.
    """
    texts = list(texts)
    found = dict.fromkeys(reference for text in texts for reference in references_in(text))
    found |= dict.fromkeys(
        one for one in declared if one not in found and any(holds(text, one) for text in texts)
    )
    return [reference for reference in found if reference not in original]


def redeemed_of(processed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an output says that came back, by the reference of each marker; None where nothing did.

    Raises:
        TypeError: Its ``redeemed`` is no mapping.
    """
    redeemed = processed.get("redeemed") or {}
    if not isinstance(redeemed, Mapping):
        raise TypeError(
            f"redeemed must map each marker's reference to what came back, not be {type(redeemed).__name__}."
        )
    return {str(reference): text for reference, text in redeemed.items() if str(reference)}


def returned(references: Iterable[str], redeemed: Mapping[str, Any]) -> dict[str, str]:
    """Return what came back for each reference that was redeemed; one that brought nothing is not in it.

    Args:
        references: Those that stand in what is left: a text that no marker leads to does not count.
        redeemed: What came back, by reference.
    """
    texts = {reference: text_of(redeemed.get(reference)) for reference in references}
    return {reference: text for reference, text in texts.items() if text.strip()}
