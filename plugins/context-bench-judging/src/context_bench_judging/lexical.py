"""Whether a text holds the words of another: a heuristic that knows no meaning, for where there is no judge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_MARK = "\ue000"  # stands for any mark on a letter, such as a vowel sign of Hindi: to a regular expression it is no letter
_LETTERS = rf"[^\W\d_](?:[^\W\d_]|{_MARK})*"
_WORD = re.compile(rf"\d[\d.,]*\d|\d|{_LETTERS}(?:'{_LETTERS})*")
_LONGEST_COMPOSED = 100  # letters: putting marks in order takes time by the square of their number
_SENTENCE = re.compile(r"(?<=[.!?।॥؟۔])[\"')\]]*\s+|(?<=[。！？])[\"')\]”’」』）】]*\s*|\n+")
# Scripts written without spaces between words: Thai and Lao, Myanmar, Khmer, kana, Han. Two signs in a row stand for a word.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(rf"[{_DENSE}]+|[^{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
_STOP_TEXT = """
a about after all also an and any are as at be because been before being between both but by can could did do does for from
had has have he her here him his how i if in into is it its just may me might more most my no nor not of on only or other our
out over own s same she should so some such t than that the their them then there these they this those through to too under
until up very was we were what when where which while who whom why will with would you your
"""
_STOP = frozenset(_STOP_TEXT.split())
_ENDINGS = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
LEXICAL = "lexical heuristic: share of content words and numbers found, no meaning"
"""What details say of scores that rest on this."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that have a word in them."""
    return [part.strip() for part in _SENTENCE.split(text) if _WORD.search(part)]


def overlap(text: str, source: str) -> float:
    """Return the share of a text's content words that a source has; 1.0 when it has none, 0.0 when a number is not there.

    >>> overlap("The tower is 330 metres tall", "At 330 metres, it is a tall tower."), overlap("It is 331 metres", "330 metres")
    (1.0, 0.0)
    """
    wanted, there = content_words(text), content_words(source)
    if missing_numbers(text, source):
        return 0.0
    return len(wanted & there) / len(wanted) if wanted else 1.0


def missing_numbers(text: str, source: str) -> list[str]:
    """Return the numbers of a text that a source does not have.

    >>> missing_numbers("It is 331 metres, built in 1889", "330 metres, of 1889")
    ['331']
    """
    return sorted(word for word in content_words(text) - content_words(source) if word[0].isdigit())


@lru_cache(maxsize=128)  # a context of a row, and what is held against it
def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, without their endings, and its numbers.

    >>> sorted(content_words("The 2 towers")), sorted(content_words("日本的首都"))
    (['2', 'tower'], ['日本', '本的', '的首', '首都'])
    """
    found = (word.removesuffix("'s") for word in _words(text))
    return frozenset(
        part
        for word in found
        if word not in _STOP
        for run in _RUN.findall(word)
        for part in _parts(run)
    )


def _words(text: str) -> Iterator[str]:
    """Yield the words and numbers in small letters, written in one way whatever way the text has: é is one sign, ’ is '."""
    if text.isascii():
        yield from map(str.lower, _WORD.findall(text))
        return
    text = "".join(map(_plain, text))
    shape = "".join(_MARK if unicodedata.category(sign)[0] == "M" else sign for sign in text)
    for match in _WORD.finditer(shape):
        word = text[match.start() : match.end()]
        yield (
            unicodedata.normalize("NFC", word) if len(word) <= _LONGEST_COMPOSED else word
        ).casefold()


@lru_cache(maxsize=65536)
def _plain(sign: str) -> str:
    """Return a sign as it is compared: full-width ones as ordinary ones, digits as 0 to 9, nothing for what cannot be seen."""
    if "\uff01" <= sign <= "\uff5e":
        return chr(ord(sign) - 0xFEE0)
    if unicodedata.category(sign) in ("Cf", "Co"):
        return ""
    return "'" if sign in "’ʼ" else str(unicodedata.decimal(sign, sign))


def _parts(run: str) -> list[str]:
    if not _IS_DENSE.match(run):
        return [_stem(run)]
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "").rstrip(".")
    ending = next(
        (ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= 3),
        "",
    )
    return word[: len(word) - len(ending)]
