"""The letter n-grams of a text, as `langdetect` sees them.

Whatever is no letter counts as a space and cuts the text into words. Within a word the Japanese syllabaries, Bopomofo
and Hangul are folded to one letter each, and Chinese characters are grouped. A word has the same n-grams wherever it
stands, so they are remembered by word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain

from context_bench_ifeval.language_profiles import LanguageProfiles

_TEXT_LIMIT = 10_000
"""The detector reads no more characters than these, counted after addresses are blanked."""

_LOOK_AHEAD = 4096
"""More than the longest address, so that cutting a long text cannot change how its beginning reads."""

_URL = re.compile(r"https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}")
_MAIL = re.compile(r"[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}")
_TONE_MARKS = "\u0300\u0301\u0303\u0309\u0323"
_TONED_VOWEL = re.compile(f"[AEIOUYaeiouyÂÊÔâêôĂăƠơƯư][{_TONE_MARKS}]")
_LATIN = re.compile(
    "[A-z]"
)  # with the six signs between Z and a, which the original counts as well
_NON_LATIN = re.compile("[\u0300-\U0010ffff]")

_WORD = re.compile("[^\0-@[-`{-\x7f\xa0\xab\xb0\xbb\u2000-\u206f]+")
"""Letters, and what else is not folded to a space."""

_FOLDS = (
    (0x0219, 0x0219, "\u015f"),  # Romanian: comma below to cedilla
    (0x021B, 0x021B, "\u0163"),
    (0x06CC, 0x06CC, "\u064a"),  # Persian yeh to Arabic yeh
    (0x1EA0, 0x1EFF, "\u1ec3"),  # Vietnamese letters with a tone
    (0x3040, 0x309F, "\u3042"),  # Hiragana
    (0x30A0, 0x30FF, "\u30a2"),  # Katakana
    (0x3100, 0x312F, "\u3105"),  # Bopomofo
    (0x31A0, 0x31BF, "\u3105"),
    (0xAC00, 0xD7AF, "\uac00"),  # Hangul
)

_WORDS_REMEMBERED = 20_000
_LONGEST_WORD_REMEMBERED = 32


class NGrams(dict[str, tuple[str, ...]]):
    """Cuts texts into the n-grams that `profiles` knows: those of words met before, by word, the space behind it included."""

    def __init__(self, profiles: LanguageProfiles) -> None:
        super().__init__()
        self._profiles = profiles
        self._folds = {
            code: fold for first, last, fold in _FOLDS for code in range(first, last + 1)
        }
        for kanji in profiles.kanji_classes:
            self._folds.update(dict.fromkeys(map(ord, kanji), kanji[0]))

    def of(self, words: Sequence[str]) -> list[str]:
        """The known n-grams of `words` in reading order, with repetitions."""
        *ended, last = words
        grams = list(chain.from_iterable(map(self.__getitem__, ended)))
        grams += self._known_grams(last, ended=False)
        return grams

    def __missing__(self, word: str) -> tuple[str, ...]:
        grams = tuple(self._known_grams(word, ended=True))
        if len(word) <= _LONGEST_WORD_REMEMBERED:
            if len(self) >= _WORDS_REMEMBERED:
                self.clear()
            self[word] = grams
        return grams

    def _known_grams(self, word: str, ended: bool) -> list[str]:
        return list(filter(self._profiles.know, _word_grams(word.translate(self._folds), ended)))


def cut_words(text: str) -> tuple[str, ...]:
    """The words of `text`; the last one, which may be empty, is the one with no space behind it."""
    text = _readable(text)
    words = _WORD.findall(text)
    if not words or not text.endswith(words[-1]):
        words.append("")
    return tuple(words)


def _word_grams(word: str, ended: bool) -> list[str]:
    """All n-grams that end in a letter of `word`, or in the space behind it if it has `ended`.

    Those that end in the second or a later capital of a run of capitals are left out: abbreviations say little about a language.
    """
    grams: list[str] = []
    padded = f" {word} " if ended else f" {word}"
    in_capitals = False
    for end in range(2, len(padded) + 1):
        letter = padded[end - 1]
        if not letter.isupper():
            in_capitals = False
        elif padded[end - 2].isupper():
            in_capitals = True
        if in_capitals:
            continue
        if letter != " ":
            grams.append(letter)
        grams.append(padded[end - 2 : end])
        if end > 2:
            grams.append(padded[end - 3 : end])
    return grams


def _readable(text: str) -> str:
    """The beginning of `text` without addresses, and without Latin letters where another script prevails."""
    text = _beginning(text)[:_TEXT_LIMIT]
    other = 0 if text.isascii() else len(_NON_LATIN.findall(text))
    return _LATIN.sub("", text) if other and len(_LATIN.findall(text)) * 2 < other else text


def _beginning(text: str) -> str:
    """At least the first 10,000 characters of `text` with its addresses blanked."""
    length = 2 * _TEXT_LIMIT
    while True:
        beginning = _blank_addresses(text[:length])
        if length >= len(text) or len(beginning) >= _TEXT_LIMIT + _LOOK_AHEAD:
            return beginning
        length *= 4


def _blank_addresses(text: str) -> str:
    if "://" in text:
        text = _URL.sub(" ", text)
    if "@" in text:
        text = _MAIL.sub(" ", text)
    if any(mark in text for mark in _TONE_MARKS):
        text = _TONED_VOWEL.sub(lambda vowel: unicodedata.normalize("NFC", vowel[0]), text)
    return text
