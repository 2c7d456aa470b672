"""Words and signs, by the Penn Treebank rules that NLTK applies in `nltk.word_tokenize`.

Each rule puts spaces around something or replaces a quotation mark; the sentence is split at white space when all are
done. A rule is tried only on sentences that hold one of its signs. The rules are those of NLTK 3.9.1, with which the
published scores were made; later versions also cut words at dashes.

Source: Robert MacIntyre's tokenizer of the Penn Treebank (1995); `nltk.tokenize.destructive`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import methodcaller
from typing import NamedTuple

from context_bench_ifeval.sentences import sentences

_CLOSING = "])}>\"'»”’ "
"""Signs that may stand behind the last period of a sentence."""


def words(text: str) -> list[str]:
    """The words and signs of `text`; quotation marks come out as two backticks or two apostrophes.

    Example:
        >>> words('He cannot say "NO", can\\'t he?')
        ['He', 'can', 'not', 'say', '``', 'NO', "''", ',', 'ca', "n't", 'he', '?']
    """
    return [word for sentence in sentences(text) for word in _words(sentence)]


def count_capital_words(text: str) -> int:
    """How many of the words are written in capitals throughout.

    Example:
        >>> count_capital_words("STOP! NATO and the U.N. said so; I agree.")
        4
    """
    return sum(
        sum(map(str.isupper, _words(sentence)))
        for sentence in sentences(text)
        if _CAPITAL_WORD_POSSIBLE.search(sentence)
    )


class _Rule(NamedTuple):
    signs: frozenset[str]
    """The rule has nothing to do unless the sentence holds one of these."""

    apply: Callable[[str], str]


def _words(sentence: str) -> list[str]:
    signs = set(sentence)
    if '"' in signs:
        signs.add("`")  # a rule below replaces the one with the other
    for rule in _RULES:
        if not rule.signs.isdisjoint(signs):
            sentence = rule.apply(sentence)
    for contraction in _CONTRACTIONS if "'" in signs or _holds_doubled_letters(sentence) else ():
        sentence = contraction.sub(r" \1 \2 ", sentence)
    return sentence.split()


def _end_period(sentence: str) -> str:
    """The sentence with its last period, and the quotes and brackets behind it, set apart."""
    end = sentence.rstrip()
    body = end.rstrip(_CLOSING)
    if len(body) < 2 or body[-1] != "." or body[-2] == ".":
        return sentence
    return f"{body[:-1]} . {end[len(body) :]} "


def _clitics(sentence: str) -> str:
    """The sentence with single spaces, and with the endings of "she's", "I'd", "we'll" and "don't" set apart."""
    sentence = " ".join(["", *sentence.split(), ""])
    return _LONG_CLITIC.sub(r"\1 \2 ", _SHORT_CLITIC.sub(r"\1 \2 ", sentence))


def _holds_doubled_letters(sentence: str) -> bool:
    """Whether `sentence` may hold a contraction without an apostrophe, such as "cannot" or "gimme"."""
    lowered = sentence.lower()
    return "nn" in lowered or "mm" in lowered or "tt" in lowered


def _rule(signs: str, pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> _Rule:
    compiled = re.compile(pattern)
    return _Rule(frozenset(signs), lambda sentence: compiled.sub(replacement, sentence))


def _apart(match: re.Match[str]) -> str:
    return f" {match[0]} "


def _apart_signs(signs: str) -> list[_Rule]:
    """Rules that put spaces around each of the signs."""
    return [_Rule(frozenset(sign), methodcaller("replace", sign, f" {sign} ")) for sign in signs]


_CAPITAL_WORD_POSSIBLE = re.compile(r"[A-Z](?![a-z])|[A-Z]n't|'T[iw]|[\x80-\U0010ffff]")
"""A capital that does not begin a word with small letters, or may be cut off such a word; any other script to be safe."""

_SHORT_CLITIC = re.compile("([^' ])('[sS]|'[mM]|'[dD]|') ")
_LONG_CLITIC = re.compile("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ")
_CONTRACTIONS = (
    re.compile(
        r"(?i)\b(can(?=not)|gim(?=me)|gon(?=na)|got(?=ta)|lem(?=me)|wan(?=na(?:\s|$))|d(?='ye)|more(?='n))"
        r"(not|me|na|ta|'ye|'n)\b"
    ),
    re.compile(r"(?i) ('t)(is)\b"),
    re.compile(r"(?i) ('t)(was)\b"),
)

_RULES = (
    # Opening quotation marks.
    *_apart_signs("«“‘„"),
    _rule("`", "`+", _apart),
    _rule('"', '^"', "``"),
    _rule("`", "``", _apart),
    _rule("\"'", r"""(?<=[ (\[{<])(?:"|'')""", " `` "),
    _rule("'", r"(?i)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)", "' "),
    # Signs. A comma or colon right behind another one that was set apart is left alone.
    _Rule(frozenset("."), _end_period),
    _rule(":,", r"[:,](?:\D|$)", lambda match: f" {match[0][0]} {match[0][1:]}"),
    _rule(".", r"\.{2,}", _apart),
    *_apart_signs(";@#$%&?!"),
    _rule("'", "(?<=[^'])' ", " ' "),
    *_apart_signs("*[](){}<>"),
    _Rule(frozenset("-"), methodcaller("replace", "--", " -- ")),
    # Closing quotation marks and what is written with an apostrophe.
    *_apart_signs("»”’"),
    _Rule(frozenset("'"), methodcaller("replace", "''", " '' ")),
    _Rule(frozenset('"'), methodcaller("replace", '"', " '' ")),
    _Rule(frozenset("'"), _clitics),
)
