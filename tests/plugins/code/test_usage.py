"""The end of a response that asks a user or leaves is left out; nothing is that a solution needs. Nothing here runs a program."""

from __future__ import annotations

import pytest

pytest.importorskip("resource", reason="the far side of the sandbox is for POSIX systems")

from context_bench_code.inside.fitting import Fit
from context_bench_code.inside.usage import without_usage

ADD = "def add(a, b):\n    return a + b\n\n"
MAIN = "def main():\n    print(add(int(input()), 2))\n\n"

USED = {
    "input": (ADD, "a, b = map(int, input().split())\nprint(add(a, b))\n"),
    "input in a loop": (ADD, "while True:\n    print(add(int(input()), 1))\n"),
    "standard input": (
        f"import sys\n{ADD}",
        "print(add(*map(int, sys.stdin.readline().split())))\n",
    ),
    "a function that asks": (ADD + MAIN, "main()\n"),
    "a function that calls one that asks": (f"{ADD}{MAIN}def run():\n    main()\n\n", "run()\n"),
    "sys.exit": (f"import sys\n{ADD}print(add(1, 2))\n", "sys.exit(0)\n"),
    "an imported exit": (f"from sys import exit\n{ADD}", "exit()\n"),
    "arguments": (f"import sys\n{ADD}", "print(add(int(sys.argv[1]), 1))\n"),
    "argparse": (
        f"import argparse\n{ADD}parser = argparse.ArgumentParser()\n",
        "print(add(parser.parse_args().a, 1))\n",
    ),
    "SystemExit": (ADD, "raise SystemExit(0)\n"),
    "unittest.main": (
        f"import unittest\n{ADD}class TestAdd(unittest.TestCase): ...\n",
        "unittest.main()\n",
    ),
    "what follows": (ADD, "n = int(input())\nassert add(n, 1) == n + 1\n"),
}


@pytest.mark.parametrize(("kept", "left_out"), USED.values(), ids=USED.keys())
def test_an_end_is_left_out_that_uses(kept: str, left_out: str) -> None:
    assert without_usage(Fit("function", ("import os", kept + left_out))) == Fit(
        "function", ("import os", kept)
    )


KEPT = {
    "no usage": ADD,
    "usage without a user": f"{ADD}print(add(1, 2))\n",
    "a failing assertion": f"{ADD}assert add(1, 2) == 4\n",
    "a leaving beginning": f"import sys\nsys.exit(0)\n{ADD}",
    "input in front of a definition": f"n = int(input())\n{ADD}",
    "what the solution reads": "def add(a):\n    return a + N\n\ntry:\n    N = int(input())\nexcept EOFError:\n    N = 0\n",
    "an input of its own": f"def input():\n    return 1\n\n{ADD}START = input()\n",
    "a variable called exit": f"exit = 1\n{ADD}END = exit\n",
    "input inside the solution": "def add(a, b):\n    return a + int(input())\n",
    "an attribute of another": f"{ADD}door = type('Door', (), {{'exit': 1}})\nprint(door.exit)\n",
    "a word in a string": f"{ADD}print('no input, no exit')\n",
    "a line with more on it": f"{ADD}START = 0; END = input()\n",
    "no Python": f"{ADD}input(\n",
}


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT.keys())
def test_a_program_stays_whole_with(code: str) -> None:
    fit = Fit("function", (code,))
    assert without_usage(fit) is fit
