"""What calls the tests of a row: they do it themselves, or it has to be written for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

_CHECK = re.compile(r"^def\s+check\s*\(", re.MULTILINE)
_CALLED_CHECK = re.compile(r"^check\s*\(\s*(?:(\w+)\s*\))?", re.MULTILINE)
_ASSERTION = re.compile(r"^assert\b", re.MULTILINE)
_DEFINITIONS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Pass,
)
_TRUTHS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_RUN_TEST_CASE = (
    "import unittest\n"
    "assert unittest.TextTestRunner(verbosity=0)"
    ".run(unittest.defaultTestLoader.loadTestsFromTestCase({name})).wasSuccessful()"
)


def defines_check(tests: Sequence[str]) -> bool:
    """Whether the tests are HumanEval's: a function `check` that takes what is tested."""
    return any(map(_CHECK.search, tests))


def checked_name(tests: Sequence[str]) -> str | None:
    """What the tests themselves call `check` with: a name, "" where it is something else, None where they do not.

    >>> checked_name(["def check(f): assert f(1) == 2", "check(double)"]), checked_name(["def check(f): pass"])
    ('double', None)
    """
    found = [match for test in tests for match in _CALLED_CHECK.finditer(test)]
    return (found[-1][1] or "") if found else None


def missing_calls(tests: Sequence[str], has_examples: bool = False) -> str | None:
    """The calls without which tests would only be defined: "" where they run by themselves, None where none can be made.

    Functions called `test...` that need no arguments are called, and so are such methods of classes called `Test...`; the classes
    of unittest are run, unless the tests call `unittest.main()`. What only runs doctests tests nothing without examples, nor does
    what neither calls nor asserts anything: a table of inputs and outputs, or a comparison by itself.

    Args:
        tests: Sources.
        has_examples: Whether docstrings that the row gives hold examples.

    >>> missing_calls(["assert double(1) == 2"]), missing_calls(["def test_double(): assert double(1) == 2"])
    ('', 'test_double()')
    >>> missing_calls(["def double_it(): assert double(1) == 2"]) is None
    True
    """
    is_doctest = not has_examples and any("doctest" in test for test in tests)
    if any(map(_ASSERTION.search, tests)) and not is_doctest:
        return ""
    try:
        statements = [statement for test in tests for statement in ast.parse(test).body]
    except _UNREADABLE:
        return ""  # the program says what is wrong with them
    cases = _test_cases(statements)
    running = [
        statement
        for statement in statements
        if _runs(statement) and (cases or not _is_main(statement))
    ]
    if is_doctest:
        running = _without_doctests(statements, running)
    if running:
        return ""
    return "\n".join(call for statement in statements for call in _calls(statement, cases)) or None


def _runs(statement: ast.stmt) -> bool:
    if isinstance(statement, _DEFINITIONS):
        return False
    if isinstance(statement, ast.If):  # a main block is not run, as in the reference harnesses
        return not any(
            isinstance(node, ast.Name) and node.id == "__name__"
            for node in ast.walk(statement.test)
        )
    if isinstance(statement, ast.Expr) and isinstance(statement.value, _TRUTHS):
        return False  # `add(1, 2) == 3` by itself: nobody looks at what it gives
    return any(isinstance(node, (ast.Call, ast.Assert, ast.Raise)) for node in ast.walk(statement))


def _is_main(statement: ast.stmt) -> bool:
    """Whether a statement is a bare `unittest.main()`, which runs classes of unittest and nothing else."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return ast.unparse(statement.value.func) in ("unittest.main", "main")


def _without_doctests(
    statements: Sequence[ast.stmt], running: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """The statements that use neither the module doctest nor a name that one which does has bound."""
    names = {"doctest"}
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module == "doctest":
            names |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.Import):
            names |= {
                alias.asname
                for alias in statement.names
                if alias.name == "doctest" and alias.asname
            }
        elif names & (
            used := {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        ):
            names |= used if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
    return [
        statement
        for statement in running
        if not any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))
    ]


def _test_cases(statements: Sequence[ast.stmt]) -> frozenset[str]:
    """The names of the classes of unittest, those that inherit from one another included."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.ClassDef):
            bases = [ast.unparse(base) for base in statement.bases]
            if any(base.endswith("TestCase") or base in found for base in bases):
                found.add(statement.name)
    return frozenset(found)


def _calls(statement: ast.stmt, cases: Collection[str]) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef) and _is_test(statement, given=0):
        yield f"{statement.name}()"
    elif isinstance(statement, ast.ClassDef):
        if statement.name in cases:
            yield _RUN_TEST_CASE.format(name=statement.name)
        elif statement.name.startswith("Test"):
            methods = [part for part in statement.body if isinstance(part, ast.FunctionDef)]
            yield from (
                f"{statement.name}().{one.name}()" for one in methods if _is_test(one, given=1)
            )


def _is_test(function: ast.FunctionDef, given: int) -> bool:
    arguments = function.args
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults) - given
    return function.name.startswith("test") and required <= 0 and None not in arguments.kw_defaults
