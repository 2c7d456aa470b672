"""Functions of one expression, computed without running any code: what hidden tests of a bug hunt call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

_MAX_CALLS = 10_000
_MAX_NUMBER = 10**30
_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
}


class ExpressionError(ValueError):
    """A file is not Python, or a function does more than these tests compute."""


class Functions:
    """The functions of Python files, each of which returns an expression of whole numbers.

    Expressions have numbers, arguments, ``+``, ``-``, ``*``, and calls of each other.

    >>> Functions({"a.py": "def twice(a): return a * 2"}).call("twice", [4])
    8

    Args:
        files: Python files by path; others are ignored.

    Raises:
        ExpressionError: A file is not Python.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self._functions: dict[str, ast.FunctionDef] = {}
        self._left = _MAX_CALLS
        for path, text in sorted(files.items()):
            if path.endswith(".py"):
                self._add(path, text)

    def call(self, name: str, arguments: list[int]) -> int:
        """Return what a function returns.

        Raises:
            ExpressionError: It is missing, or does more than an expression.
        """
        self._left = _MAX_CALLS
        try:
            return self._call(name, arguments)
        except RecursionError as error:
            raise ExpressionError(f"{name} calls itself without an end.") from error

    def _add(self, path: str, text: str) -> None:
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ExpressionError(f"{path} is not Python: {error}") from error
        for node in module.body:
            if isinstance(node, ast.FunctionDef):
                self._functions[node.name] = node

    def _call(self, name: str, arguments: list[int]) -> int:
        self._left -= 1
        function = self._functions.get(name)
        if function is None or self._left < 0:
            raise ExpressionError(f"{name} is missing, or called too often.")
        names = [argument.arg for argument in function.args.args]
        body = [node for node in function.body if not _is_docstring(node)]
        if len(names) != len(arguments) or len(body) != 1 or not isinstance(body[0], ast.Return):
            raise ExpressionError(f"{name} is not an expression of {len(arguments)} arguments.")
        return self._value(body[0].value, dict(zip(names, arguments, strict=True)))

    def _value(self, node: ast.expr | None, places: Mapping[str, int]) -> int:
        value: int | None = None
        if isinstance(node, ast.Constant) and type(node.value) is int:
            value = node.value
        elif isinstance(node, ast.Name):
            value = places.get(node.id)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = -self._value(node.operand, places)
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left = self._value(node.left, places)
            value = _OPERATIONS[type(node.op)](left, self._value(node.right, places))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            value = self._call(
                node.func.id, [self._value(argument, places) for argument in node.args]
            )
        if value is None or abs(value) > _MAX_NUMBER:
            raise ExpressionError("An expression has more than numbers, arguments and calls.")
        return value


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
