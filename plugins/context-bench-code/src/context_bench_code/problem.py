"""From a row of a data set to what has to be run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench_code.calls import checked_name, defines_check, missing_calls
from context_bench_code.inside.doctests import asks_for_doctests, docstrings_of

_FUNCTION = re.compile(r"^(?:async\s+)?def\s+(\w+)\s*\(", re.MULTILINE)


def job_of(original: Mapping[str, Any], response: str) -> dict[str, Any] | None:
    """The job for a row and a response to it; None if the row has no tests that could be run.

    HumanEval's rows have `test`, which defines `check`, and `entry_point`; MBPP's have `test_list`, and perhaps
    `test_imports` and `test_setup_code`. The code that a completion continues is in `prompt`, `context` or `question`. Tests
    that only define functions or classes are called, where that can be done without arguments.
    """
    prompts = [
        text
        for key in ("prompt", "context", "question")
        if isinstance(text := original.get(key), str)
    ]
    tests = _texts(original.get("test")) or _texts(original.get("test_list"))
    if not tests:
        return None
    setup = _texts(original.get("test_setup_code"))
    has_examples = bool(asks_for_doctests(tests) and docstrings_of([*tests, *setup, *prompts]))
    entry_point, calls = _called(tests, original.get("entry_point"), prompts, has_examples)
    if calls is None:
        return None  # nothing would call the tests
    return {
        "response": response,
        "prompts": prompts,
        "entry_point": entry_point,
        "calls": calls,
        "imports": "\n".join(_texts(original.get("test_imports"))),
        "setup": "\n".join(setup),
        "tests": tests,
    }


def _called(
    tests: list[str], given: Any, prompts: list[str], has_examples: bool
) -> tuple[str | None, str | None]:
    """The name that is tested, where tests call it by another one, and the calls that they lack; None if none can be made."""
    if not defines_check(tests):
        return None, missing_calls(tests, has_examples)
    checked = checked_name(tests)
    entry_point = _entry_point(given or checked, prompts)
    if checked is not None:
        return entry_point, ""
    return entry_point, f"check({entry_point})" if entry_point else None


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]


def _entry_point(given: Any, prompts: list[str]) -> str | None:
    if isinstance(given, str) and given.isidentifier():
        return given
    names = [name for prompt in prompts for name in _FUNCTION.findall(prompt)[-1:]]
    return names[0] if names else None
