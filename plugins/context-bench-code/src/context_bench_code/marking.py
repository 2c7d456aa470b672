"""The marks around code in a reply, in the one form in which the program that looks for the code expects them."""

from __future__ import annotations

import re

_OPENING_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*$", re.MULTILINE)
_CLOSED_WITH = re.compile(r"^([ \t]*(?:`{3,}|~{3,}))[ \t]*(</\w+>|\*\*)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"`{3,}|~{3,}")
_LANGUAGE = re.compile(r"(?:python3?|py3?|ipython)(?:[ \t]+|(?=\n))", re.IGNORECASE)
_IS_CODE = re.compile(r"\s*(?:(?:async\s+)?def|class|import|from|return|for|while|if|@\w)\b|\s*@\w")
_BULLET = re.compile(r"(?:[-*\u2022] |\d{1,3}[.)] )")


def marked(response: str) -> str:
    """Return a reply with each fence in a line of its own, and without a bullet or number before each of its lines.

    A reply that has fences in lines of their own stays as it is: what is between its lines is not looked at. What closes
    the layout around all of it behind the last fence, as in "```</response>", gets a line of its own.

    >>> marked("So: ```def f(n): return n```")
    'So: \\n```\\ndef f(n): return n\\n```\\n'
    >>> marked("```\\nx = 1\\n```</response>")
    '```\\nx = 1\\n```\\n</response>'
    """
    response = _CLOSED_WITH.sub(r"\1\n\2", _unlisted(response))
    if "```" not in response and "~~~" not in response:
        return response
    parts = _FENCE.split(response)
    if (
        len(parts) < 2
        or _begins_well(response)
        or not _IS_CODE.match(_LANGUAGE.sub("", parts[1], count=1))
    ):
        return response
    written = [parts[0]]
    for place, part in enumerate(parts[1:], 1):
        is_code = place % 2 == 1
        if is_code:
            part = _LANGUAGE.sub("", part, count=1) if _LANGUAGE.match(part) else part
        written.append(f"\n```\n{part}" if is_code else f"\n```\n{part.lstrip(chr(10))}")
    return "".join(written)


def _begins_well(response: str) -> bool:
    """Whether the first fence of a reply is in a line of its own."""
    first = _FENCE.search(response)
    line = _OPENING_LINE.search(response)
    return first is not None and line is not None and line.start() <= first.start() < line.end()


def _unlisted(response: str) -> str:
    """The reply without the bullet or number that begins each of its lines, if each has one."""
    lines = response.split("\n")
    written = [line for line in lines if line.strip()]
    if len(written) < 2 or not all(map(_BULLET.match, written)):
        return response
    return "\n".join(_BULLET.sub("", line, count=1) for line in lines)
