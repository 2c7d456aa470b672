"""Commands of shells: what they run, without the shell that runs it."""

from __future__ import annotations

import re
import shlex

_SHELL = re.compile(r"(?i)(?:.*[\\/])?(?:(?:ba|z|da|k|fi|)sh|pwsh|powershell)(?:\.exe)?")
_RUNS = re.compile(r"-[a-z]*c|-(?i:command)")


def command_text(command: object) -> str:
    """Return the text of a command that a call gives as a text or as a list of words.

    Codex hands each command to a shell as ``["bash", "-lc", TEXT]``; then it is that text.

    >>> command_text(["bash", "-lc", "cd /srv && cat a.py"]), command_text("sh -c 'ls -l'"), command_text(["cat", "b c.md"])
    ('cd /srv && cat a.py', 'ls -l', "cat 'b c.md'")
    """
    if isinstance(command, list):
        words = list(map(str, command))
        return _inner(words) or shlex.join(words)
    text = str(command or "")
    if _SHELL.match(text.lstrip()) is None:
        return text
    try:
        return _inner(shlex.split(text)) or text
    except ValueError:  # a quote that is not closed, or a here-document
        return text


def _inner(words: list[str]) -> str | None:
    """Return the text that a shell is told to run; None where it is told none."""
    if not words or _SHELL.fullmatch(words[0]) is None:
        return None
    for place, word in enumerate(words[1:-1], 1):
        if not word.startswith("-"):
            return None
        if _RUNS.fullmatch(word):
            return words[place + 1]
    return None
