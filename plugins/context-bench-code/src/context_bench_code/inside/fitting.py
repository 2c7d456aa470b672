"""How a piece of code completes a problem: as whole functions, or as the body that the prompt leaves open."""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Collection, Iterator
from typing import NamedTuple

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, UnicodeError)
"""What the compiler raises for text that is no program, among it null characters and endless nesting."""

_BUILTINS = frozenset(dir(builtins))


class Problem(NamedTuple):
    """What a solution has to fit.

    `prompt` is the code that the model was asked to complete, or "" where the task is told in words. `names` are what
    the tests call.
    """

    prompt: str
    names: frozenset[str]


class Fit(NamedTuple):
    """Sources to run one after the other, and in which form the code was written."""

    form: str
    sources: tuple[str, ...]


def fit_functions(code: str, problem: Problem, must_be_whole: bool = False) -> Fit | None:
    """The code as whole functions behind the prompt's imports and helpers; None if it defines nothing that is called.

    Args:
        code: The code.
        problem: What it has to fit.
        must_be_whole: Whether an import will not do, nor a function that gives nothing back or leaves something out.
    """
    code = outdented(code)
    tree = parse(code)
    if (
        tree is None
        or not defined_names(tree, with_stubs=False) & problem.names
        or _begins_with_talk(tree.body)
    ):
        return None
    if (
        must_be_whole
        and not {name for each in tree.body if _is_whole(each) for name in bound_names(each)}
        & problem.names
    ):
        return None
    if not compiles(code):
        return None  # a body may assign to a variable with the function's name, and has a return that does not compile
    return Fit("function", (opened(problem.prompt), code) if problem.prompt else (code,))


def fit_body(
    code: str, problem: Problem, must_return: bool = False, may_lack_end: bool = False
) -> Fit | None:
    """The code as the continuation of the prompt, with its indentation restored if need be; None if none will do.

    Args:
        code: The code.
        problem: What it has to fit.
        must_return: Whether a body that returns nothing will not do.
        may_lack_end: Whether one will do that returns nothing and is only the beginning of the code: mostly an import above
            a whole function.
    """
    if not problem.prompt or not code.strip():
        return None
    whole = parse(outdented(code))
    if whole is not None and _begins_with_talk(whole.body):
        return None  # behind the prompt a word stands by itself, and a function below it is no body
    for variant, is_cut in _continuations(code, problem.prompt):
        tree = parse(variant)
        body = _last_body(tree, problem.names) if tree else None
        if not body or _is_stub(body) or _begins_with_talk(body):
            continue
        if (must_return or (is_cut and not may_lack_end)) and not _returns(body):
            continue
        if compiles(variant):
            return Fit("body", (variant,))
    return None


def returns(fit: Fit, problem: Problem) -> bool:
    """Whether a function that is called gives something back; a line of words or of data can be a body that gives nothing."""
    tree = parse(fit.sources[-1])
    body = _last_body(tree, problem.names) if tree else None
    return body is None or _returns(body)


def outdented(code: str) -> str:
    r"""The code without the indentation that all its lines share; unlike textwrap.dedent it leaves blank lines alone.

    >>> outdented("  if a:\n    b\n \n")
    'if a:\n  b\n \n'
    """
    indents = [line[: len(line) - len(line.lstrip())] for line in code.split("\n") if line.strip()]
    shared = min(indents, key=len, default="")
    while not all(indent.startswith(shared) for indent in indents):
        shared = shared[:-1]
    return "\n".join(line.removeprefix(shared) for line in code.split("\n")) if shared else code


def parse(code: str) -> ast.Module | None:
    """The syntax tree, or None if there is none."""
    try:
        return ast.parse(code)
    except UNREADABLE:
        return None


def compiles(code: str) -> bool:
    """Whether Python takes the code; it refuses more than it cannot parse, such as a return outside of a function."""
    try:
        compile(code, "<response>", "exec", dont_inherit=True)
    except UNREADABLE:
        return False
    return True


def opened(prompt: str) -> str:
    """The prompt as code that runs: a function or a method without even a docstring gets one statement."""
    if parse(prompt):
        return prompt
    head = prompt.rstrip()
    last = head[head.rfind("\n") + 1 :]
    return f"{head}\n{last[: len(last) - len(last.lstrip())]}    pass\n"


def is_code(prompt: str, names: Collection[str]) -> bool:
    """Whether the prompt is the beginning of a program that defines one of the names."""
    tree = parse(opened(prompt))
    return tree is not None and bool(defined_names(tree) & set(names))


