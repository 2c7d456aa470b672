"""Code inside a page, a mail, an object of JSON or a text with invisible characters; and programs that only look like one."""

from __future__ import annotations

import ast
import html
import json
import textwrap

import pytest

pytest.importorskip("resource", reason="the far side of the sandbox is for POSIX systems")

from context_bench.answers import part_answer
from context_bench_code.inside.extraction import find_solution
from context_bench_code.inside.fitting import Problem
from context_bench_code.inside.wrappers import readings

PROMPT = Problem('def add(a, b):\n    """The sum."""\n', frozenset({"add"}))
NO_PROMPT = Problem("", frozenset({"add"}))
BODY = "    if a < b and b > 0:\n        return a + b\n    return b & 1\n"
FUNCTION = f"import math\n\ndef add(a, b):\n{BODY}"
ESCAPED = html.escape(FUNCTION)
USAGE = "```python\nprint(add(1, 2))\n```\n"
NBSP, EM_SPACE, ZERO_WIDTH = "\u00a0", "\u2003", "\u200b"


def quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip(" ") + "\n" for line in text.splitlines())


WRAPPED = {
    "a page": f"<pre><code>{ESCAPED}</code></pre>",
    "a page with words": (
        f'<p>So:</p>\n<pre><code class="language-python">\n{ESCAPED}</code></pre>\n<p>Call <code>add</code>.</p>'
    ),
    "a page that escapes nothing": f"<pre>\n{FUNCTION}</pre>",
    "a page with blanks that do not break": f"<pre>{ESCAPED.replace('    ', '&nbsp;' * 4)}</pre>",
    "a page whose last block is in another language": (
        f'<pre><code class="language-python">{ESCAPED}</code></pre>\n<pre><code class="language-c">int add;</code></pre>'
    ),
    "one half of a line that compiles by itself": "<pre><code>\ndef add(a, b):\n    return a &lt; b\n</code></pre>",
    "a fence that escapes": f"```python\n{ESCAPED}```",
    "a body between tags": f"Sure.\n<solution>\n{BODY}</solution>\nDone.",
    "a quotation": quoted(FUNCTION),
    "a quotation among words": f"You wrote:\n\n{quoted(FUNCTION)}\nThat is right.",
    "a quoted fence": quoted(f"Sure!\n```python\n{FUNCTION}```"),
    "a quoted body": quoted(BODY),
    "an indent that does not break": FUNCTION.replace("    ", NBSP * 4),
    "blanks that do not break": f"```python\n{FUNCTION}```".replace(" ", NBSP),
    "wide blanks": FUNCTION.replace("    ", EM_SPACE * 4),
    "a body that does not break, and a use of it": f"```python\n{BODY}```\n{USAGE}".replace(
        "    ", NBSP * 4
    ),
    "line separators": FUNCTION.replace("\n", "\u2028"),
    "lines that end unseen": f"```python\n{FUNCTION}```\n".replace("\n", f"{ZERO_WIDTH}\n"),
    "a body behind a byte order mark, in a fence": f"```python\n\ufeff{BODY}```",
    "an object": json.dumps({"code": FUNCTION}),
    "an object with a body": json.dumps({"completion": BODY}),
    "an object with more fields": json.dumps(
        {"explanation": "It's easy.", "solution": FUNCTION, "is_sure": True}, indent=2
    ),
    "an object in a fence": f"Here it is:\n```json\n{json.dumps({'code': FUNCTION})}\n```\nDone.",
    "an object among words": f"Here it is:\n\n{json.dumps({'code': FUNCTION})}\n\nDone.",
    "an object with a body whose lines break": f'{{"code": "{BODY}"}}',
    "an object with a fence in it": json.dumps({"answer": f"```python\n{FUNCTION}```"}),
    "an object of Python": repr({"code": FUNCTION}),
    "a call": json.dumps({"name": "submit", "arguments": {"code": FUNCTION}}),
    "a call whose arguments are a text": json.dumps(
        {"name": "submit", "arguments": json.dumps({"code": FUNCTION})}
    ),
    "character data": f"<code><![CDATA[\n{FUNCTION}]]></code>",
    "an indented block among words": "Use this:\n\n"
    + textwrap.indent(FUNCTION, "    ")
    + "\nDone.\n",
    "a directive": ".. code-block:: python\n\n" + textwrap.indent(FUNCTION, "   ") + "\nDone.\n",
    "a text of YAML": "```yaml\ncode: |\n" + textwrap.indent(FUNCTION, "  ") + "```\n",
    "a page in an object, with blanks": json.dumps(
        {"answer": f"<pre>{ESCAPED}</pre>".replace("    ", NBSP * 4)}
    ),
}


def function_in(sources: tuple[str, ...]) -> str:
    functions = [
        node
        for source in sources
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    ]
    found = [node for node in functions if node.name == "add"][-1]
    return "\n".join(map(ast.dump, found.body[ast.get_docstring(found) is not None :]))


@pytest.mark.parametrize("name", WRAPPED)
def test_code_is_found_in(name: str) -> None:
    wanted = "def add(a, b):\n    return a < b\n" if name.startswith("one half") else FUNCTION
    for problem in (PROMPT, NO_PROMPT) if "body" not in name else (PROMPT,):
        fit = find_solution(part_answer(WRAPPED[name]).answer, problem)
        assert fit is not None
        assert function_in(fit.sources) == function_in((wanted,))


