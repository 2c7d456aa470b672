"""Whose request is this? What a proxy forwards is attributed to a row by what it holds, never by when it arrives.

A request of ours carries a number in a header. Many proxies pass it on, and then nothing is left to find out. Of the others, what
was forwarded is compared with what only one of two rows says: words, and pairs of neighboring words.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import frozen

from context_bench_upstream.recording import Forwarded
from context_bench_upstream.texts import texts_in

_FIELDS = ("context", "question", "turns", "messages")
_REMEMBERED = 8
_WORD = re.compile(r"\w+")


class Owner(Enum):
    """Whose a request is."""

    CURRENT = "the row that is measured"
    EARLIER = "a row that was measured before"
    UNKNOWN = "no row that it can be told of"


@frozen(eq=False)
class RowContent:
    """A row, as far as its requests can be told from those of others.

    Attributes:
        number: Its number, which the header carries.
        features: Hashes of its words and of their pairs.
    """

    number: str
    features: frozenset[int]

    @classmethod
    def of(cls, number: str, example: Mapping[str, Any]) -> RowContent:
        """Return the content of an example."""
        return cls(number, _features([example.get(name) for name in _FIELDS]))


class Attribution:
    """Tells the requests of a row from those of the rows before it."""

    def __init__(self) -> None:
        self._rows: deque[RowContent] = deque(maxlen=_REMEMBERED)

    def begin(self, row: RowContent) -> None:
        """Measure another row; the requests of the one before are late from now on."""
        self._rows.append(row)

    def owner(self, request: Forwarded) -> Owner:
        """Return whose a request is."""
        if not self._rows:
            return Owner.UNKNOWN
        current, others = self._rows[-1], list(self._rows)[:-1]
        if number := request.row:
            if number == current.number:
                return Owner.CURRENT
            return Owner.EARLIER
        features = _features(request.body)
        owners = {_more_likely(features, current, other) for other in others}
        for owner in (Owner.EARLIER, Owner.UNKNOWN):
            if owner in owners:
                return owner
        return Owner.CURRENT


def _more_likely(features: frozenset[int], current: RowContent, other: RowContent) -> Owner:
    """Return whose of two rows a request is, by what only one of them says."""
    only_current = current.features - other.features
    only_other = other.features - current.features
    of_current = len(features & only_current)
    of_other = len(features & only_other)
    if of_current > of_other:
        return Owner.CURRENT
    if of_other > of_current:
        return Owner.EARLIER
    # What neither row says alone: the current one's where it says nothing that the other one does not say.
    return Owner.UNKNOWN if only_current or of_other else Owner.CURRENT


def _features(value: Any) -> frozenset[int]:
    features: set[int] = set()
    for text in texts_in(value):
        before = ""
        for word in _WORD.findall(text):
            features.add(hash(word))
            features.add(hash((before, word)))
            before = word
    return frozenset(features)
