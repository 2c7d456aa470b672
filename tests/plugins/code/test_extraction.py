"""Code is found in any wrapping. Nothing here runs a program: what is found is compared as a syntax tree."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("resource", reason="the far side of the sandbox is for POSIX systems")

from context_bench.answers import part_answer
from context_bench_code.inside.assembly import assemble, called_names
from context_bench_code.inside.extraction import find_solution
from context_bench_code.inside.fitting import Problem, is_code

Row = dict[str, Any]

ADD = Problem(
    'from typing import List\n\n\ndef add(a, b):\n    """The sum."""\n', frozenset({"add"})
)
NO_PROMPT = Problem("", frozenset({"add"}))
BODY = "    if a:\n        return a + b\n    return b\n"
FUNCTION = f"def add(a, b):\n{BODY}"
NAIVE = "def add(a, b):\n    return a\n"

WRAPPINGS: dict[str, str] = {
    "a body": BODY,
    "a body without its first indent": BODY.lstrip(),
    "a body without any indent": textwrap.dedent(BODY),
    "a body behind blank lines": f"\n\n{BODY}",
    "a body with other functions behind it": f"{BODY}\n\ndef other():\n    return 1\n",
    "a body and half a function": f"{BODY}\n\ndef other(:\n",
    "a body and the end of a fence": f"{BODY}```\nThis returns the sum.",
    "a body among words": f"Here is the completion:\n\n{BODY}\nIt's that simple!",
    "a fenced body": f"```python\n{BODY}```",
    "a fenced body without its first indent": f"```python\n{BODY.strip()}\n```",
    "a fenced body and a fenced call of it": f"```python\n{BODY}```\nUse it:\n```python\nprint(add(1, 2))\n```",
    "a function": FUNCTION,
    "an indented function": textwrap.indent(FUNCTION, "    "),
    "the prompt and a body": ADD.prompt + BODY,
    "a function in a fence": f"```python\n{FUNCTION}```",
    "a fence called py": f"```py\n{FUNCTION}```",
    "a fence called Python 3": f"```Python3\n{FUNCTION}```",
    "a fence with attributes": f'```python title="add.py"\n{FUNCTION}```',
    "a fence without a language": f"```\n{FUNCTION}```",
    "a fence of tildes": f"~~~python\n{FUNCTION}~~~",
    "a fence of four": f"````python\n{FUNCTION}````",
    "a fence behind words on its line": f"Here: ```python\n{FUNCTION}```",
    "a fence at the end of a line": f"```python\n{FUNCTION.rstrip()}```",
    "a fence that is never closed": f"Sure!\n```python\n{FUNCTION}",
    "a fence that was opened in the prompt": f"{FUNCTION}```\nThat is it.",
    "the whole prompt, and words behind it": f"{ADD.prompt}{BODY}\n\nExplanation: it is the sum.",
    "the whole prompt, and a fence that was opened in it": f"{ADD.prompt}{BODY}```\n\nExplanation: it is the sum.",
    "a fence that was opened in the prompt, and a word": f"{FUNCTION}```\nNote: done",
    "a word above a function": f"python\n{FUNCTION}",
    "a word above the whole prompt": f"Solution\n\n{ADD.prompt}{BODY}",
    "a helper, the function, and words behind them": f"def helper(a):\n    return a\n\n{FUNCTION}\nNote: it is the sum of two.",
    "the marks of Code Llama": f"[PYTHON]\n{FUNCTION}[/PYTHON]\nThis is it.",
    "the marks of Code Llama on one line": f"Sure: [PYTHON] {FUNCTION}[/PYTHON]",
    "the marks of Code Llama, opened in the prompt": f"{FUNCTION}[/PYTHON]\nThis is it.",
    "the marks of Code Llama, never closed": f"[PYTHON]\n{FUNCTION}",
    "a body in the marks of Code Llama": f"[PYTHON]\n{BODY}[/PYTHON]",
    "a fence in a list": "1. Do this:\n"
    + textwrap.indent(f"```python\n{FUNCTION}```\n", "   ")
    + "2. Done.",
    "a fence among words": f"Sure! Here's the code:\n\n```python\n{FUNCTION}```\n\nLet me know if it's what you wanted.",
    "a fence with a fence in its docstring": f'```python\ndef add(a, b):\n    """\n    ```\n    1\n    ```\n    """\n{BODY}```',
    "words around a function": f"Sure, here's the function:\n\n{FUNCTION}\nThis works because it's simple.",
    "carriage returns": f"```python\n{FUNCTION}```".replace("\n", "\r\n"),
    "old Mac line ends": FUNCTION.replace("\n", "\r"),
    "a byte order mark": f"\ufeff{FUNCTION}",
    "BEGIN and DONE": f"[BEGIN]\n{FUNCTION}[DONE]\nYou are an expert",
    "DONE alone": f"{FUNCTION}[DONE]\n\nWrite a function",
    "DONE on the last line": f"{FUNCTION.rstrip()} [DONE]",
    "a fence in BEGIN and DONE": f"[BEGIN]\n```python\n{FUNCTION}```\n[DONE]",
    "reasoning before it": f"<think>Perhaps\n```python\n{NAIVE}```\n</think>\n{FUNCTION}",
    "reasoning that began in the prompt": f"Perhaps\n```python\n{NAIVE}```\n</think>\n```python\n{FUNCTION}```",
    "a shell block before it": f"```bash\npip install add\n```\n```python\n{FUNCTION}```",
    "a call and its output behind it": f"```python\n{FUNCTION}```\n```python\nprint(add(1, 2))\n```\n```\n3\n```",
    "a fence at the end of its last line, and a block behind it": (
        f"```python\n{FUNCTION.rstrip()}```\nTests:\n```python\nimport pytest\n```"
    ),
    "an attempt before it": f"```python\n{NAIVE}```\nThis is wrong. Better:\n```python\n{FUNCTION}```",
    "tests that import it behind it": f"```python\n{FUNCTION}```\n```python\nfrom sums import add\nassert add(1, 2) == 3\n```",
    "tests that import it and another package": f"```python\n{FUNCTION}```\n```python\nimport pytest\nfrom x import add\n```",
    "what is to be filled in behind it": (
        f"```python\n{FUNCTION}```\nBegin with\n```python\ndef add(a, b):\n    raise NotImplementedError('you')\n```"
    ),
    "an outline behind it": f"```python\n{FUNCTION}```\nSo:\n```python\ndef add(a, b):\n    c = a\n    ...\n    return c\n```",
    "the beginning of it behind it": (
        f"```python\n{FUNCTION}```\nIt looks at `a`:\n```python\ndef add(a, b):\n    if a:\n        ...\n```"
    ),
    "a function that prints behind it": (
        f"```python\n{FUNCTION}```\nOr print:\n```python\ndef add(a, b):\n    print(a + b)\n```"
    ),
    "a stub behind it": f"```python\n{FUNCTION}```\nIts signature is\n```python\ndef add(a, b):\n    ...\n```",
}


def function_of(sources: tuple[str, ...], name: str) -> str:
    """What a definition of the function is in the end, without its docstring."""
    found = ""
    for statement in (statement for source in sources for statement in ast.parse(source).body):
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            has_docstring = ast.get_docstring(statement) is not None
            found = "\n".join(map(ast.dump, statement.body[has_docstring:]))
    return found


@pytest.mark.parametrize("response", WRAPPINGS.values(), ids=WRAPPINGS.keys())
def test_the_solution_is_found_in(response: str) -> None:
    fit = find_solution(part_answer(response).answer, ADD)
    assert fit is not None
    assert function_of(fit.sources, "add") == function_of((FUNCTION,), "add")


@pytest.mark.parametrize(
    "name",
    [name for name in WRAPPINGS if "body" not in name],
)
def test_a_problem_told_in_words_takes_functions_in_every_wrapping(name: str) -> None:
    fit = find_solution(part_answer(WRAPPINGS[name]).answer, NO_PROMPT)
    assert fit is not None
    assert function_of(fit.sources, "add") == function_of((FUNCTION,), "add")


@pytest.mark.parametrize("name", ["a word above a function", "a word above the whole prompt"])
def test_a_word_above_a_function_is_not_run(name: str) -> None:
    fit = find_solution(WRAPPINGS[name], ADD)
    assert fit is not None
    statements = [statement for source in fit.sources for statement in ast.parse(source).body]
    assert not any(
        isinstance(each, ast.Expr) and isinstance(each.value, ast.Name) for each in statements
    )


HUMANEVAL_FORMS: dict[str, Callable[[str, str, str], str]] = {
    "body": lambda prompt, head, body: body,
    "stripped body": lambda prompt, head, body: body.strip(),
    "dedented body": lambda prompt, head, body: textwrap.dedent(body),
    "body with carriage returns": lambda prompt, head, body: body.replace("\n", "\r\n"),
    "body among words": lambda prompt, head, body: (
        f"Here is the completion:\n\n{body}\n\nHope it helps!"
    ),
    "fenced body": lambda prompt, head, body: f"```\n{body}\n```",
    "prompt and body": lambda prompt, head, body: prompt + body,
    "function": lambda prompt, head, body: head + body,
    "function in a fence": lambda prompt, head, body: f"```python\n{head}{body}\n```",
    "function in tildes": lambda prompt, head, body: f"~~~\n{head}{body}\n~~~",
    "function among words": lambda prompt, head, body: (
        f"Sure, here's it:\n\n{head}{body}\n\nIt's done in steps."
    ),
    "function in a list": lambda prompt, head, body: (
        "1. So:\n" + textwrap.indent(f"```python\n{head}{body}\n```", "   ", lambda line: True)
    ),
    "function between markers": lambda prompt, head, body: f"[BEGIN]\n{head}{body}\n[DONE]\n...",
    "function behind reasoning": lambda prompt, head, body: (
        f"<think>\n{head}    pass\n</think>\n```py\n{head}{body}```"
    ),
}


@pytest.mark.shared
@pytest.mark.parametrize("form", HUMANEVAL_FORMS)
def test_every_humaneval_solution_is_found_whole(form: str, humaneval: list[Row]) -> None:
    for row in humaneval:
        prompt, body, name = row["prompt"], row["canonical_solution"], row["entry_point"]
        head = prompt[prompt.rindex(f"def {name}") :]
        answer = part_answer(HUMANEVAL_FORMS[form](prompt, head, body)).answer
        fit = find_solution(answer, Problem(prompt, frozenset({name})))
        assert fit is not None, row["task_id"]
        assert function_of(fit.sources, name) == function_of((prompt + body,), name), row["task_id"]


LAST = {
    "a better attempt": (NAIVE, "def add(a, b):\n    return b\n"),
    "dots that stand for nothing to do": (
        NAIVE,
        "def add(a, b):\n    if not b:\n        ...\n    return a + b\n",
    ),
    "an error of its own": (NAIVE, "def add(a, b):\n    raise ValueError(a)\n"),
    "a generator": (NAIVE, "def add(a, b):\n    yield a + b\n"),
    "a lambda": (NAIVE, "add = lambda a, b: a + b\n"),
    "a class": (NAIVE, "class add(int):\n    def __new__(cls, a, b):\n        return a + b\n"),
    "one of two that give nothing back": (
        "def add(a, b):\n    a += b\n",
        "def add(a, b):\n    a.append(b)\n",
    ),
    "an import alone": ("import math\n", "from operator import add\n"),
    "an overload": (NAIVE, "def add(a: int, b: int) -> int: ...\ndef add(a, b):\n    return b\n"),
    "a definition that may be imported": (
        NAIVE,
        "try:\n    from x import add\nexcept ImportError:\n    def add(a, b):\n        return b\n",
    ),
}


@pytest.mark.parametrize(("first", "last"), LAST.values(), ids=LAST.keys())
def test_of_two_blocks_the_last_counts_that_is(first: str, last: str) -> None:
    fit = find_solution(f"```python\n{first}```\nBetter:\n```python\n{last}```\n", NO_PROMPT)
    assert fit is not None
    assert fit.sources[-1] == last


METHOD = Problem(
    "class Stack:\n    def __init__(self):\n        self.all = []\n\n    def push(self, item):\n",
    frozenset({"Stack"}),
)
PUSHED = "        self.all.append(item)\n        return self.all\n"
METHODS = {
    "a body": PUSHED,
    "a body without its first indent": PUSHED.lstrip(),
    "a body without any indent": textwrap.dedent(PUSHED),
    "a fenced body": f"```python\n{PUSHED}```",
    "a body, and a use of it": f"{PUSHED}\nStack().push(1)\n",
    "the prompt and a body": METHOD.prompt + PUSHED,
    "the prompt and a body in a fence": f"```python\n{METHOD.prompt}{PUSHED}```",
}


@pytest.mark.parametrize("response", METHODS.values(), ids=METHODS.keys())
def test_a_prompt_may_leave_a_method_open(response: str) -> None:
    assert is_code(METHOD.prompt, METHOD.names)
    fit = find_solution(response, METHOD)
    assert fit is not None
    values: dict[str, Any] = {}
    for source in fit.sources:
        exec(source, values)
    assert values["Stack"]().push(1) == [1]


HALVES = {
    "the head of a block, broken": "    if not a:\n        return (]\n\n    c = a + b\n    return c\n",
    "a head that lost its indent, broken": "if not a:\n        return (]\n\n    c = a + b\n    return c\n",
    "Python 2 in a fence": '```python\ndef add(a, b):\n    if not a:\n        print ""\n\n    c = a + b\n    return c\n```',
    "the end, broken": "    if a:\n        return a + b\n\n    return (]\n",
}


@pytest.mark.parametrize("response", HALVES.values(), ids=HALVES.keys())
def test_half_of_a_program_that_cannot_be_read_is_no_solution(response: str) -> None:
    fit = find_solution(response, ADD)
    assert fit is None or fit.form == "as written"


def test_a_whole_function_keeps_the_imports_and_helpers_of_its_prompt() -> None:
    prompt = (
        "import math\n\n\ndef helper(x):\n    return math.floor(x)\n\n\ndef add(a, b):\n    pass\n"
    )
    fit = find_solution(
        "```python\ndef add(a, b):\n    return helper(a) + b\n```",
        Problem(prompt, frozenset({"add"})),
    )
    assert fit is not None
    assert [type(statement).__name__ for statement in ast.parse(fit.sources[0]).body] == [
        "Import",
        "FunctionDef",
        "FunctionDef",
    ]


def test_definitions_come_from_the_other_blocks_where_the_chosen_one_needs_them() -> None:
    response = (
        "First a constant:\n```python\nfrom math import floor\nSTEP = 2\nprint('unwanted')\n```\n"
        "a helper:\n```python\ndef twice(x):\n    return floor(x) * STEP\n```\n"
        "and the function:\n```python\ndef add(a, b):\n    return twice(a) + b\n```\n"
        "Use it:\n```python\nassert add(1, 2) == 4\n```"
    )
    fit = find_solution(response, NO_PROMPT)
    assert fit is not None
    assert ast.unparse(ast.parse("\n".join(fit.sources))) == (
        "from math import floor\nSTEP = 2\n\ndef twice(x):\n    return floor(x) * STEP\n\n"
        "def add(a, b):\n    return twice(a) + b"
    )


def test_functions_that_the_tests_call_may_stand_in_separate_blocks() -> None:
    response = "```python\ndef f(x):\n    return x\n```\n```python\ndef g(x):\n    return -x\n```"
    fit = find_solution(response, Problem("", frozenset({"f", "g"})))
    assert fit is not None
    assert "def f" in "".join(fit.sources)
    assert "def g" in "".join(fit.sources)


def test_a_local_variable_with_the_name_of_the_function_does_not_make_a_body_a_function() -> None:
    fit = find_solution("    add = a + b\n    return add\n", ADD)
    assert fit is not None
    assert fit.form == "body"


def test_marks_inside_strings_leave_code_whole() -> None:
    code = 'def add(a, b):\n    print("[DONE]", "<think>", "```")\n    return a + b\n'
    fit = find_solution(part_answer(code).answer, NO_PROMPT)
    assert fit is not None
    assert fit.sources == (code,)


def test_a_name_that_python_has_is_called_only_where_nothing_else_is() -> None:
    assert called_names(["assert sum(4, 6) == 3"], []) == {"sum"}
    assert called_names(["assert set(share([1])) == {1}"], ["import math"]) == {"share"}
    assert called_names(["assert area(Circle(1)) == 3"], ["class Circle: ..."]) == {"area"}


@pytest.mark.parametrize(
    "response", ["", "   \n", "I cannot help with that.", "<think>return a + b"]
)
def test_talk_is_not_code(response: str) -> None:
    assert find_solution(part_answer(response).answer, ADD) is None


def test_a_program_has_the_order_of_the_reference_harnesses() -> None:
    job = {
        "response": "def area(x):\n    return math.pi",
        "prompts": ["Write a function."],
        "entry_point": None,
        "calls": "",
        "imports": "import math",
        "setup": "root = area(1)",
        "tests": ["assert root > 3", "assert area(2) > 3"],
    }
    names = ["<imports>", "<response>", "<setup>", "<test 0>", "<test 1>"]
    assert [source.name for source in assemble(job).sources] == names


FRAGMENTS = [
    *(
        "```",
        "```python\n",
        "~~~",
        "\n",
        "[BEGIN]",
        "[DONE]",
        "<think>",
        "</think>",
        "def add(a, b):",
        "    ",
        "\t",
    ),
    *(
        "return a",
        "class A:",
        "@x",
        "'''",
        '"""',
        "(",
        "# x",
        "\r",
        "\x00",
        "\ud800",
        "import",
        "`a`",
        "é",
    ),
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(FRAGMENTS),
        max_size=30,
    ).map("".join)
)
def test_no_text_is_too_strange(response: str) -> None:
    for problem in (ADD, NO_PROMPT):
        fit = find_solution(response, problem)
        assert fit is None or all(isinstance(source, str) for source in fit.sources)


@pytest.mark.parametrize("unit", ["```\n", "~~~\n", "```python\ndef f():\n    pass\n```\n"])
def test_a_reply_that_goes_on_with_fences_is_read_in_one_pass(unit):
    """A model that cannot stop after its answer: each fence looked at all that follow, for minutes."""
    problem = Problem("def add(a, b):\n", frozenset({"add"}))
    answer = "```python\ndef add(a, b):\n    return a + b\n```\n"
    assert find_solution(answer + unit * (200_000 // len(unit)), problem).form == "fenced function"