UNTOUCHED = {
    "examples in a docstring": 'def add(a, b):\n    """\n    >>> add(1, 2)\n    3\n    > 2\n    """\n    return a + b\n',
    "a comparison that begins a line": "def add(a, b):\n    return (\n        a\n        > b\n    )\n",
    "entities in strings": "def add(a, b):\n    return a.replace('<', '&lt;').replace('&nbsp;', b)\n",
    "a template of a page": "def add(a, b):\n    return f'''\n<pre><code>{a} &lt; {b}</code></pre>\n'''\n",
    "a page in a string": "PAGE = '<pre><code>def add(a, b): return 1</code></pre>'\ndef add(a, b):\n    return PAGE\n",
    "an object of its own": 'def add(a, b):\n    return {"code": "def add(a, b): return 1", "answer": a}\n',
    "an object in text": "CASES = '''\n{\"code\": \"def add(a, b): return 1\"}\n'''\n\n\ndef add(a, b):\n    return CASES\n",
    "blanks in strings": f"def add(a, b):\n    return a.replace('{NBSP}', '{ZERO_WIDTH}') + '\u2028'\n",
    "blanks in comments": f"def add(a, b):\n    # a{NBSP}+{ZERO_WIDTH}b\n    return a + b\n",
    "tags in strings": "def add(a, b):\n    return a.split('<code>')[1].split('</code>')[0]\n",
    "a shift that reads as an entity": "def add(a, lt):\n    b = 1; return a &lt; b\n",
    "a quotation in a string": "def add(a, b):\n    return '''\n> quoted\n>> twice\n'''\n",
}
AROUND = {
    "as it is": "{}",
    "in a fence": "Here's it:\n```python\n{}```\nIt's done.\n",
    "among words": "Sure, here's the function:\n\n{}\nIt's what you asked for.\n",
    "behind a quoted task": "> Write a function *add*.\n\n```python\n{}```\n",
    "with an object behind it": '```python\n{}```\nFor example:\n```json\n{{"answer": "return 7"}}\n```\n',
    "with a page behind it": "```python\n{}```\n<pre><code>add(1, 2)</code></pre>\n",
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize("code", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_a_program_is_left_as_it_was_written_with(code: str, around: str) -> None:
    for problem in (PROMPT, NO_PROMPT):
        fit = find_solution(part_answer(around.format(code)).answer, problem)
        assert fit is not None
        assert ast.dump(ast.parse(code)) in {
            ast.dump(ast.parse(fit.sources[-1])),
            ast.dump(ast.parse("".join(fit.sources))),
        }


STRINGS_KEPT = {
    "in a program": FUNCTION.replace("    ", NBSP * 4) + f"\nGAP = '{NBSP}{ZERO_WIDTH}'\n",
    "in a fence among words": f"It's so:\n```python\nGAP = \"{NBSP}{ZERO_WIDTH}\"\n{FUNCTION.replace(' ', NBSP)}```\nIt's done.",
}


@pytest.mark.parametrize("response", STRINGS_KEPT.values(), ids=STRINGS_KEPT.keys())
def test_blanks_of_strings_stay_where_those_of_the_indent_go(response: str) -> None:
    fit = find_solution(response, NO_PROMPT)
    assert fit is not None
    values: dict[str, object] = {}
    exec(fit.sources[-1], values)
    assert values["GAP"] == NBSP + ZERO_WIDTH


BROKEN = "def add(a, b):\n    if a:\n        return (]\n\n    return a + b\n"
BROKEN_BODY = "    if a:\n        return (]\n\n    return a + b\n"
NO_SOLUTION = {
    "a broken body between tags": f"<solution>\n{BROKEN_BODY}</solution>",
    "a broken program on a page": f"<pre><code>{BROKEN}</code></pre>",
    "a broken program in a quotation": quoted(BROKEN),
    "a broken program in an object": json.dumps({"code": BROKEN}),
    "a broken program with such blanks": BROKEN.replace(" ", NBSP),
    "a method of a broken class": "class Sum(:\n\n    def add(self, b):\n        return b\n",
    "a field of words": json.dumps({"answer": "I cannot help with that.", "response": "Sorry"}),
    "an object without code": json.dumps({"sum": 3}),
}


@pytest.mark.parametrize("response", NO_SOLUTION.values(), ids=NO_SOLUTION.keys())
def test_no_solution_is_made_of(response: str) -> None:
    fit = find_solution(response, PROMPT if BROKEN_BODY in response else NO_PROMPT)
    assert fit is None or fit.form == "as written"


@pytest.mark.parametrize(
    "unit",
    [
        "<pre>",
        "<pre></pre>",
        "&lt;",
        "> ",
        "> \n",
        NBSP,
        '"""',
        "'",
        '{"code":',
        '{"code": "',
        "</code>",
    ],
)
def test_a_reply_of_nothing_but_wrappings_is_read_a_few_times(unit: str) -> None:
    """The time grows with the length, and not with its square: that would be minutes."""
    text = unit * 20_000
    fit = find_solution(text, PROMPT)
    assert fit is None or fit.form == "as written"
    assert len(list(readings(text))) < 10
