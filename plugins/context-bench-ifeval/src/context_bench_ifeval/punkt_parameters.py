"""The English parameters of the Punkt sentence splitter, as NLTK distributes them (`punkt_tab`; see the NOTICE)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("data") / "tokenizers" / "punkt_tab" / "english"

_MIDDLE_UPPER = 1 << 2
_BEGINNING_LOWER = 1 << 4
_ANY_UPPER = 1 << 1 | _MIDDLE_UPPER | 1 << 3
_ANY_LOWER = _BEGINNING_LOWER | 1 << 5 | 1 << 6


class PunktParameters:
    """What was learned about English words.

    Args:
        abbreviations: Word types that are written with a period, without it.
        collocations: Pairs of word types between which a period does not end a sentence.
        sentence_starters: Word types that often begin a sentence.
        contexts: Bit flags per word type: it was seen in upper or lower case (1-3, 4-6), and there at the beginning of a
            sentence, in its middle, or at an unknown place.

    Attributes:
        words_before_a_period: The words whose period may not end a sentence: abbreviations and first words of collocations.
    """

    def __init__(
        self,
        abbreviations: frozenset[str],
        collocations: frozenset[tuple[str, str]],
        sentence_starters: frozenset[str],
        contexts: dict[str, int],
    ) -> None:
        self.abbreviations = abbreviations
        self.collocations = collocations
        self.sentence_starters = sentence_starters
        self.contexts = contexts
        self.words_before_a_period = abbreviations.union(first for first, _ in collocations)

    def seen_in_lower_case(self, word_type: str) -> bool:
        """Whether the word was ever seen with a small first letter."""
        return bool(self.contexts.get(word_type, 0) & _ANY_LOWER)

    def begins_if_capitalised(self, word_type: str) -> bool:
        """Whether a capital must mean the beginning of a sentence: in the middle of one the word is written small."""
        context = self.contexts.get(word_type, 0)
        return bool(context & _ANY_LOWER) and not context & _MIDDLE_UPPER

    def continues_if_small(self, word_type: str) -> bool:
        """Whether a small letter must mean that the sentence goes on: at the beginning of one the word is capitalised."""
        context = self.contexts.get(word_type, 0)
        return bool(context & _ANY_UPPER) or not context & _BEGINNING_LOWER


@cache
def punkt_parameters() -> PunktParameters:
    """The parameters, read at the first call."""
    pairs = _fields("collocations.tab")
    contexts = _fields("ortho_context.tab")
    return PunktParameters(
        abbreviations=frozenset(_fields("abbrev_types.txt")),
        collocations=frozenset(zip(pairs[::2], pairs[1::2])),
        sentence_starters=frozenset(_fields("sent_starters.txt")),
        contexts=dict(zip(contexts[::2], map(int, contexts[1::2]))),
    )


def _fields(name: str) -> list[str]:
    """The fields of a file of tab-separated lines, line by line."""
    return (
        (_FOLDER / name)
        .read_text(encoding="utf-8")
        .removesuffix("\n")
        .replace("\n", "\t")
        .split("\t")
    )
