"""From a response and its tests to the sources that are run, in their order."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from context_bench_code.inside.doctests import (
    asks_for_doctests,
    examples_in,
    examples_raise,
    given_docstrings,
)
from context_bench_code.inside.extraction import find_solution
from context_bench_code.inside.fitting import Problem, defined_names, is_code, missing_names, parse
from context_bench_code.inside.usage import without_usage

FAILURES_RAISE = """
def _failures_raise():
    import sys, unittest
    module = sys.modules["solution"].__dict__
    solutions = {id(value) for value in module.values()}
    run_quietly = unittest.TextTestRunner.run

    def run(self, test):
        result = run_quietly(self, test)
        if not result.wasSuccessful():
            told = [str(test) for test, _ in result.failures + result.errors]
            raise AssertionError("unittest: " + "; ".join(told + [str(test) for test in result.unexpectedSuccesses]))
        return result

    class main:
        def __init__(self, *_, **__):
            found = {id(value): value for value in module.values() if id(value) not in solutions}
            cases = [case for case in found.values() if isinstance(case, type) and issubclass(case, unittest.TestCase)]
            load = unittest.defaultTestLoader.loadTestsFromTestCase
            own = [case for case in cases if not case.__module__.startswith("unittest")]
            self.result = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(map(load, own)))

    unittest.TextTestRunner.run = run
    unittest.main = unittest.TestProgram = main

_failures_raise()
del _failures_raise
"""
"""What stands before tests that use unittest: a failure raises, and does not only print; `unittest.main()` runs the classes of
the tests, as a file of them would, and returns, where it would look into `__main__` and leave."""


class Source(NamedTuple):
    """A file name for tracebacks, and text."""

    name: str
    text: str


class Program(NamedTuple):
    """What to run, and the form in which the solution was written; no sources if there was no solution."""

    form: str
    sources: list[Source]


def assemble(job: Mapping[str, Any]) -> Program:
    """The program of a job: imports of the tests, solution, set-up of the tests, tests, the calls that they lack.

    The order is that of the reference harnesses: HumanEval appends its tests and the call to the prompt and the
    completion, MBPP's set-up code may use classes that the solution defines.
    """
    tests = [lines_of(test) for test in job["tests"]]
    found = find_solution(job["response"], problem_of(job))
    if found is None:
        return Program("none", [])
    solution = without_usage(found)
    sources = [Source("<imports>", job["imports"])]
    sources += [Source("<response>", text) for text in solution.sources]
    if asks_for_doctests(tests):
        sources.append(Source("<doctest>", examples_raise(given_docstrings(job))))
    if any("unittest" in test for test in (job["setup"], *tests)):
        sources.append(Source("<unittest>", FAILURES_RAISE))
    sources.append(Source("<setup>", job["setup"]))
    sources += [Source(f"<test {index}>", test) for index, test in enumerate(tests)]
    sources.append(Source("<check>", job["calls"]))
    return Program(solution.form, [source for source in sources if source.text.strip()])


def problem_of(job: Mapping[str, Any]) -> Problem:
    """What the solution of a job has to fit: the first of its prompts that is code, and what its tests call."""
    entry_point = job["entry_point"]
    tests = [lines_of(test) for test in job["tests"]]
    if asks_for_doctests(tests):
        tests += examples_in(given_docstrings(job))
    names = (
        frozenset([entry_point])
        if entry_point
        else called_names(tests, [job["imports"], job["setup"]])
    )
    return Problem(
        next((text for text in map(lines_of, job["prompts"]) if is_code(text, names)), ""), names
    )


def lines_of(text: str) -> str:
    """The text with line feeds alone at the ends of its lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def called_names(tests: Sequence[str], given: Iterable[str]) -> frozenset[str]:
    """The names that tests call and that neither Python nor the code they are given defines.

    Where they call none, those that they read: of `map(share, rows)`, `share`. One of Python's own names counts only where
    there is nothing else: MBPP/126 asks for a function called `sum`.

    >>> called_names(["assert set(share((1, 2))) == {1}"], ["import math"]), called_names(["assert sum(4, 6) == 3"], [])
    (frozenset({'share'}), frozenset({'sum'}))
    """
    trees = [tree for tree in map(parse, tests) if tree]
    calls = {
        node.func.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    read = {name for tree in trees for name in missing_names(tree)}
    for tree in (*trees, *map(parse, given)):
        defined = defined_names(tree) if tree else set()
        calls -= defined
        read -= defined
    return frozenset(calls & read or read or calls - set(dir(builtins)) or calls)
