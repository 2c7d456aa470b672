"""Whether the tests of a row can be run at all: what is said before anything of a response is read."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench_code.inside.assembly import lines_of, problem_of
from context_bench_code.inside.blocks import fenced_blocks
from context_bench_code.inside.fitting import (
    UNREADABLE,
    Function,
    is_code,
    opened,
    outdented,
    parse,
)

_ALWAYS_THERE = ("solution", "__main__")
_CALLED = ("check", "test")
_CALLED_OF_A_CLASS = (*_CALLED, "setup", "asyncsetup")


def fault_of(job: Mapping[str, Any]) -> str | None:
    """Why no response could pass: a test is no Python, or test or task import what this Python lacks. None if nothing is wrong.

    Looked at are the imports that are certain to run: those of a test's own statements, and of the functions and classes that are
    called as tests. One in a `try` or below a condition may have been left to fail. Of the code that the row gives to complete,
    bare or in a fence of its words, they are those of its own statements and of what the tests call: an answer that begins with
    that code cannot run, either.
    """
    texts = {"imports": job["imports"], "setup": job["setup"]}
    for name, text in (
        *texts.items(),
        *((f"test {index}", test) for index, test in enumerate(job["tests"])),
    ):
        try:
            tree = ast.parse(lines_of(text))
            compile(tree, f"<{name}>", "exec", dont_inherit=True)
        except UNREADABLE as error:
            return f"<{name}> is no Python: {error}"
        lacking = _lacking(_imported(tree.body))
        if lacking:
            return _told(name, lacking)
    lacking = _lacking(_asked_for(job))
    return _told("prompt", lacking) if lacking else None


def _told(name: str, lacking: str) -> str:
    return (
        f"<{name}> imports {lacking!r}, which the sandbox lacks: it has the standard library alone"
    )


def _lacking(modules: Iterable[str]) -> str | None:
    return next((module for module in modules if not _is_there(module)), None)


def _asked_for(job: Mapping[str, Any]) -> Iterator[str]:
    """What the code imports that the row gives to complete: its prompt, or a fence in it that defines what the tests call."""
    prompt, names = problem_of(job)
    texts = [
        text
        for text in map(lines_of, job["prompts"])
        if "import" in text and any(name in text for name in names)
    ]
    fenced = (block.text for text in texts for block in fenced_blocks(text) if block.is_python)
    given = prompt or next((text for text in map(outdented, fenced) if is_code(text, names)), "")
    tree = parse(opened(given))
    for statement in tree.body if tree else ():
        yield from _imported([statement])
        if isinstance(statement, Function) and statement.name in names:
            yield from _imported(statement.body)


def _imported(body: list[ast.stmt], called: tuple[str, ...] = _CALLED) -> Iterator[str]:
    """The modules that statements import for certain, in the functions and classes too that are run as tests or around them."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            yield statement.module.partition(".")[0]
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _imported(statement.body)
        elif isinstance(statement, Function):
            yield from (
                _imported(statement.body) if statement.name.lower().startswith(called) else ()
            )
        elif isinstance(statement, ast.ClassDef):
            is_case = any(ast.unparse(base).endswith("TestCase") for base in statement.bases)
            if is_case or statement.name.lower().startswith(called):
                yield from _imported(statement.body, _CALLED_OF_A_CLASS)


def _is_there(module: str) -> bool:
    try:
        return module in _ALWAYS_THERE or importlib.util.find_spec(module) is not None
    except (ValueError, ImportError):  # something that is loaded and does not say from where
        return True
