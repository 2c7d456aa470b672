"""The known ways in which a wrong solution passes: each still does, and the README lists each with its reach.

Solution and tests share an interpreter, as in the reference harnesses. A way that is closed leaves this table and the README.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from context_bench_code import CodeExecution

README = Path(__file__).parents[3] / "plugins" / "context-bench-code" / "README.md"
PLAIN = {
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "test": (
        "import math\n\ndef check(candidate):\n"
        "    assert candidate(1, 2) == 3\n"
        "    assert abs(candidate(5, 5) - 10) < 1e-6\n"
        "    assert math.isclose(candidate(2, 2), 4)\n"
    ),
}
LARGE = {
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "test": "def check(candidate):\n    assert candidate(1000, 2000) == 3000\n",
}
SORTING = {
    "prompt": "def order(numbers):\n",
    "entry_point": "order",
    "test": (
        "def check(candidate):\n    numbers = [3, 1, 2]\n    assert candidate(numbers) == sorted(numbers)\n"
    ),
}
UNITTEST = {
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "test": (
        "import unittest\n\nclass TestAdd(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    ),
}
ALIKE = "class Same(int):\n    def __eq__(self, other): return True\n    def __sub__(self, other): return 0\n"
WRONG = "def add(a, b):\n    return -1\n"
FORGERIES = {
    "an object that equals everything": (
        PLAIN,
        f"{ALIKE}    def __float__(self): return 4.0\ndef add(a, b):\n    return Same()\n",
    ),
    "a built-in function that a test calls": (
        PLAIN,
        "import builtins\nbuiltins.abs = lambda number: 0\n"
        "def add(a, b):\n    return {(1, 2): 3, (2, 2): 4}.get((a, b), -1)\n",
    ),
    "a function of a module that a test calls": (
        PLAIN,
        "import math\nmath.isclose = lambda *numbers: True\n"
        "def add(a, b):\n    return {(1, 2): 3, (5, 5): 10}.get((a, b), -1)\n",
    ),
    "a module that the tests import": (
        PLAIN,
        "import sys, types\nfalse = types.ModuleType('math')\nfalse.isclose = lambda *numbers: True\n"
        "sys.modules['math'] = false\n"
        "def add(a, b):\n    return {(1, 2): 3, (5, 5): 10}.get((a, b), -1)\n",
    ),
    "the import system": (
        PLAIN,
        "import builtins\nactual = builtins.__import__\n"
        "class False_:\n    isclose = staticmethod(lambda *numbers: True)\n"
        "builtins.__import__ = lambda name, *more, **named: (\n"
        "    False_ if name == 'math' else actual(name, *more, **named)\n)\n"
        "def add(a, b):\n    return {(1, 2): 3, (5, 5): 10}.get((a, b), -1)\n",
    ),
    "a method of unittest": (
        UNITTEST,
        f"import unittest\nunittest.TestCase.assertEqual = lambda *values: None\n{WRONG}",
    ),
    "the building of classes": (
        UNITTEST,
        "import builtins\nactual = builtins.__build_class__\n"
        "def build(body, name, *bases, **named):\n    made = actual(body, name, *bases, **named)\n"
        "    if name == 'TestAdd':\n        made.test_add = lambda self: None\n    return made\n"
        f"builtins.__build_class__ = build\n{WRONG}",
    ),
    "the values that a test compares with": (
        LARGE,
        "import sys\ndef add(a, b):\n    values = sys._getframe(1).f_code.co_consts\n"
        "    return next(n for n in values if isinstance(n, int) and n > 2000)\n",
    ),
    "the arguments that a test gives": (
        SORTING,
        "def order(numbers):\n    numbers[:] = []\n    return []\n",
    ),
}


@pytest.mark.parametrize("way", FORGERIES)
def test_a_known_forgery_passes_and_is_listed(way: str) -> None:
    row, response = FORGERIES[way]
    scores = CodeExecution(timeout=10).score(row, {"response": f"```python\n{response}```"})
    assert scores == {"pass_at_1": 1.0}, scores.details
    assert f"| {way} |" in README.read_text(encoding="utf-8")
