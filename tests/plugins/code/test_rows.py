"""What is scored, what is not, and what is told about it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_code import CodeExecution, SandboxError

Row = dict[str, Any]
ADD = "def add(a, b):\n    return a + b\n"
CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n"
UNITTEST = """import unittest


class Adding(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)


if __name__ == "__main__":
    unittest.main()
"""


CASE = UNITTEST[: UNITTEST.index("\n\nif __name__")]
LOADED = "unittest.defaultTestLoader.loadTestsFromTestCase(Adding)"
DERIVED = """import unittest


class Base(unittest.TestCase):
    right = 3


class Adding(Base):
    def test_add(self):
        assert add(1, 2) == self.right
"""


DOCTEST = "import doctest\ndoctest.testmod()\n"
DOCUMENTED = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n'
HELPER = 'def helper():\n    """\n    >>> add(1, 2), helper()\n    (3, 4)\n    """\n    return 4\n'


@pytest.mark.parametrize(
    "original",
    [
        pytest.param({"test": CHECK, "entry_point": "add"}, id="no prompt"),
        pytest.param(
            {"test": CHECK, "prompt": "def add(a, b):\n"}, id="no entry point, but a prompt"
        ),
        pytest.param(
            {"test": CHECK, "entry_point": "add", "context": "def add(a, b):\n"},
            id="prompt in context",
        ),
        pytest.param(
            {"test": CHECK, "entry_point": "add", "question": "Write add."}, id="prompt in words"
        ),
        pytest.param({"test": "assert add(1, 2) == 3"}, id="a test that calls by name"),
        pytest.param({"test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]}, id="MBPP"),
        pytest.param(
            {"test_list": ("assert add(1, 2) == 3",), "test_imports": None}, id="a tuple of tests"
        ),
        pytest.param(
            {"test_list": ["assert add(1, int(math.pi)) == 4"], "test_imports": ["import math"]},
            id="imports",
        ),
        pytest.param(
            {"test_list": ["assert four == 4"], "test_setup_code": "four = add(2, 2)"},
            id="set-up code",
        ),
        pytest.param(
            {"test": CHECK.replace("\n", "\r\n"), "entry_point": "add"}, id="carriage returns"
        ),
        pytest.param({"test": CHECK + "\ncheck(add)\n"}, id="tests that call their check"),
        pytest.param({"test": CHECK + "\ncheck(add)\n", "entry_point": "add"}, id="both name it"),
        pytest.param({"test": CHECK + "check(candidate=add)"}, id="a check called with a keyword"),
        pytest.param({"test": "def test_add():\n    assert add(1, 2) == 3\n"}, id="pytest"),
        pytest.param(
            {
                "test": "class TestAdd:\n    def test(self, right=3):\n        assert add(1, 2) == right\n"
            },
            id="a class of pytest",
        ),
        pytest.param({"test": UNITTEST}, id="unittest"),
        pytest.param({"test": CASE + "\nunittest.main()\n"}, id="a bare main"),
        pytest.param(
            {"test": CASE + "\nunittest.main(argv=[''], exit=False, verbosity=2)\n"},
            id="a main that stays",
        ),
        pytest.param(
            {"test": "from unittest import main\n" + CASE + "\nmain()\n"}, id="a main by its name"
        ),
        pytest.param({"test_list": [CASE, "unittest.main()"]}, id="a main apart"),
        pytest.param(
            {"test": CASE + "\nunittest.main()\nassert add(2, 2) == 4"},
            id="an assertion behind a main",
        ),
        pytest.param({"test": DERIVED + "\nunittest.main()\n"}, id="a main and a class of a class"),
        pytest.param({"test": DERIVED}, id="a class of a class of unittest"),
        pytest.param(
            {"test": CASE + f"\nunittest.TextTestRunner().run({LOADED})\n"},
            id="a runner that only prints",
        ),
        pytest.param(
            {
                "test": "def test_add():\n    assert add(1, 2) == 3\nimport unittest\nunittest.main()"
            },
            id="a main that finds nothing",
        ),
        pytest.param(
            {"test": DOCTEST, "prompt": DOCUMENTED, "entry_point": "add"}, id="doctests of a prompt"
        ),
        pytest.param({"test": DOCTEST, "prompt": DOCUMENTED}, id="doctests without an entry point"),
        pytest.param({"test": f"{HELPER}\n{DOCTEST}"}, id="doctests of the tests"),
        pytest.param({"test": '">>> add(1, 2)\\n3"\n' + DOCTEST}, id="doctests of a module"),
        pytest.param(
            {
                "test": "from doctest import testmod\nfound = testmod()\nassert found.failed == 0",
                "prompt": DOCUMENTED,
            },
            id="doctests that are counted",
        ),
        pytest.param(
            {
                "test": "import doctest\ndoctest.run_docstring_examples(add, globals())",
                "prompt": DOCUMENTED,
            },
            id="doctests of a function",
        ),
        pytest.param(
            {"test": DOCTEST + "assert add(1, 2) == 3"},
            id="doctests without examples, and an assertion",
        ),
    ],
)
def test_a_right_answer_scores_one_and_a_wrong_one_zero(
    evaluator: CodeExecution, original: Row
) -> None:
    right, talk = {"response": ADD}, {"response": f"Call `add(1, 2)`:\n```python\n{ADD}```"}
    assert evaluator.score(original, right) == evaluator.score(original, talk) == {"pass_at_1": 1.0}
    assert evaluator.score(original, {"response": ADD.replace("+", "+ 1 +")}) == {"pass_at_1": 0.0}


@pytest.mark.parametrize(
    "original",
    [
        pytest.param({}, id="no tests"),
        pytest.param({"answer": "3"}, id="an answer is no test"),
        pytest.param({"test": None, "test_list": []}, id="empty tests"),
        pytest.param({"test": "  \n"}, id="blank tests"),
        pytest.param({"test": b"assert 1", "entry_point": "add"}, id="bytes"),
        pytest.param({"test_list": [None, 3]}, id="tests that are no text"),
        pytest.param({"test": CHECK}, id="nothing calls the check"),
        pytest.param(
            {"test": "def added():\n    assert add(1, 2) == 4\n"},
            id="nothing calls what is defined",
        ),
        pytest.param(
            {"test": "def test_add(two):\n    assert add(1, two) == 3\n"},
            id="tests that want arguments",
        ),
        pytest.param({"test": "'words'\nimport math\nright = 4\n"}, id="nothing is tested"),
        pytest.param(
            {"test": '[{"input": "1 2", "output": "3"}]'}, id="a table of inputs and outputs"
        ),
        pytest.param({"test": '[{"input": "1 2", "output": null}]'}, id="a table with null"),
        pytest.param(
            {"test_list": ['{"input": "1 2", "output": "3"}']}, id="a list of inputs and outputs"
        ),
        pytest.param({"test_list": ["add(1, 2) == 3"]}, id="a comparison that nobody looks at"),
        pytest.param(
            {"test_list": ["not add(1, 2) == 4 and add(1, 2) == 3"]},
            id="comparisons that nobody looks at",
        ),
        pytest.param({"test": "for a in (1, 2):\n    pass\n"}, id="a loop of nothing"),
        pytest.param({"test": "import unittest\nunittest.main()\n"}, id="a main without a test"),
        pytest.param(
            {"test": DOCTEST, "prompt": "def add(a, b):\n"}, id="doctests without an example"
        ),
        pytest.param(
            {
                "test": "import doctest as d\nfound = d.testmod()\nassert found.failed == 0",
                "prompt": "Write >>> add.",
            },
            id="counted doctests without an example",
        ),
        pytest.param({"test": "assert (", "entry_point": "add"}, id="tests that do not compile"),
        pytest.param(
            {"test": "assert '\ud800'", "entry_point": "add"}, id="tests with half a character"
        ),
        pytest.param(
            {"test": "import numpy as np\nassert np.add(1, 2) == add(1, 2)"},
            id="tests that need a package",
        ),
    ],
)
def test_a_row_that_cannot_be_tested_is_unscored(evaluator: CodeExecution, original: Row) -> None:
    assert evaluator.score(original, {"response": ADD}) == {}


PANDAS = "Write self-contained code that begins with:\n```\nimport pandas as pd\ndef add(a, b):\n```\nIt adds."
NO_CODE = "I am sorry, but I cannot do that."
HOOK = "import sys, types\nsys.modules['numpy'] = types.SimpleNamespace(add=lambda *_: 0)\n" + ADD
HIDES = "import sys\nsys.modules['math'] = None\nsys.path.clear()\n" + ADD


@pytest.mark.parametrize("response", [ADD, "def add(a, b)", NO_CODE, "", HOOK, "while True: pass"])
@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ({"test": "assert add(1, 2) == "}, "<test 0> is no Python: invalid syntax"),
        (
            {"test_list": ["assert add(1, 2) == 3", "import numpy.linalg"]},
            "<test 1> imports 'numpy'",
        ),
        (
            {"test": "from not_there import x\n" + CHECK, "entry_point": "add"},
            "<test 0> imports 'not_there'",
        ),
        (
            {"test": CHECK + "    import not_there\n", "entry_point": "add"},
            "<test 0> imports 'not_there'",
        ),
        (
            {"test": "class TestAdd:\n    def test_it(self):\n        import pytest\n"},
            "<test 0> imports 'pytest'",
        ),
        (
            {"test": "assert add(1, 2) == 3", "test_imports": ["import numpy"]},
            "<imports> imports 'numpy'",
        ),
        ({"test": "assert add(1, 2) == 3", "test_setup_code": "x = ("}, "<setup> is no Python"),
        (
            {
                "test": CASE.replace(
                    "def test_add", "def setUp(self):\n        import numpy\n\n    def test_add"
                )
            },
            "<test 0> imports 'numpy'",
        ),
        (
            {
                "test": "import contextlib\nwith contextlib.nullcontext():\n    import numpy\nassert add(1, 2) == 3"
            },
            "<test 0> imports 'numpy'",
        ),
        (
            {"test": CHECK, "prompt": "import numpy as np\n\ndef add(a, b):\n"},
            "<prompt> imports 'numpy'",
        ),
        (
            {"test": CHECK, "prompt": "def add(a, b):\n    from numpy import add\n"},
            "<prompt> imports 'numpy'",
        ),
        (
            {"test": CHECK, "entry_point": "add", "context": "import not_there\ndef add(a, b):\n"},
            "<prompt> imports 'not_there'",
        ),
        ({"test_list": ["assert add(1, 2) == 3"], "prompt": PANDAS}, "<prompt> imports 'pandas'"),
    ],
    ids=[
        "syntax",
        "a package",
        "a module",
        "in the check",
        "in a method",
        "an import of the row",
        "set-up code",
        "before a test",
        "in a with",
        "a prompt",
        "in the prompt's function",
        "a context",
        "a fence in a prompt",
    ],
)
def test_broken_tests_leave_a_row_unscored_whatever_the_response_is(
    evaluator: CodeExecution, tests: Row, reason: str, response: str
) -> None:
    scores = evaluator.score(tests, {"response": response})
    assert scores == {}
    assert reason in scores.details["unscored"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "code", ["import numpy\n" + ADD, HIDES, "raise ModuleNotFoundError('math')", "assert ("]
)
def test_no_response_makes_its_own_row_unscored(evaluator: CodeExecution, code: str) -> None:
    row = {"test": "import math\nassert add(1, 2) == int(math.pi)"}
    assert evaluator.score(row, {"response": code}) == {"pass_at_1": 0.0}


@pytest.mark.parametrize(
    "test",
    [
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nassert add(1, 2) == 3",
        "if add(1, 2) != 3:\n    import numpy",
        "from solution import add as plus\nassert plus(1, 2) == 3",
        "def helper():\n    import numpy\nassert add(1, 2) == 3",
        "import collections.abc, xml.etree.ElementTree as tree\nassert add(1, 2) == 3",
        "def setup():\n    import numpy\nassert add(1, 2) == 3",
    ],
)
def test_an_import_that_is_there_or_may_fail_breaks_no_test(
    evaluator: CodeExecution, test: str
) -> None:
    assert evaluator.score({"test": test}, {"response": ADD}) == {"pass_at_1": 1.0}


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": "Add two numbers. Do not use numpy."},
        {
            "prompt": "Add two numbers. Another task began so:\n```python\nimport numpy as np\ndef subtract(a, b):\n```"
        },
        {
            "prompt": "try:\n    import numpy\nexcept ImportError:\n    numpy = None\ndef add(a, b):\n"
        },
        {
            "prompt": "import math\ndef add(a, b):\n",
            "context": "```\nimport numpy\ndef add(a, b):\n```",
        },
        {"question": "def helper():\n    import numpy\n\ndef add(a, b):\n"},
    ],
    ids=["in words", "of another function", "in a try", "the prompt comes first", "in a helper"],
)
def test_a_response_that_imports_a_package_which_no_one_asked_for_fails(
    evaluator: CodeExecution, given: Row
) -> None:
    row = given | {"test": CHECK, "entry_point": "add"}
    assert evaluator.score(row, {"response": ADD}) == {"pass_at_1": 1.0}
    failed = evaluator.score(row, {"response": "import numpy as np\n" + ADD})
    assert failed == {"pass_at_1": 0.0}
    assert failed.details["message"] == "ModuleNotFoundError: No module named 'numpy'"  # type: ignore[attr-defined]


def test_a_failing_test_of_unittest_is_named(evaluator: CodeExecution) -> None:
    scores = evaluator.score(
        {"test": CASE + "\nunittest.main()\n"}, {"response": ADD.replace("+", "-")}
    )
    assert scores.details["outcome"] == "failed assertion"  # type: ignore[attr-defined]
    assert "test_add" in scores.details["message"]  # type: ignore[attr-defined]


def test_a_response_is_not_failed_by_a_test_that_it_brought_itself(
    evaluator: CodeExecution,
) -> None:
    own = (
        "import unittest\nclass Own(unittest.TestCase):\n    def test(self):\n        self.fail()\n"
    )
    assert evaluator.score({"test": CASE + "\nunittest.main()\n"}, {"response": own + ADD}) == {
        "pass_at_1": 1.0
    }


@pytest.mark.parametrize(
    "processed", [{}, *({"response": value} for value in (None, ["x"], {"a": 1}))]
)
def test_a_response_that_is_no_text_is_unscored(
    evaluator: CodeExecution, row: Row, processed: Row
) -> None:
    assert evaluator.score(row, processed) == {}


@pytest.mark.parametrize(
    ("response", "outcome", "facts"),
    [
        pytest.param("    return a + b", "passed", {"form": "body"}, id="right"),
        pytest.param(
            "    return a - b",
            "failed assertion",
            {"error": "AssertionError", "test": "assert candidate(i, 2) == i + 2"},
            id="wrong",
        ),
        pytest.param(
            "    return a / 0",
            "error",
            {"message": "ZeroDivisionError: division by zero", "line": 3},
            id="raises",
        ),
        pytest.param(
            "```python\ndef add(a, b)\n```", "error", {"error": "SyntaxError"}, id="no Python"
        ),
        pytest.param(
            "    return a + b + unknown", "error", {"error": "NameError"}, id="an unknown name"
        ),
        pytest.param(
            "    return add(a, b)", "error", {"error": "RecursionError"}, id="recursion without end"
        ),
        pytest.param("    raise SystemExit", "exited early", {"error": "SystemExit"}, id="leaves"),
        pytest.param(
            "    print('seen')\n    return 0", "failed assertion", {"output": "seen\n"}, id="prints"
        ),
        pytest.param(
            "    import ctypes\n    ctypes.string_at(0)",
            "crashed",
            {"error": "SIGSEGV"},
            id="crashes",
        ),
        pytest.param(
            "    return bytearray(2 << 30)",
            "memory",
            {"error": "MemoryError"},
            id="too much memory",
        ),
        pytest.param("", "no code found", {}, id="nothing"),
        pytest.param("I am sorry, but I cannot do that.", "no code found", {}, id="a refusal"),
    ],
)
def test_the_details_say_what_happened(
    evaluator: CodeExecution, row: Row, response: str, outcome: str, facts: Row
) -> None:
    score = evaluator.score(row, {"response": response})
    details: Row = score.details  # type: ignore[attr-defined]
    assert score == {"pass_at_1": float(outcome == "passed")}
    assert details["outcome"] == outcome
    assert details.items() >= facts.items()
    assert details["tier"] in ("bubblewrap", "bubblewrap, one for each program", "namespaces")
    assert 0 <= details["seconds"] < 11


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "from __future__ import annotations\ndef add(a: Later, b): return a + b",
            id="a future import",
        ),
        pytest.param(
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\n" + ADD,
            id="a dataclass",
        ),
        pytest.param("if __name__ == '__main__':\n    raise SystemExit\n" + ADD, id="a main block"),
        pytest.param("from functools import cache\n@cache\n" + ADD, id="a decorator"),
        pytest.param("add = lambda a, b: a + b", id="a lambda"),
        pytest.param(
            "import tempfile\ntempfile.TemporaryFile().write(b'x')\n" + ADD, id="a temporary file"
        ),
        pytest.param(
            "import asyncio\ndef add(a, b): return asyncio.run(asyncio.sleep(0, a + b))",
            id="an event loop",
        ),
        pytest.param(
            "from concurrent.futures import ThreadPoolExecutor as Pool\n"
            "def add(a, b):\n    with Pool(4) as pool: return list(pool.map(sum, [[a, b]] * 8))[0]",
            id="threads",
        ),
        pytest.param("print('\\ud800')\n" + ADD, id="half a surrogate pair in what it prints"),
        pytest.param(
            f"Here it is:\n\nZERO = 0\n{ADD[:-1]} + ZERO\n\nIt adds.",
            id="a constant above a function among words",
        ),
        pytest.param(
            "Here it is:\n\nadd = lambda a, b: a + b\n\nIt adds.", id="a lambda among words"
        ),
        pytest.param("import random\nassert random.random() != 0.5\n" + ADD, id="random numbers"),
        pytest.param("import sys\nsys.setrecursionlimit(5000)\n" + ADD, id="a deeper stack"),
        pytest.param("# " + "x" * 200_000 + "\n" + ADD, id="200 KB of comment"),
        pytest.param("TABLE = [\n" + "    1,\n" * 28_000 + "]\n" + ADD, id="200 KB of code"),
    ],
)
def test_honest_programs_pass(evaluator: CodeExecution, row: Row, code: str) -> None:
    score = evaluator.score(row, {"response": code})
    assert score == {"pass_at_1": 1.0}, score.details  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "response", ["Sure:\n\n{}\nIt adds.", "```\n{}```\nUse it:\n```\nprint(add(2, 2))\n```"]
)
@pytest.mark.parametrize(
    "test",
    [
        pytest.param(
            "assert list(map(add, [1], [2])) == [3]", id="an argument of a function of Python"
        ),
        pytest.param(
            "def run(f):\n    assert f(1, 2) == 3\nrun(add)",
            id="an argument of a function of the tests",
        ),
        pytest.param("f = add\nassert f(1, 2) == 3", id="another name"),
        pytest.param("import functools\nassert functools.partial(add, 1)(2) == 3", id="partial"),
        pytest.param("for f in [add]:\n    assert f(1, 2) == 3", id="a list"),
    ],
)
def test_a_function_that_tests_do_not_call_by_its_name_is_found(
    evaluator: CodeExecution, test: str, response: str
) -> None:
    score = evaluator.score({"test_list": [test]}, {"response": response.format(ADD)})
    assert score == {"pass_at_1": 1.0}, score.details  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "response", ["\ud800", "\x00", "\u202e return a", "x" * 10_000_000, "(" * 100_000, "-" * 99_999]
)
def test_strange_texts_score_zero(evaluator: CodeExecution, row: Row, response: str) -> None:
    assert evaluator.score(row, {"response": response}) == {"pass_at_1": 0.0}


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(
    ("test", "test_list", "entry_point", "prompt", "test_imports", "test_setup_code"), anything
)), anything)  # fmt: skip
def test_no_row_raises(evaluator: CodeExecution, original: Row, response: object) -> None:
    score = evaluator.score(original, {"response": response})
    assert score in ({}, {"pass_at_1": 0.0}, {"pass_at_1": 1.0})


def test_the_set_order_is_the_same_in_every_run(evaluator: CodeExecution) -> None:
    original = {"test": "assert False, list({'a', 'b', 'c', 'd', 'e', 'f'})"}
    first, second = (
        CodeExecution(memory=memory).score(original, {"response": ADD}) for memory in (512, 513)
    )
    assert first.details["message"] == second.details["message"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"timeout": 0}, "seconds above 0"),
        ({"timeout": -1}, "seconds above 0"),
        ({"timeout": float("nan")}, "seconds above 0"),
        ({"timeout": float("inf")}, "seconds above 0"),
        ({"timeout": "10"}, "seconds above 0"),
        ({"timeout": True}, "seconds above 0"),
        ({"memory": 1}, "whole mebibytes from 64"),
        ({"memory": 1.5}, "whole mebibytes from 64"),
        ({"tier": "docker"}, "choose one of 'auto', 'bubblewrap'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: Row, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        CodeExecution(**options)


def test_the_fingerprint_holds_what_can_change_a_score() -> None:
    try:
        evaluator = CodeExecution(3, memory=256)
    except SandboxError as error:
        pytest.skip(str(error))
    fingerprint = evaluator.fingerprint()
    assert fingerprint.items() >= {"timeout": 3.0, "memory": 256}.items()
    assert fingerprint != CodeExecution(4, memory=256).fingerprint()
    assert evaluator.name == "code_execution"
