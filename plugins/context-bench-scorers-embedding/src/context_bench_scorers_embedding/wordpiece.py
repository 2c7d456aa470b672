"""WordPiece tokens as BERT's uncased models know them.

J. Devlin et al., *BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding*, NAACL 2019. The vocabulary
beside this module is that of bert-base-uncased (Apache-2.0).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

_LONGEST_WORD = 100
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
UNKNOWN, BEGIN, END, PADDING = "[UNK]", "[CLS]", "[SEP]", "[PAD]"


class WordPiece:
    """Turns texts into token numbers.

    >>> WordPiece.uncased().tokens("Unaffable!")
    ['una', '##ffa', '##ble', '!']

    Args:
        vocabulary: Number of every token.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._pieces = lru_cache(maxsize=100_000)(self._split)

    @classmethod
    def uncased(cls) -> WordPiece:
        """Return the tokenizer of BERT's uncased models."""
        return _uncased()

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        return [piece for word in _words(text) for piece in self._pieces(word)]

    def numbers(self, text: str, longest: int) -> list[int]:
        """Return the numbers of a text's tokens between those that begin and end it.

        Args:
            text: The text.
            longest: How many there may be, the two included; later ones are left out.
        """
        inside = [self._vocabulary[token] for token in self.tokens(text)][: longest - 2]
        return [self._vocabulary[BEGIN], *inside, self._vocabulary[END]]

    def _split(self, word: str) -> tuple[str, ...]:
        """Return the longest tokens that a word begins with, one after another."""
        if len(word) > _LONGEST_WORD:
            return (UNKNOWN,)
        pieces: list[str] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._vocabulary), None)
            if end is None:
                return (UNKNOWN,)
            pieces.append(mark + word[start:end])
            start = end
        return tuple(pieces)


@lru_cache(maxsize=1)
def _uncased() -> WordPiece:
    lines = (Path(__file__).parent / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return WordPiece({token: number for number, token in enumerate(lines) if token})


def _words(text: str) -> Iterator[str]:
    for word in "".join(map(_plain, text)).split():
        start = 0
        for place, character in enumerate(word):
            if _is_punctuation(character):
                if place > start:
                    yield word[start:place]
                yield character
                start = place + 1
        if start < len(word):
            yield word[start:]


@lru_cache(maxsize=65536)
def _plain(character: str) -> str:
    """Return a character in small letters without accents: each by itself, because marks in a row are sorted in their square."""
    apart = unicodedata.normalize("NFD", _cleaned(character))
    return "".join(part.lower() for part in apart if unicodedata.category(part) != "Mn")


def _cleaned(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(character).startswith("C"):
        return ""
    if any(low <= code <= high for low, high in _CJK):
        return f" {character} "
    return " " if unicodedata.category(character) == "Zs" else character


@lru_cache(maxsize=65536)
def _is_punctuation(character: str) -> bool:
    code = ord(character)
    return (
        33 <= code <= 47
        or 58 <= code <= 64
        or 91 <= code <= 96
        or 123 <= code <= 126
        or unicodedata.category(character).startswith("P")
    )
