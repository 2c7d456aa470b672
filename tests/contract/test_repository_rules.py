"""The rules that a check counts: SQL in ``store/`` only, a run parameter in two places, and one writer to a terminal."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "src" / "context_bench"
MODULES = sorted(CORE.rglob("*.py"))
_SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|SELECT count|INSERT (OR \w+ )?INTO|CREATE (TEMP )?(TABLE|INDEX|VIEW)|PRAGMA \w|UPDATE \w+ SET"
    r"|DELETE FROM|ATTACH |DETACH )",
    re.DOTALL,
)


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Yield the docstrings of a module, its classes and functions."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
        ):
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first


def sql_outside_of_the_store(path: Path) -> str | None:
    """Return the module where it speaks SQL, and is none of the store's."""
    if path.parent.name == "store":
        return None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(found.value) for found in docstrings(tree)}
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in told
    )
    speaks = any(isinstance(text, str) and _SQL.search(text) for text in texts)
    return str(path.relative_to(CORE)) if speaks else None


def parameters_used_in_more_places() -> list[str]:
    """Return the parameters of a run that more than one module of core uses, besides their declaration.

    A use is ``request.NAME``, ``flags["NAME"]``, or an argument of ``RunConfig`` or ``evolve(request)``. What a run is
    about - systems, datasets, evaluators with options, labels of two systems - belongs to no module.
    """
    from context_bench.plan.run_config import PARAMETERS

    uses: dict[str, list[str]] = {}
    for path in MODULES:
        for name in set(_named_in(ast.parse(path.read_text(encoding="utf-8")))):
            uses.setdefault(name, []).append(str(path.relative_to(CORE)))
    about = {
        "systems",
        "datasets",
        "reader",
        "baseline",
        "reference",
        "evaluators",
        "exclude",
        "options",
        "extension_options",
        "limit",
    }
    many = {
        name: uses[name] for name in PARAMETERS if name not in about and len(uses.get(name, ())) > 1
    }
    return [f"{name}: {', '.join(places)}" for name, places in many.items()]


def _named_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if owner in ("request", "changed", "config"):
                yield node.attr
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if isinstance(node.value, ast.Name) and node.value.id == "flags":
                yield str(node.slice.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            first = node.args[0] if node.args else None
            of_request = (
                node.func.id == "evolve"
                and isinstance(first, ast.Name)
                and first.id in ("request", "config")
            )
            if node.func.id == "RunConfig" or of_request:
                yield from (keyword.arg for keyword in node.keywords if keyword.arg)


def test_sql_is_written_in_the_store_only() -> None:
    assert [place for path in MODULES if (place := sql_outside_of_the_store(path))] == []


def test_a_run_parameter_is_used_in_two_places() -> None:
    assert parameters_used_in_more_places() == []


def test_sql_is_found_where_it_is_and_not_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "CORE", tmp_path)
    found = {
        "spoken.py": 'x = "SELECT id\\n FROM rows"',
        "told.py": '"""SELECT a FROM b."""',
        "word.py": 'x = "Select one."',
    }
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "own.py").write_text('x = "SELECT id FROM rows"')
    paths = sorted(tmp_path.rglob("*.py"))
    assert [told for path in paths if (told := sql_outside_of_the_store(path))] == ["spoken.py"]


def test_a_connection_that_is_opened_for_a_block_is_closed_behind_it() -> None:
    """`with sqlite3.connect(...)` ends a transaction and leaves the connection open, which Python 3.13 warns of."""
    opened = re.compile(r"^ *(?:async )?with sqlite3\.connect\(", re.MULTILINE)
    root = CORE.parents[2]
    paths = [
        path for folder in ("core", "plugins", "tests") for path in root.glob(f"{folder}/**/*.py")
    ]
    assert [str(path) for path in paths if opened.search(path.read_text(encoding="utf-8"))] == []


def test_no_file_holds_the_markers_of_a_merge_conflict() -> None:
    root = CORE.parents[2]
    marker = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
    suffixes = {".md", ".py", ".toml", ".txt", ".json"}
    folders = ("core", "docs", "plugins", "tests")
    files = [
        path for name in folders for path in (root / name).rglob("*") if path.suffix in suffixes
    ]
    assert len(files) > 500
    assert [
        str(path) for path in files if marker.search(path.read_text("utf-8", errors="replace"))
    ] == []


