"""Patches in responses: found among prose, and read as far as which files they change."""

from __future__ import annotations

import math
import re

_FENCE = re.compile(r"^```(?:diff|patch)[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_START = re.compile(r"^(?:diff --git |--- (?=\S[^\n]*\n\+\+\+ ))", re.MULTILINE)
_FILE = re.compile(
    r"^--- (\S+)(?:[^\S\n][^\n]*)?\n\+\+\+ (\S+)(?:[^\S\n][^\n]*)?\n(?=@@ )", re.MULTILINE
)
_HUNK = re.compile(
    r"^@@ (?P<counts>-\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))?)?[^\n]*(?:\n|\Z)", re.MULTILINE
)
_FOREIGN = re.compile(r"```|~~~|</\w")


def patch_of(response: str) -> str | None:
    """Return the patch that a response holds - as it is, fenced, in a ``<patch>`` or ``<diff>`` tag or behind prose - or None.

    What stands in tags counts before what stands in a fence called diff or patch, and that before anything else, as in
    SWE-bench's own ``extract_diff``. The patch ends with its last hunk: the words, fence or tag behind it are none of it.

    >>> patch_of("Here it is.\\n```diff\\n--- a/x.py\\n+++ b/x.py\\n@@ -1 +1 @@\\n-a\\n+b\\n```\\nDone.")
    '--- a/x.py\\n+++ b/x.py\\n@@ -1 +1 @@\\n-a\\n+b\\n'
    """
    for text in (*_tagged(response), *_FENCE.findall(response), response):
        start = _START.search(text)
        if start and files_of(text[start.start() :]):
            return _ended(text[start.start() :])
    return None


def _tagged(response: str) -> list[str]:
    """Return what stands in ``<patch>`` and ``<diff>`` tags; a tag that nothing closes is none."""
    return [
        part.partition(f"<{tag}>")[2].lstrip()
        for tag in ("patch", "diff")
        for part in response.split(f"</{tag}>")[:-1]
        if f"<{tag}>" in part
    ]


def _ended(text: str) -> str:
    """Return a text that begins with a patch up to the end of its last hunk."""
    hunks = list(_HUNK.finditer(text))
    if not hunks:
        return text
    last = hunks[-1]
    # a header such as "@@ ... @@" does not say how many lines follow
    old, new = (int(last[name] or 1) if last["counts"] else math.inf for name in ("old", "new"))
    end = last.end()
    for line in text[end:].splitlines(keepends=True):
        is_full = old <= 0 and new <= 0
        if _FOREIGN.match(line) or (is_full and (line[0] not in "+- \\" or line.rstrip() == "--")):
            break
        end += len(line)
        old -= line[0] not in "+\\"
        new -= line[0] not in "-\\"
    return text[:end]


def files_of(patch: str) -> set[str]:
    """Return the files that a patch changes, creates or removes.

    >>> files_of("--- a/x.py\\n+++ b/x.py\\n@@ -1 +1 @@\\n-a\\n+b\\n")
    {'x.py'}
    """
    found = set()
    for before, after in _FILE.findall(patch):
        path = before if after == "/dev/null" else after
        found.add(re.sub(r"^[ab]/", "", path))
    return found


def changes_of(patch: str) -> list[str]:
    """Return what a patch says but for commit ids and white space at the ends of lines: equal lists are equal patches."""
    lines = (line.rstrip() for line in patch.strip().splitlines())
    return [
        line
        for line in lines
        if not line.startswith(("diff --git ", "index ", "new file mode", "\\ No newline"))
    ]
