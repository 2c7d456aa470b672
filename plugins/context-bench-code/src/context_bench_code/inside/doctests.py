"""The examples in the docstrings of a row, and what runs them where its tests ask for doctests."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_code.inside.fitting import Function, opened, parse

_LINE = re.compile(r"^[ \t]*(?:>>>|\.\.\.)(?: (.*))?$", re.MULTILINE)

_EXAMPLES_RAISE = """
def _examples_raise(docstrings):
    import doctest, sys
    module = sys.modules["solution"].__dict__
    run_quietly = doctest.DocTestRunner.run

    def run(self, test, *arguments, **options):
        result = run_quietly(self, test, *arguments, **options)
        if result.failed:
            raise AssertionError(f"doctest: {{result.failed}} of {{result.attempted}} examples fail in {{test.name}}")
        return result

    def run_all(wanted):
        runner = doctest.DocTestRunner(verbose=False)
        for name, text in docstrings:
            if wanted in (None, name):
                runner.run(doctest.DocTestParser().get_doctest(text, dict(module), name, None, None))
        return doctest.TestResults(0, runner.tries)

    doctest.DocTestRunner.run = run
    doctest.testmod = lambda *_, **__: run_all(None)
    doctest.run_docstring_examples = lambda thing, *_, **__: run_all(getattr(thing, "__name__", ""))

_examples_raise({docstrings!r})
del _examples_raise
"""


def asks_for_doctests(tests: Sequence[str]) -> bool:
    """Whether tests use the module doctest."""
    return any("doctest" in test for test in tests)


def docstrings_of(texts: Sequence[str]) -> list[tuple[str, str]]:
    r"""The docstrings with examples in code that a row gives, with the names of what they stand in; "" is a module's own.

    A text that is no code has none: what stands in its words may be an example of anything.

    >>> docstrings_of(['def add(a, b):\n    ">>> add(1, 2)\\n3"', "Write >>> add"])
    [('add', '>>> add(1, 2)\n3')]
    """
    found = []
    for tree in filter(None, (parse(opened(text)) for text in texts)):
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, *Function)):
                text = ast.get_docstring(node)
                if text and _LINE.search(text):
                    found.append((getattr(node, "name", ""), text))
    return list(dict.fromkeys(found))


def given_docstrings(job: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The docstrings with examples of a job's tests and of the code that it gives to complete."""
    return docstrings_of([*job["tests"], job["setup"], *job["prompts"]])


def examples_in(docstrings: Sequence[tuple[str, str]]) -> list[str]:
    """The code of the examples, a text for each docstring."""
    return ["\n".join(found or "" for found in _LINE.findall(text)) for _, text in docstrings]


def examples_raise(docstrings: Sequence[tuple[str, str]]) -> str:
    """What stands before tests that use doctest: the examples that the row gives are run, and one that fails raises.

    `doctest.testmod()` would look into `__main__`, which is empty, and only print; and the docstrings of a response may hold no
    example, or easier ones.
    """
    return _EXAMPLES_RAISE.format(docstrings=list(docstrings))
