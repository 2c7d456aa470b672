"""The n-gram profiles of 55 languages, read once from one compiled file.

The numbers are those of the `langdetect` package (see the NOTICE). It keeps them as 55 JSON files, which take some
200 ms to read and merge; the compiled file takes 30 ms, because it is one table and because an n-gram's shares are
worked out only when the detector draws it.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any


class LanguageProfiles:
    """What is known of the n-grams (one to three letters) of each language.

    Attributes:
        languages: The language codes; first those whose n-grams have unaccented Latin letters.
        latin: How many languages these are.
        kanji_classes: Groups of Chinese characters that count as one; the first of a group stands for all.
        vectors: For an n-gram, its share among those of its length, in each language.
        latin_vectors: The same for the Latin languages only.
    """

    def __init__(self, payload: bytes) -> None:
        header_end = payload.index(b"\n") + 1
        header: dict[str, Any] = json.loads(payload[:header_end])
        self.languages: tuple[str, ...] = tuple(header["languages"])
        self.latin: int = header["latin"]
        self.kanji_classes: tuple[str, ...] = tuple(header["kanji"])
        self.vectors = Vectors(self, len(self.languages))
        self.latin_vectors = Vectors(self, self.latin)
        self._totals: list[list[int]] = header["totals"]

        grams_end = header_end + header["text"]
        spans_end = grams_end + header["grams"]
        known_by_end = spans_end + header["entries"]
        grams = payload[header_end:grams_end].decode().split("\n")
        self._index = dict(zip(grams, range(len(grams)), strict=True))
        self._starts = [0, *accumulate(payload[grams_end:spans_end])]
        self._known_by = payload[spans_end:known_by_end]
        self._counts = array("I", payload[known_by_end:])
        if sys.byteorder == "big":
            self._counts.byteswap()

    def know(self, gram: str) -> bool:
        """Whether any language has the n-gram."""
        return gram in self._index

    def shares(self, gram: str) -> list[float]:
        """The share of `gram`, which must be known, among the n-grams of its length, in each language."""
        index = self._index[gram]
        shares = [0.0] * len(self.languages)
        for entry in range(self._starts[index], self._starts[index + 1]):
            language = self._known_by[entry]
            shares[language] = self._counts[entry] / self._totals[language][len(gram) - 1]
        return shares


class Vectors(dict[str, list[float]]):
    """The shares of n-grams in the first `size` languages, worked out when they are first asked for."""

    def __init__(self, profiles: LanguageProfiles, size: int) -> None:
        super().__init__()
        self.size = size
        self.left_out = len(profiles.languages) - size
        self._profiles = profiles

    def __missing__(self, gram: str) -> list[float]:
        self[gram] = vector = self._profiles.shares(gram)[: self.size]
        return vector


@cache
def language_profiles() -> LanguageProfiles:
    """The profiles, loaded at the first call."""
    compiled = (Path(__file__).with_name("data") / "language_profiles.bin").read_bytes()
    return LanguageProfiles(zlib.decompress(compiled))
