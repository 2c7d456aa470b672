"""From a row of a data set to what has to be run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_CHECK = re.compile(r"^def\s+check\s*\(", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:async\s+)?def\s+(\w+)\s*\(", re.MULTILINE)


def job_of(original: Mapping[str, Any], response: str) -> dict[str, Any] | None:
    """The job for a row and a response to it; None if the row has no tests that could be run.

    HumanEval's rows have `test`, which defines `check`, and `entry_point`; MBPP's have `test_list`, and perhaps
    `test_imports` and `test_setup_code`. The code that a completion continues is in `prompt`, `context` or `question`.
    """
    prompts = [text for key in ("prompt", "context", "question") if isinstance(text := original.get(key), str)]
    tests = _texts(original.get("test")) or _texts(original.get("test_list"))
    if not tests:
        return None
    entry_point = None
    if any(map(_CHECK.search, tests)):
        entry_point = _entry_point(original.get("entry_point"), prompts)
        if entry_point is None:
            return None  # nothing would call the check
    return {
        "response": response,
        "prompts": prompts,
        "entry_point": entry_point,
        "imports": "\n".join(_texts(original.get("test_imports"))),
        "setup": "\n".join(_texts(original.get("test_setup_code"))),
        "tests": tests,
    }


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]


def _entry_point(given: Any, prompts: list[str]) -> str | None:
    if isinstance(given, str) and given.isidentifier():
        return given
    names = [name for prompt in prompts for name in _FUNCTION.findall(prompt)[-1:]]
    return names[0] if names else None