WRITERS = {
    "core/src/context_bench/console.py": "the writer",
    "core/src/context_bench/cli/__init__.py": "replaces closed streams, and flushes what the writer wrote",
    "core/src/context_bench/run/examples.py": "restores a stream that an import replaced",
    "core/src/context_bench/run/progress.py": "chooses the stream that the writer writes into",
    "plugins/context-bench-code/src/context_bench_code/inside/": "runs in the sandbox, whose output is captured",
    "plugins/context-bench-llama/src/context_bench_llama/serve.py": "is a child process, and answers by a pipe",
    "plugins/context-bench-math/src/context_bench_math/worker.py": "is a child process, and answers by a pipe",
}
"""Modules, or folders of them, that may name standard output or standard error, and why."""
_CALLS = {
    "print",
    "click.echo",
    "click.secho",
    "click.echo_via_pager",
    "click.progressbar",
    "Console",
}
_CALLS |= {"rich.print", "warnings.showwarning", "logging.basicConfig", "logging.StreamHandler"}
_CALLS |= {
    "traceback.print_exc",
    "traceback.print_exception",
    "traceback.print_stack",
    "pprint.pprint",
}
_CALLS |= {"os.write", "faulthandler.enable", "warnings._showwarnmsg"}
_STREAMS = {f"sys.{name}" for name in ("stdout", "stderr", "__stdout__", "__stderr__")}


def other_ways_to_a_terminal(path: Path) -> list[str]:
    """Return the places of a module where text could reach a terminal without the console."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = []
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.endswith(".Console"):
                name = "Console"
            if name == "os.write" and ast.unparse(node.args[0]) not in ("1", "2"):
                continue
            if name not in _CALLS:
                continue
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name not in _STREAMS:
                continue
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            name = "from sys import"
            if not {"stdout", "stderr"} & {alias.name for alias in node.names}:
                continue
        else:
            continue
        places.append(f"{path.name}:{node.lineno} {name}")
    return places


def test_the_console_is_the_one_writer_to_a_terminal() -> None:
    root = CORE.parents[2]
    sources = [*CORE.rglob("*.py"), *root.glob("plugins/*/src/**/*.py")]
    assert len(sources) > 400
    places = {}
    for path in sources:
        name = path.relative_to(root).as_posix()
        if not name.startswith(tuple(WRITERS)) and (found := other_ways_to_a_terminal(path)):
            places[name] = found
    assert places == {}


def test_a_writer_that_is_allowed_exists() -> None:
    assert [name for name in WRITERS if not (CORE.parents[2] / name).exists()] == []


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "import sys\nsys.stderr.write('x')",
        "import click\nclick.echo('x')",
        "from rich.console import Console\nConsole()",
        "import rich.console\nrich.console.Console(stderr=True)",
        "import traceback\ntraceback.print_exc()",
        "import os\nos.write(2, b'x')",
        "from sys import stderr",
    ],
)
def test_another_way_to_a_terminal_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert other_ways_to_a_terminal(path)


def test_each_mutation_fits_the_code_and_names_tests_that_exist() -> None:
    """`nox -s mutation` runs by hand: what no longer fits would only be seen then."""
    wrong: list[str] = []
    lists = sorted((ROOT / "tests" / "mutation").glob("*.toml"))
    assert lists
    for path in lists:
        for mutation in tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]:
            file = ROOT / mutation["file"]
            count = file.read_text(encoding="utf-8").count(mutation["old"]) if file.is_file() else 0
            if count != 1:
                wrong.append(
                    f"{mutation['name']}: its old text is {count} times in {mutation['file']}"
                )
            for test in mutation["tests"]:
                place, _, name = test.partition("::")
                source = ROOT / place
                if not source.is_file() or f"def {name.partition('[')[0]}" not in source.read_text(
                    encoding="utf-8"
                ):
                    wrong.append(f"{mutation['name']}: there is no test {test}")
    assert wrong == []
