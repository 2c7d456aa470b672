"""The texts and numbers at the top of a YAML file, which is what a task of terminal-bench needs of one."""

from __future__ import annotations

import json
import re
from textwrap import dedent

_ENTRY = re.compile(r"([A-Za-z_]\w*):[ \t]*(.*)")


def read_scalars(text: str) -> dict[str, str]:
    r"""Return the top entries of a YAML file that are a block of lines, or a text of one line, as texts.

    Entries of any other form, such as lists, are left out.

    >>> read_scalars("instruction: |-\n  Write a.\n\n  Then b.\ntags:\n  - x\nseconds: 180.0  # a bound\n")
    {'instruction': 'Write a.\n\nThen b.', 'seconds': '180.0'}
    """
    scalars: dict[str, str] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _ENTRY.fullmatch(line)
        if match is None:
            continue
        name, value = match.groups()
        block = _block_below(lines[number + 1 :])
        if value.startswith("|"):
            scalars[name] = dedent(block).strip("\n")
        elif value and not block.strip():
            scalars[name] = _unquoted(value)
    return scalars


def _block_below(lines: list[str]) -> str:
    """Return the lines up to the next one that is not indented."""
    block: list[str] = []
    for line in lines:
        if line and not line[0].isspace():
            break
        block.append(line)
    return "\n".join(block)


def _unquoted(value: str) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except (ValueError, RecursionError):
            return ""
    if value.startswith("'"):
        return value[1:].rpartition("'")[0].replace("''", "'")
    return re.split(r"\s#", value)[0].strip()
