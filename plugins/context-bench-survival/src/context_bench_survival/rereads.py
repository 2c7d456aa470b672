"""Re-reads: files that the recorded agent read again, and whose content a compressor took away."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from context_bench_sessions.messages import Message
from context_bench_survival.commands import command_text

ENOUGH = 0.5
"""Share of the lines of a file's last recorded read that must still stand for its content to be there."""

_READERS = re.compile(
    r"(?i)(?:mcp__\w+__|functions\.)?(?:(?:ctx_)?(?:read|view|open|cat)(?:_?(?:text_?)?files?)?|file_?read)"
)
_EDITORS = re.compile(r"(?i)(?:mcp__\w+__)?str_replace\w*")
_SHELLS = re.compile(
    r"(?i)(?:ba|z|)sh|shell|terminal|exec\w*|run_(?:shell_)?command|local_shell(?:_call)?"
)
_FILE_KEYS = ("path", "file_path", "filePath", "filename", "file", "target_file")
_WRITES = frozenset(
    {"content", "text", "file_text", "new_string", "newText", "new_str", "edits", "patch", "insert"}
)
_PRINTS = re.compile(
    r"(?:^|[;&|\n])[^\S\n]*(?:cat|head|tail|less|more|nl|bat|sed\s+-n)\s+([^;&|<>\n]*)"
)


def files_read(call: Mapping[str, Any]) -> list[str]:
    """Return the files that a call reads: by a reading tool, or by a shell's ``cat``, ``head``, ``tail`` and their like.

    >>> files_read({"name": "bash", "arguments": '{"command": "cat src/a.py | wc -l"}'})
    ['src/a.py']
    >>> files_read({"name": "shell", "arguments": '{"command": ["bash", "-lc", "cat src/a.py"]}'})
    ['src/a.py']
    """
    name = str(call.get("name"))
    try:
        arguments = json.loads(str(call.get("arguments")))
    except (ValueError, RecursionError):
        return []
    if not isinstance(arguments, Mapping):
        return []
    if _SHELLS.fullmatch(name):
        text = command_text(arguments.get("command", arguments.get("cmd")))
        return [file for printed in _PRINTS.findall(text) for file in _operands(printed)]
    is_view = _EDITORS.fullmatch(name) and arguments.get("command") == "view"
    if not is_view and (not _READERS.fullmatch(name) or _WRITES & set(arguments)):
        return []
    return [_plain(arguments[key]) for key in _FILE_KEYS if isinstance(arguments.get(key), str)][:1]


def re_reads(
    before: Sequence[Message],
    region: tuple[int, int],
    later: Iterable[Mapping[str, Any]],
    texts: Iterable[str],
) -> float | None:
    """Return the share of the later recorded reads that are of a file whose content was removed; None without such reads.

    It is an upper bound of what a compressor makes an agent read again: the recorded agent read it again with its content there.

    Args:
        before: What the system was given, in the canonical form.
        region: What of it could be taken away.
        later: The calls that the recorded agent made afterwards.
        texts: What is left.
    """
    wanted = [file for call in later for file in files_read(call)]
    if not wanted:
        return None
    latest = dict(_reads(before, region))
    standing = {line.strip() for text in texts for line in text.splitlines()}
    removed = {file for file, content in latest.items() if not _stands(content, standing)}
    return sum(file in removed for file in wanted) / len(wanted)


def _reads(messages: Sequence[Message], region: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Yield each file that was read in the region or behind it, with what the call returned, in order."""
    asked: dict[str, list[str]] = {}
    for number, message in enumerate(messages):
        for call in message.get("tool_calls", ()):
            asked[call["id"]] = files_read(call)
        if message["role"] == "tool" and number >= region[0]:
            for file in asked.get(message["tool_call_id"], ()):
                yield file, str(message["content"])


def _stands(content: str, standing: set[str]) -> bool:
    lines = {line.strip() for line in content.splitlines()} - {""}
    return sum(line in standing for line in lines) >= ENOUGH * len(lines)


def _operands(printed: str) -> list[str]:
    try:
        words = shlex.split(printed)
    except ValueError:
        words = printed.split()
    return [
        _plain(word)
        for word in words
        if not word.startswith("-") and re.search(r"[./]", word) and "*" not in word
    ]


def _plain(path: str) -> str:
    return path.removeprefix("./")
