"""The pieces of mathematics in running text: what stands between delimiters, and runs of numbers, signs and variables."""

from __future__ import annotations

import re
from typing import NamedTuple

_DELIMITED = re.compile(
    r"""
      (?<!\\)\$\$(?P<display>.+?)\$\$
    | (?<!\\)\\\[(?P<bracket>.+?)\\\]
    | (?<!\\)\\\((?P<parenthesis>.+?)\\\)
    | (?<!\\)\$(?=\S)(?P<inline>(?:\\.|[^$\n\\])+?)(?<=\S)\$(?!\d)
    | (?<!\\)\$(?=\s)(?P<spaced>(?:\\.|[^$\\])+?)(?<=\s)\$(?!\d)
    """,
    re.VERBOSE | re.DOTALL,
)
_RUN = re.compile(
    r"""(?:
      \\(?:text|textbf|textnormal|textrm|mbox|mathrm|mathbf|operatorname)\s*\{[^{}]*\}
    | \\(?:begin|end)\{[a-z*]+\}
    | \\[A-Za-z]+\d* | \\.
    | (?<![A-Za-z])\d+
    | (?<![A-Za-z'])[A-Za-z](?![A-Za-z'])
    | (?<![A-Za-z])(?:sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|pi|inf|infinity|oo)(?![A-Za-z])
    | (?<=\d)[eE](?=[-+]?\d)
    | [-+*/=<>^_(){}\[\],.:;!|%€£¥'\x20]
    )+""",
    re.VERBOSE,
)
_LIST_WORDS = re.compile(r"[\s,;.]*(?:,|;|\band\b|\bor\b)[\s,;.]*", re.IGNORECASE)
_LONE_LETTER_BEFORE = re.compile(r"[A-Za-z][ ,.]+(?![-+*/=<>^_(\\ ])")
_LONE_LETTER_BEHIND = re.compile(r"(?<![-+*/=<>^_( ])[ ,.]+[A-Za-z]\Z")
_SUBSTANCE = re.compile(r"\d|\\[A-Za-z]|[A-Za-z]\s*[=^<>]")
_EDGES = " ,.:;!?'|"
_LEADING = re.compile(r"\A(?:[ ,:;!?'|*)\]}]|\.(?!\d))+")


class Piece(NamedTuple):
    """A piece of mathematics and where it stands."""

    start: int
    end: int
    content: str


def pieces(text: str) -> list[Piece]:
    """All pieces of mathematics of a text in order; neighbours that a list word joins are one piece.

    >>> [piece.content for piece in pieces("Take $x$ and $y$, then 2 1/2 cups: x = 5.")]
    ['x, y', '2 1/2', 'x = 5']
    """
    found: list[Piece] = []
    position = 0
    for match in _DELIMITED.finditer(text):
        content = next(group for group in match.groups() if group is not None).strip()
        found += _runs(text, position, match.start())
        between = text[found[-1].end : match.start()] if found else "."
        if found and found[-1].end == position and _LIST_WORDS.fullmatch(between):
            found[-1] = Piece(found[-1].start, match.end(), f"{found[-1].content}, {content}")
        elif not _LIST_WORDS.fullmatch(f" {content} "):
            found.append(Piece(match.start(), match.end(), content))
        position = match.end()
    return found + _runs(text, position, len(text))


def _runs(text: str, start: int, end: int) -> list[Piece]:
    """The pieces without delimiters between two places."""
    found = []
    for match in _RUN.finditer(text, start, end):
        content = _trimmed(match.group())
        if content and _SUBSTANCE.search(content):
            begin = match.start() + match.group().find(content)
            found.append(Piece(begin, begin + len(content), content))
    return found


def _trimmed(run: str) -> str:
    """A run without the punctuation, articles and stray brackets that the sentence around it left at its ends."""
    before = None
    while before != run:
        before = run
        run = _LEADING.sub("", run).rstrip(_EDGES + "*([{=+-/")
        if lone := _LONE_LETTER_BEFORE.match(run):
            run = run[lone.end() :]
        if lone := _LONE_LETTER_BEHIND.search(run):
            run = run[: lone.start()]
        for opening, closing in (("([", ")]"), ("{", "}")):
            surplus = sum(map(run.count, opening)) - sum(map(run.count, closing))
            if surplus < 0 and run[-1] in closing:
                run = run[:-1]
            elif surplus > 0 and run[0] in opening:
                run = run[1:]
    return run
