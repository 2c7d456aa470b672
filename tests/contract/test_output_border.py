"""One output border: no module of core or of our packages writes data past ``context_bench.console``.

Labels, ids, responses and names come from elsewhere. What reaches a person's terminal goes through ``say``, ``tell``, ``warn``,
``write_json`` or ``Screen``, which make it printable. The few other places stand below with the reason why they are harmless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parents[2]
BORDER = "core/src/context_bench/console.py"
SOURCES = sorted([*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
ALLOWED = {
    (
        "plugins/context-bench-llama/src/context_bench_llama/serve.py",
        "print",
        2,
    ): "JSON on a pipe that the parent reads",
}
"""Which module writes how, in how many places, and why it may."""

_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
_WRITERS = {"write", "writelines", "buffer"}
_ECHOES = {"echo", "secho", "echo_via_pager"}
_PROMPTS = {"prompt", "confirm"}
_PRINTERS = {"print", "pprint", "pp", "print_exc", "print_exception", "print_stack", "rprint"}


def written_directly(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each place where a module writes to a standard stream itself.

    >>> list(written_directly("import click as c, sys\\nc.echo(1)\\nsys.stderr.write(2)\\nprint(3)"))
    [(2, 'c.echo'), (3, 'sys.stderr.write'), (4, 'print')]
    """
    tree = ast.parse(source)
    clicks, streams = {"click"}, {"stdout", "stderr"}
    echoes = set(_PRINTERS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            clicks |= {name.asname or name.name for name in node.names if name.name == "click"}
        elif isinstance(node, ast.ImportFrom) and node.module in (
            "click",
            "rich",
            "sys",
            "pprint",
            "traceback",
        ):
            for name in node.names:
                if node.module == "sys" and name.name in _STREAMS:
                    streams.add(name.asname or name.name)
                elif node.module != "sys" and name.name in {*_ECHOES, *_PROMPTS, *_PRINTERS}:
                    echoes.add(name.asname or name.name)
    found = {
        (node.lineno, ast.unparse(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute) and _is_direct(node, clicks, streams, echoes)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "os.write":
            continue
        if node.args and isinstance(
            node.args[0], ast.Constant
        ):  # a number written down: a standard stream
            found.add((node.lineno, "os.write"))
    yield from sorted(found)


def _is_direct(
    node: ast.Name | ast.Attribute, clicks: set[str], streams: set[str], echoes: set[str]
) -> bool:
    if isinstance(node, ast.Name):
        return node.id in echoes
    owner = node.value
    if isinstance(owner, ast.Name):
        if owner.id in clicks:
            return node.attr in {*_ECHOES, *_PROMPTS}
        if owner.id in ("pprint", "traceback", "rich"):
            return node.attr in _PRINTERS
        return owner.id in streams and node.attr in _WRITERS
    if (
        isinstance(owner, ast.Attribute)
        and isinstance(owner.value, ast.Name)
        and owner.value.id == "sys"
    ):
        return owner.attr in _STREAMS and node.attr in _WRITERS
    return False


def direct_writes() -> dict[tuple[str, str], list[int]]:
    """Return the lines of every direct write, by module and name."""
    found: dict[tuple[str, str], list[int]] = {}
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        if name != BORDER:
            for line, what in written_directly(path.read_text(encoding="utf-8")):
                found.setdefault((name, what), []).append(line)
    return found


def test_nobody_writes_past_the_console() -> None:
    found = {(name, what, len(lines)): lines for (name, what), lines in direct_writes().items()}
    wrong = [
        f"{name}:{lines}: {what}"
        for (name, what, many), lines in found.items()
        if (name, what, many) not in ALLOWED
    ]
    assert wrong == [], "say it with context_bench.console, or name it in ALLOWED with the reason"
    assert set(ALLOWED) == set(found), (
        "what is allowed and not done (any more) is taken out of ALLOWED"
    )


def test_every_module_is_looked_at() -> None:
    packages = {
        path.relative_to(ROOT).parts[1] for path in SOURCES if path.is_relative_to(ROOT / "plugins")
    }
    assert packages == {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
    assert ROOT / BORDER in SOURCES


@pytest.mark.parametrize(
    "source",
    [
        "print(row.id)",
        "import click\nclick.echo(row.id)",
        "import click as c\nc.secho(row.id)",
        "from click import echo as e\ne(row.id)",
        "import click\nclick.confirm(row.id)",
        "import sys\nsys.stdout.write(row.id)",
        "import sys\nsys.stderr.writelines([row.id])",
        "import sys\nsys.__stdout__.write(row.id)",
        "import sys\nsys.stdout.buffer.write(row.id)",
        "import sys\nw = sys.stdout.write\nw(row.id)",
        "from sys import stderr\nstderr.write(row.id)",
        "from sys import stderr as e\ne.write(row.id)",
        "import os\nos.write(2, row.id)",
        "import traceback\ntraceback.print_exc()",
        "from rich import print as p\np(row.id)",
        "say = print\nsay(row.id)",
    ],
)
def test_it_sees_a_direct_write(source: str) -> None:
    assert list(written_directly(source)) != []


@pytest.mark.parametrize(
    "source",
    [
        "from context_bench.console import echo\necho(row.id)",
        "stream.write(row.id)",
        "import os\nos.write(handle, row.id)",
        "import sys\nsys.stdout.isatty()",
        "'print(row.id)'",
        "def echo(value): return value",
    ],
)
def test_it_lets_everything_else_be(source: str) -> None:
    assert list(written_directly(source)) == []