def defined_names(tree: ast.Module, with_stubs: bool = True) -> set[str]:
    """The names that the module's own statements bind; stubs are functions with nothing in them."""
    names: set[str] = set()
    for statement in tree.body:
        names |= bound_names(statement, with_stubs)
    return names


def bound_names(statement: ast.stmt, with_stubs: bool = True) -> set[str]:
    """The names that one statement binds in its own scope."""
    if isinstance(statement, Function):
        return {statement.name} if with_stubs or not _is_stub(statement.body) else set()
    if isinstance(statement, ast.ClassDef):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    bound = {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for inner in ast.walk(statement):  # a definition under an if or a try
        if isinstance(inner, (*Function, ast.ClassDef)):
            bound.add(inner.name)
        elif isinstance(inner, (ast.Import, ast.ImportFrom)):
            bound |= bound_names(inner)
    return bound


def missing_names(tree: ast.AST) -> set[str]:
    """The names that are read somewhere and bound nowhere in the code."""
    read: set[str] = set()
    bound: set[str] = set(_BUILTINS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        elif isinstance(node, (*Function, ast.ClassDef, ast.Import, ast.ImportFrom)):
            bound |= bound_names(node)
    return read - bound


def _continuations(code: str, prompt: str) -> Iterator[tuple[str, bool]]:
    """Prompt and code in one, from the plainest joint to the most restored; the last ones drop what follows the body.

    With each whether something is dropped.
    """
    code = code.strip("\n")
    indent = _body_indent(prompt)
    head = prompt if prompt.endswith("\n") else f"{prompt}\n"
    for text in (code, _before_next_statement(code)):
        first, _, rest = text.partition("\n")
        joined = (
            f"{prompt}{text}\n",
            f"{head}{text}\n",
            head + textwrap.indent(outdented(text), indent) + "\n",
            f"{head}{indent}{text.lstrip()}\n",
            head + textwrap.indent(f"{first.strip()}\n{outdented(rest)}", indent) + "\n",
        )
        yield from ((variant, text != code) for variant in joined)


def _before_next_statement(code: str) -> str:
    """The lines up to the first one that starts at the margin again: where the completion's own body ends."""
    lines = code.split("\n")
    for index, line in enumerate(lines[1:], 1):
        if line[:1].strip():
            return "\n".join(lines[:index])
    return code


def _body_indent(prompt: str) -> str:
    tree = parse(opened(prompt))
    functions = [function for _, function in _functions(tree)] if tree else []
    return " " * functions[-1].body[0].col_offset if functions else "    "


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module and the methods of its classes, each with the name in the module."""
    for node in tree.body:
        parts = node.body if isinstance(node, ast.ClassDef) else [node]
        yield from (
            (getattr(node, "name", ""), part) for part in parts if isinstance(part, Function)
        )


def _last_body(tree: ast.Module, names: Collection[str]) -> list[ast.stmt] | None:
    bodies = [function.body for name, function in _functions(tree) if name in names]
    return bodies[-1] if bodies else None


def _begins_with_talk(body: list[ast.stmt]) -> bool:
    """Whether the first statement is a single word, such as Sure."""
    after_docstring = body[1:] if len(body) > 1 and _is_stub(body[:1]) else body
    first = after_docstring[0] if after_docstring else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Name)


def _is_stub(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def _is_whole(statement: ast.stmt) -> bool:
    """Whether a statement defines something itself, and not an outline of it."""
    if isinstance(statement, Function):
        return _returns(statement.body) and not _is_outline(statement.body)
    if isinstance(statement, ast.ClassDef):
        return not _is_stub(statement.body)
    return not isinstance(statement, (ast.Import, ast.ImportFrom))


def _is_outline(body: list[ast.stmt]) -> bool:
    """Whether a body is for others to fill in: it leaves out a statement among others, or only says that it does nothing yet."""
    if isinstance(body[-1], ast.Raise) and _is_stub(body[:-1]):
        return any(
            isinstance(node, ast.Name) and node.id == "NotImplementedError"
            for node in ast.walk(body[-1])
        )
    is_left_out = [
        isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Constant)
        and each.value.value is ...
        for each in body
    ]
    return any(is_left_out) and not all(is_left_out)


def _returns(body: list[ast.stmt]) -> bool:
    """Whether a body gives something back; what the functions defined in it give back does not count."""
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop()
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Raise)):
            return True
        if not isinstance(node, (*Function, ast.Lambda, ast.ClassDef)):
            left += ast.iter_child_nodes(node)
    return False
