"""The parts of a response that a model marked as code: Markdown fences, [BEGIN] ... [DONE] and [PYTHON] ... [/PYTHON]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from context_bench_code.inside.fitting import outdented, parse

_OPENING = re.compile(r"^(?P<before>.*?)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_LANGUAGE = re.compile(r"[{. \t]*([A-Za-z0-9_+#-]*)")
_PYTHON = {"", "python", "py", "python2", "python3", "py3", "ipython", "ipython3", "sage"}
_MARKED = re.compile(r"\[BEGIN\](.*?)(?:\[DONE\]|\Z)|\[PYTHON\](.*?)(?:\[/PYTHON\]|\Z)", re.DOTALL)
_MARKED_END = re.compile(r"\[DONE\]|\[/PYTHON\]")
_ONE_LINE = re.compile(
    r"^[ \t]*(`{1,}|~{3,})(?:python3?|py)?[ \t]*([^`\n]+?)[ \t]*\1[ \t]*$", re.MULTILINE
)
_TRIED_ENDS = 20


class Block(NamedTuple):
    """Text between two fences, and whether its language is Python or not named."""

    text: str
    is_python: bool


def marked_sections(text: str) -> list[str]:
    """What stands between [BEGIN] and [DONE], the marks of MBPP's prompts, or [PYTHON] and [/PYTHON], those of Code Llama's.

    Either one may be missing.

    >>> marked_sections("[BEGIN]\\nx = 1\\n[DONE]\\n[BEGIN]\\n..."), marked_sections("x = 1\\n[DONE] more")
    (['\\nx = 1\\n', '\\n...'], ['x = 1\\n'])
    """
    if marked := [match[1] or match[2] or "" for match in _MARKED.finditer(text)]:
        return marked
    end = _MARKED_END.search(text)
    return [text[: end.start()]] if end else []


def fenced_blocks(text: str) -> list[Block]:
    """The fenced blocks, in order. A block that is never closed goes on to the end.

    Without a line that can open a block, code on one line between back-quotes counts. Where the fence at the end is the
    only one, its beginning was part of the prompt.

    >>> fenced_blocks("So:\\n```python\\nreturn 1\\n```\\nThat is all.")
    [Block(text='return 1\\n', is_python=True)]
    """
    lines = text.split("\n")
    blocks = list(_blocks(lines))
    if not blocks:
        return [Block(match[2], True) for match in _ONE_LINE.finditer(text)]
    if len(blocks) == 1 and not blocks[0].text.strip():
        return [
            Block(re.split(r"^[ \t]*(?:```|~~~)", text, maxsplit=1, flags=re.MULTILINE)[0], True)
        ]
    return blocks


def _blocks(lines: list[str]) -> Iterator[Block]:
    position = 0
    while position < len(lines):
        opening = _OPENING.match(lines[position])
        position += 1
        if not opening:
            continue
        end, text = _content(lines, position, opening["fence"])
        indent = opening["before"] if not opening["before"].strip() else ""
        language = _LANGUAGE.match(opening["info"])
        yield Block(
            _outdented(text, indent), language is not None and language[1].lower() in _PYTHON
        )
        position = end


def _content(lines: list[str], start: int, fence: str) -> tuple[int, str]:
    """Where the block ends and what it holds: up to the first end that leaves Python, else up to the first end.

    An end is a line of its own, or else stands behind the code on its last line.
    """
    ends = list(
        islice(
            (index for index in range(start, len(lines)) if _closes(lines[index], fence)),
            _TRIED_ENDS,
        )
    )
    for end in ends:
        text = "\n".join(lines[start:end]) + "\n"
        if parse(outdented(text)):
            return end + 1, text
    for index in range(start, ends[0] if ends else len(lines)):
        if lines[index].rstrip().endswith(fence):  # the fence follows the code on its last line
            text = "\n".join([*lines[start:index], lines[index].rstrip()[: -len(fence)]]) + "\n"
            if not ends or parse(outdented(text)):
                return index + 1, text
    stop = ends[0] if ends else len(lines)
    return stop + 1, "\n".join(lines[start:stop]) + "\n"


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _outdented(text: str, indent: str) -> str:
    """A block inside a list item without the indentation of the item."""
    if not indent:
        return text
    return "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
