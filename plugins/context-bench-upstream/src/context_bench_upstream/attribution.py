"""Whose request is this? What a proxy forwards is attributed to a row by what it holds, never by when it arrives.

A request of ours carries a number in a header. Many proxies pass it on, and then nothing is left to find out. Of the others, what
was forwarded is compared with what only one of two rows says: words, and pairs of neighboring words. A proxy that removes text
makes new neighbors, so a pair that removal can make from the current row says nothing for another row.
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
class Features:
    """What a text is compared by.

    Attributes:
        places: Hashes of its words, each with the first and the last place where the word is.
        pairs: Hashes of its pairs of neighboring words.
    """

    places: Mapping[int, tuple[int, int]]
    pairs: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, value: Any) -> Features:
        """Return the features of all texts in a value."""
        places: dict[int, tuple[int, int]] = {}
        pairs: set[tuple[int, int]] = set()
        place = 0
        for text in texts_in(value):
            before = None
            for match in _WORD.finditer(text):
                word = hash(match[0])
                first = places[word][0] if word in places else place
                places[word] = (first, place)
                if before is not None:
                    pairs.add((before, word))
                before = word
                place += 1
        return cls(places, frozenset(pairs))

    def can_leave(self, pair: tuple[int, int]) -> bool:
        """Whether removing text can make two words neighbors."""
        if pair[0] not in self.places or pair[1] not in self.places:
            return False
        return self.places[pair[0]][0] < self.places[pair[1]][1]


@frozen(eq=False)
class RowContent:
    """A row, as far as its requests can be told from those of others.

    Attributes:
        number: Its number, which the header carries.
        features: What its texts are compared by.
    """

    number: str
    features: Features

    @classmethod
    def of(cls, number: str, example: Mapping[str, Any]) -> RowContent:
        """Return the content of an example."""
        return cls(number, Features.of([example.get(name) for name in _FIELDS]))


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
        features = Features.of(request.body)
        owners = {_more_likely(features, current.features, other.features) for other in others}
        for owner in (Owner.EARLIER, Owner.UNKNOWN):
            if owner in owners:
                return owner
        return Owner.CURRENT


def _more_likely(features: Features, current: Features, other: Features) -> Owner:
    """Return whose of two rows a request is, by what only one of them says."""
    words_of_current = current.places.keys() - other.places.keys()
    words_of_other = other.places.keys() - current.places.keys()
    pairs_of_current = current.pairs - other.pairs
    pairs_of_other = {
        pair
        for pair in features.pairs & (other.pairs - current.pairs)
        if not current.can_leave(pair)
    }
    of_current = len(features.places.keys() & words_of_current) + len(
        features.pairs & pairs_of_current
    )
    of_other = len(features.places.keys() & words_of_other) + len(pairs_of_other)
    if of_current > of_other:
        return Owner.CURRENT
    if of_other > of_current:
        return Owner.EARLIER
    # What neither row says alone: the current one's where it says nothing that the other one does not say.
    says_more = bool(words_of_current or pairs_of_current or of_other)
    return Owner.UNKNOWN if says_more else Owner.CURRENT
