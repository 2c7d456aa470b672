"""Literals: the exact values of a text that an agent cannot make up again - numbers, paths, hashes, versions, errors.

Each has a class. Where two classes fit the same place, the first of :data:`CLASSES` wins; a longer match wins over a shorter one
inside of it, because the text is read from left to right once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

CLASSES = ("url", "hash", "date", "version", "path", "flag", "identifier", "number")

_PATTERN = re.compile(
    r"""(?<![\w.\\/:-])(?<!\$(?=\D))(?![A-Za-z]+(?:\s|\Z))(?:
      (?P<url>(?:https?|ftp|wss?)://[^\s<>"'`)\]}|\\]+)
    | (?P<hash>[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}
        |0x[0-9a-fA-F]{4,}
        |(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,64})(?![\w])
    | (?P<date>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?
        |\d{1,2}[./]\d{1,2}[./]\d{4}|\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?![\w:])
    | (?P<version>v?\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.-]*[0-9A-Za-z])?)(?![\w])
    | (?P<path>(?<!<)(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*[\w]
        |[A-Za-z]:\\(?:[\w.@ +-]+\\)*[\w.@+-]+
        |(?:[\w@+-][\w.@+-]*/)+[\w.@+-]*\.[A-Za-z]\w{0,7}
        |[\w-]+\.(?:py|js|ts|tsx|jsx|json|toml|ya?ml|md|txt|rs|go|java|c|h|cpp|sh|css|html|sql|lock|cfg|ini|log|csv|xml))(?![\w/])
    | (?P<flag>--[a-z][\w-]+(?:(?<=\d)(?:\.\d+)+(?!\w))?)
    | (?P<identifier>(?:[A-Za-z]+(?:[-_][A-Za-z0-9]+)*[-_][A-Z0-9]*\d[A-Z0-9]*
        |[A-Z]{2,}\d{2,}[A-Z0-9]*|[A-Z]\d{4,}|[A-Z]{1,6}-\d+)(?:(?<=\d)(?:\.\d+)+)?)(?![\w]|(?<=\d)\.\d)
    | (?P<number>[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w]|\.\d)
    )""",
    re.VERBOSE,
)

_MAY_HOLD = re.compile(
    r"[\d/\\.-](?:(?<=[/\\])|(?<=\d)[\da-f.:]|(?<=[a-f]\d)|(?<=-)-[a-z]|(?<=\w\.)[A-Za-z])"
)
"""What a line without any literal lacks: two digits, a slash, a flag, a digit of a hash, a point in a word.

It begins with a set of letters, which is what the search for a pattern is fastest at: most lines are told apart by it.
"""

_ERROR_LINE = re.compile(
    r"(?i)\b(?:error|exception|traceback|failed|failure|fatal|panic|denied|not found)\b"
)

_COMMON_PATHS = frozenset(
    {"/dev/null", "/bin/bash", "/bin/sh", "/usr/bin/env", "/tmp", "/etc", "/usr", "/bin", "/home"}
)

_TRAILING = ".,;:!?"


class Literal(NamedTuple):
    """A literal in a line.

    Attributes:
        kind: One of :data:`CLASSES`, or ``"error"`` for any literal of a line that tells an error.
        text: As it stands there.
        start, end: Its place in the line.
    """

    kind: str
    text: str
    start: int
    end: int


_RUN_ON = re.compile(r"[\w@+~./-]{1001,}")
"""More letters of a path than a path has: an encoded file, say. It holds no literal, and is not searched from each sign."""

REMEMBERED_LENGTH = 1000
"""Letters of the longest line whose literals are remembered: a session's JSON on one line would fill the memory."""


def literals(line: str) -> tuple[Literal, ...]:
    """Return the literals of one line, from left to right.

    >>> [(one.kind, one.text) for one in literals("see /etc/hosts, 42 lines")]
    [('path', '/etc/hosts'), ('number', '42')]
    """
    return _remembered(line) if len(line) <= REMEMBERED_LENGTH else _read(line)


def _read(line: str) -> tuple[Literal, ...]:
    if _MAY_HOLD.search(line) is None:
        return ()
    if len(line) > REMEMBERED_LENGTH:
        line = _RUN_ON.sub(lambda run: " " * len(run[0]), line)
    found = []
    for match in _PATTERN.finditer(line):
        kind, text = str(match.lastgroup), match[0].rstrip(_TRAILING)
        if text and not _is_trivial(kind, text):
            found.append(Literal(kind, text, match.start(), match.start() + len(text)))
    if found and _ERROR_LINE.search(line) is not None:
        return tuple(one._replace(kind="error") for one in found)
    return tuple(found)


_remembered = lru_cache(maxsize=1 << 15)(_read)
"""A line is looked at once for probes, and once for each system of what is left of it."""


def _is_trivial(kind: str, text: str) -> bool:
    """Whether a match says too little to be asked for: numbers of one digit, and roots of paths."""
    if kind == "number":
        return sum(letter.isdigit() for letter in text) < 2
    return kind == "path" and (len(text) < 4 or text in _COMMON_PATHS)


def unescaped(text: str) -> str:
    r"""Return a text with the escapes of JSON resolved, so that a value inside of an argument looks as it does elsewhere.

    >>> unescaped('{"path": "C:\\\\tmp", "text": "a\\nb"}')
    '{"path": "C:\\tmp", "text": "a\nb"}'
    """
    return _ESCAPE.sub(_resolve, text) if "\\" in text else text


_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')
_PLAIN = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _resolve(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if code[0] == "u" else _PLAIN[code]


def words_of(text: str) -> list[str]:
    """Return the words of a text: its longest runs of letters, digits and low lines.

    A text on whose token boundaries a literal stands has all of the literal's words among its own, so most of the literals that
    it lacks need no search.
    """
    if text.isascii():  # the same words, several times faster
        return text.encode("ascii").translate(_APART).decode("ascii").split()
    return _RUN.findall(text)


_RUN = re.compile(r"\w+")
_APART = bytes(
    code if chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(128)
) + bytes(128)


def holds(text: str, answer: str) -> bool:
    """Whether a text holds a literal on token boundaries: ``42`` is not in ``1423``, ``a.py`` not in ``ba.py``."""
    return next(places_of(text, answer), None) is not None


def places_of(text: str, answer: str) -> Iterator[int]:
    """Yield where a text holds a literal on token boundaries, from left to right.

    >>> list(places_of("42 in 1423, 42.5 and /42/a", "42"))
    [0, 22]
    """
    start = text.find(answer)
    while start >= 0:
        end = start + len(answer)
        before, after = text[start - 1 : start], text[end : end + 1]
        is_apart = not (_joins(before) and _joins(answer[0])) and not (
            _joins(after) and _joins(answer[-1])
        )
        if is_apart and not _is_part_of_number(text, start, end, answer):
            yield start
        start = text.find(answer, start + 1)


def _joins(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _is_part_of_number(text: str, start: int, end: int, answer: str) -> bool:
    """Whether a number goes on beside its match: ``42`` in ``42.5`` or ``1,042``."""
    if not (answer[0].isdigit() or answer[-1].isdigit()):
        return False
    before = (
        answer[0].isdigit()
        and text[start - 1 : start] in (".", ",")
        and text[max(0, start - 2) : start - 1].isdigit()
    )
    after = (
        answer[-1].isdigit()
        and text[end : end + 1] in (".", ",")
        and text[end + 1 : end + 2].isdigit()
    )
    return bool(before or after)
