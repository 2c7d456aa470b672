"""Finding an option by its text instead of its letter, whatever the case, the punctuation and the leading article."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_bench_multiple_choice.tokens import Token, plain, tokenize

LONGEST = 200  # words of an option that are compared
_BEGINNING = 4_000  # characters that hold them

_ARTICLES = ("a", "an", "the")
_OPERATORS = frozenset("+=<>≤≥≈±×÷/^%°√∞∈")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")
_MARKUP_COMMAND = re.compile(r"\\(?:text\w*|math(?:rm|bf|it|bb|sf|cal)|left|right|quad|displaystyle|boxed|[^A-Za-z])")


class TextMatch(NamedTuple):
    """An option whose text stands in the response: its letter, and the tokens from `start` up to `stop`."""

    letter: str
    start: int
    stop: int


class Content:
    """The words of a text that count when texts are compared, and at which token each of them stands."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.words: list[str] = []
        self.positions: list[int] = []
        self.at: list[int] = []  # token index -> index of the first content word from there on
        previous: Token | None = None
        for index, token in enumerate(tokens):
            self.at.append(len(self.words))
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            if word := _content_word(token, previous, following):
                self.words.append(word)
                self.positions.append(index)
            previous = token
        self.at.append(len(self.words))


class OptionTexts:
    """The texts of the options, ready to be looked for in a tokenised response.

    A text that two options share, after case, punctuation and article are gone, identifies neither and is left out. So is
    a text that is itself the letter of an option: there the letter wins.
    """

    def __init__(self, choices: Mapping[str, str]) -> None:
        owners: dict[tuple[str, ...], set[str]] = {}
        for letter, text in choices.items():
            words = Content(tokenize(plain(text[:_BEGINNING]))).words[:LONGEST]
            variants = {tuple(words), tuple(words[1:] if words[:1] and words[0] in _ARTICLES else words)}
            for variant in variants:
                owners.setdefault(variant, set()).add(letter)
        self._by_first: dict[str, list[tuple[list[str], str]]] = {}
        for words_of, letters in owners.items():
            is_a_letter = len(words_of) == 1 and words_of[0].upper() in choices
            if words_of and len(letters) == 1 and not is_a_letter:
                self._by_first.setdefault(words_of[0], []).append((list(words_of), min(letters)))
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: -len(entry[0]))
        self._choices = {letter: squash(text) for letter, text in choices.items()}
        self._cased = {letter: trimmed(text) for letter, text in choices.items()}

    def at(self, content: Content, index: int) -> TextMatch | None:
        """The longest option text that begins with the first content word at or after token `index`."""
        first = content.at[index]
        if first >= len(content.words):
            return None
        for words, letter in self._by_first.get(content.words[first], ()):
            end = first + len(words)
            if content.words[first:end] == words:
                return TextMatch(letter, content.positions[first], content.positions[end - 1] + 1)
        return None

    def whole(self, text: str, content: Content) -> str | None:
        """The letter of the option that the whole text is, if there is exactly one."""
        wanted = squash(text)
        same = [letter for letter, choice in self._choices.items() if choice and choice == wanted]
        if len(same) > 1:  # alleles and units: options that differ by case alone
            same = [letter for letter in same if self._cased[letter] == trimmed(text)]
        if len(same) == 1:
            return same[0]
        match = self.at(content, 0)
        if match and content.at[match.stop] == len(content.words) and content.at[match.start] == 0:
            return match.letter
        return None


def squash(text: str) -> str:
    """A text without the differences that never matter: case, white space, quotes, emphasis and the last full stop.

    >>> squash(' "The  Cell." ')
    'the cell'
    """
    return trimmed(text).lower()


def trimmed(text: str) -> str:
    """A text without those differences, but with its case."""
    return " ".join(plain(text).split()).strip("\"'“”‘’`*_ ").rstrip(".!。").rstrip("\"'“”’`*_ ")


def _content_word(token: Token, previous: Token | None, following: Token | None) -> str:
    first = token.text[0]
    if first.isalnum():
        lower = token.text.lower()
        if "," in lower:
            return _THOUSANDS.sub("", lower)
        return lower.replace("’", "'") if "’" in lower else lower
    if first == "\\":
        return "" if _MARKUP_COMMAND.fullmatch(token.text) else token.text
    if first in "-−" and following is not None:
        # A sign and not a hyphen or a dash: a digit follows at once, and nothing that it could be taken from precedes.
        signed = following.start == token.end and following.text[0].isdigit()
        apart = previous is None or previous.end < token.start or not previous.text[-1].isalnum()
        return "-" if signed and apart else ""
    return token.text if first in _OPERATORS else ""
