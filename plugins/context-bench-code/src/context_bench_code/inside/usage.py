"""The end of a response that uses its solution as a program of its own: it asks a user or a command line, or leaves."""

from __future__ import annotations

import ast
import re

from context_bench_code.inside.fitting import Fit, Function, bound_names, missing_names, parse

_MAY_TALK = re.compile(r"\b(?:input|stdin|exit|quit|SystemExit|unittest|argv|parse_args)\b")
_NAMES = {"input", "exit", "quit", "SystemExit"}
_ATTRIBUTES = {("sys", "stdin"), ("sys", "argv"), ("sys", "exit"), ("unittest", "main")}


def without_usage(fit: Fit) -> Fit:
    r"""The fit without the end of its code, from the first statement on that asks a user or leaves.

    Here is nobody to answer, and a program that has left is not tested. evalplus drops such statements with all others that
    define nothing. Nothing goes that a definition stands behind, and nothing that the rest reads.

    >>> without_usage(Fit("function", ("def double(x):\n    return 2 * x\n\nprint(double(int(input())))\n",))).sources
    ('def double(x):\n    return 2 * x\n\n',)
    """
    code = fit.sources[-1]
    tree = parse(code) if _MAY_TALK.search(code) else None
    first = _first_of_usage(tree) if tree else None
    if tree is None or first is None or tree.body[first].col_offset:
        return fit
    kept = "".join(code.splitlines(keepends=True)[: tree.body[first].lineno - 1])
    return Fit(fit.form, (*fit.sources[:-1], kept))


def _first_of_usage(tree: ast.Module) -> int | None:
    talkers = _talkers(tree)
    end = len(tree.body)
    while end and not isinstance(
        tree.body[end - 1], (*Function, ast.ClassDef, ast.Import, ast.ImportFrom)
    ):
        end -= 1
    first = next(
        (end + place for place, each in enumerate(tree.body[end:]) if _talks(each, talkers)), None
    )
    if not first:
        return None
    bound = {name for statement in tree.body[first:] for name in bound_names(statement)}
    return None if bound & missing_names(ast.Module(tree.body[:first], [])) else first


def _talkers(tree: ast.Module) -> set[str]:
    """What asks or leaves when it is called: Python's own functions, unless they are replaced, and those that call them."""
    functions = [statement for statement in tree.body if isinstance(statement, Function)]
    defined = {
        name
        for each in tree.body
        if not isinstance(each, ast.ImportFrom)
        for name in bound_names(each)
    }
    talkers = _NAMES - defined
    while found := {
        each.name for each in functions if each.name not in talkers and _talks(each, talkers)
    }:
        talkers |= found
    return talkers


def _talks(statement: ast.stmt, talkers: set[str]) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in talkers:
            return True
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr == "parse_args" or (owner, node.attr) in _ATTRIBUTES:
                return True
    return False
