"""A text as words and signs. `NotMentioned`, `NOT_MENTIONED` and "not mentioned" are the same two words."""

from __future__ import annotations

import re

from context_bench.answers import nfkc, plain_signs
from context_bench_multiple_choice.replies import Token

__all__ = ["Token", "plain", "tokenize", "words"]


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in order; white space other than line ends is dropped.

    >>> [token.word for token in tokenize("NotMentioned: it doesn't say.")]
    ['not', 'mentioned', ':', 'it', "doesn't", 'say', '.']
    """
    return [
        Token(match[0], match[0].lower().replace("’", "'"), match.start(), match.end())
        for match in _TOKEN.finditer(text)
    ]


def words(text: str) -> tuple[str, ...]:
    """The words of a text alone, without signs.

    >>> words("NOT_ENOUGH-INFO")
    ('not', 'enough', 'info')
    """
    return tuple(token.word for token in tokenize(text) if token.word[0].isalnum())


def plain(text: str) -> str:
    """The text with full-width letters as ordinary ones, and without signs that cannot be seen."""
    return nfkc(plain_signs(text))


_TOKEN = re.compile(
    "|".join(
        (
            r"[A-Z]?[^\W\d_A-Z]+(?:['’][^\W\d_]+)?",  # word, Word, doesn't
            r"[A-Z]+(?=[A-Z][a-z])",  # NEI of NEILabel
            r"[A-Z]+(?:['’][A-Z]+)?",  # WORD, DOESN'T
            r"\d+",
            r"\n",
            r"(?<!-)-+>|(?<!=)=+>|[→⇒➜]",
            r"\\[A-Za-z]+|\\\S",  # a LaTeX command or an escaped sign
            r"\*+|#+|`+|_+",
            r"[^\w\s]",
        )
    )
)
