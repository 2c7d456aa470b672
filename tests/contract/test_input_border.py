"""What is read out of somebody else's text fails in one way: who expects that it is no JSON or TOML expects its depth, too.

A text of a hundred thousand brackets raises RecursionError and no ValueError. Who catches only the latter ends in a traceback.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
_READERS = {
    ("json", "loads"),
    ("json", "load"),
    ("tomli", "loads"),
    ("tomli", "load"),
    ("ast", "literal_eval"),
}
_WRONG_TEXT = {"ValueError", "JSONDecodeError", "TOMLDecodeError"}
_ENOUGH = {"RecursionError", "RuntimeError", "Exception", "BaseException"}


def shallow(source: str) -> Iterator[int]:
    """Yield the lines of what reads JSON or TOML and expects a wrong text, but not one that is nested too deeply.

    >>> list(shallow("import json\\ntry:\\n    json.loads(t)\\nexcept ValueError:\\n    pass"))
    [3]
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Try):
            caught = {name for handler in node.handlers for name in _names(handler.type)}
            if caught & _WRONG_TEXT and not caught & _ENOUGH:
                yield from (
                    call.lineno for part in node.body for call in ast.walk(part) if _reads(call)
                )


def _names(caught: ast.expr | None) -> Iterator[str]:
    """Yield the names of what a handler catches; a name written in capitals stands for a tuple that is looked at elsewhere."""
    if caught is None:
        yield "BaseException"
    elif isinstance(caught, ast.Tuple):
        for one in caught.elts:
            yield from _names(one)
    else:
        yield ast.unparse(caught).rpartition(".")[2]


def _reads(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return (function.value.id, function.attr) in _READERS


def test_whoever_expects_a_wrong_text_expects_a_deep_one() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): list(shallow(path.read_text("utf-8")))
        for path in SOURCES
    }
    assert {name: lines for name, lines in found.items() if lines} == {}, (
        "catch RecursionError beside ValueError"
    )


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("try:\n    tomli.loads(t)\nexcept tomli.TOMLDecodeError:\n    pass", [2]),
        (
            "try:\n    x = [json.loads(t) for t in s]\nexcept (OSError, json.JSONDecodeError):\n    pass",
            [2],
        ),
        ("try:\n    json.loads(t)\nexcept (ValueError, RecursionError):\n    pass", []),
        ("try:\n    json.loads(t)\nexcept Exception:\n    pass", []),
        ("try:\n    json.dumps(t)\nexcept ValueError:\n    pass", []),
        ("json.loads(t)", []),
    ],
)
def test_it_sees_who_does_not(source: str, lines: list[int]) -> None:
    assert list(shallow(source)) == lines
