"""The house rules of core, measured: they may only get better.

Beside this file lies ``house.toml``, with a ratchet for each rule: what was measured last, and the goal. A test fails when a
measure is more than two percent above its ratchet. ``python tests/contract/test_house_rules.py`` shows all measures and lowers
the ratchets to what they are now; only a person raises one, and says why in the file.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import tomli

pytestmark = pytest.mark.one_python

RATCHETS = Path(__file__).with_name("house.toml")
CORE = Path(__file__).resolve().parents[2] / "core" / "src" / "context_bench"
MODULES = sorted(CORE.rglob("*.py"))
SLACK = 1.02
LONGEST_FUNCTION = 60
_SILENT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
)
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


def code_lines(text: str) -> int:
    """Return the lines that hold code: no blank lines, no comments, no docstrings.

    >>> code_lines('"About."\\n\\n# why\\nx = (  # so\\n    1,\\n)\\n')
    3
    """
    told = {
        line
        for found in docstrings(ast.parse(text))
        for line in range(found.lineno, (found.end_lineno or 0) + 1)
    }
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT and token.string:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - told)


def long_functions(path: Path) -> Iterator[str]:
    """Yield the functions that are longer than a screen, their docstrings not counted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = [found for found in docstrings(node) if found is node.body[0]]
            told = sum((found.end_lineno or 0) - found.lineno + 1 for found in own)
            length = (node.end_lineno or 0) - node.lineno + 1 - told
            if length > LONGEST_FUNCTION:
                yield f"{path.relative_to(CORE)}: {node.name} has {length} lines"


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


def imported_by_a_run(folder: Path) -> list[str]:
    """Return the modules of core that a plain run imports."""
    return [name for name in modules_of_a_run(folder) if name.partition(".")[0] == "context_bench"]


def modules_of_a_run(folder: Path) -> list[str]:
    """Return all modules that a plain run imports."""
    code = (
        "import json, sys\nfrom context_bench.cli import execute\n"
        "code = execute(['run', '--system', 'needle-oracle', '--dataset', 'needle', '-n', '1', '--run-file', 'a.sqlite', '-q'])\n"
        "assert code == 0, code\n"
        "print(json.dumps(list(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(done.stdout.splitlines()[-1]))


def parameters_used_in_more_places() -> list[str]:
    """Return the parameters of a run that more than one module of core uses, besides their declaration.

    A use is ``request.NAME``, ``flags["NAME"]``, or an argument of ``Request`` or ``evolve(request)``. What a run is about - its
    systems, datasets, evaluators and their options, and the labels of two systems - is nobody's alone.
    """
    from context_bench.bench.requests import PARAMETERS

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
        "without",
        "options",
        "part_options",
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
            if owner in ("request", "changed"):
                yield node.attr
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if isinstance(node.value, ast.Name) and node.value.id == "flags":
                yield str(node.slice.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            first = node.args[0] if node.args else None
            of_request = (
                node.func.id == "evolve" and isinstance(first, ast.Name) and first.id == "request"
            )
            if node.func.id == "Request" or of_request:
                yield from (keyword.arg for keyword in node.keywords if keyword.arg)


def measures(folder: Path | None) -> dict[str, list[str] | int]:
    """Return every measure: a number, or the list that is counted."""
    found: dict[str, list[str] | int] = {
        "lines": sum(code_lines(path.read_text(encoding="utf-8")) for path in MODULES),
        "modules": len(MODULES),
        "long_functions": [told for path in MODULES for told in long_functions(path)],
        "parameters_used_in_more_places": parameters_used_in_more_places(),
        "sql_outside_store": [told for path in MODULES if (told := sql_outside_of_the_store(path))],
    }
    if folder is not None and find_spec("context_bench_needle") is not None:
        found["imported_by_a_run"] = imported_by_a_run(folder)
    return found


def ratchets() -> dict[str, dict[str, object]]:
    return tomli.loads(RATCHETS.read_text(encoding="utf-8"))


def held_against(name: str, measured: list[str] | int) -> None:
    ratchet = ratchets()[name]
    number = measured if isinstance(measured, int) else len(measured)
    most = int(float(str(ratchet["ratchet"])) * SLACK)
    listed = "" if isinstance(measured, int) else "\n  " + "\n  ".join(measured)
    assert number <= most, (
        f"{name} is {number}, but may be {most} at most (goal {ratchet['goal']}): {ratchet['rule']}{listed}"
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str] | int]:
    return measures(tmp_path_factory.mktemp("house"))


@pytest.mark.parametrize("name", list(ratchets()))
def test_core_keeps_to_the_house_rules(measured: dict[str, list[str] | int], name: str) -> None:
    if name not in measured:
        pytest.skip("a plain run needs the package context-bench-needle")
    held_against(name, measured[name])


def test_a_run_on_the_callers_thread_does_without_an_event_loop(tmp_path: Path) -> None:
    if find_spec("context_bench_needle") is None:
        pytest.skip("a plain run needs the package context-bench-needle")
    assert "asyncio" not in modules_of_a_run(
        tmp_path
    )  # whose import takes as long as all of core's


def test_a_plain_run_loads_no_package_that_has_nothing_to_do_in_it(tmp_path: Path) -> None:
    """What stands below every table, watches every run or is a usual metric is loaded; what that would take along is not."""
    if find_spec("context_bench_needle") is None:
        pytest.skip("a plain run needs the package context-bench-needle")
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.settings import PluginSettings

    used = {"context_bench_needle", "context_bench_answer_quality"}
    used |= {
        str(component.target).partition(":")[0].partition(".")[0]
        for component in discover(PluginSettings())
        if component.kind in ("hooks", "metrics") or component.said.extends == "table"
    }
    loaded = {name.partition(".")[0] for name in modules_of_a_run(tmp_path)}
    assert {name for name in loaded if name.startswith("context_bench_")} <= used
    assert loaded.isdisjoint({"numpy", "scipy", "httpx"})


def test_a_ratchet_is_never_below_its_goal_unless_the_goal_is_reached() -> None:
    for name, ratchet in ratchets().items():
        assert set(ratchet) >= {"rule", "ratchet", "goal"}, name
        assert isinstance(ratchet["ratchet"], int), name


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ('"""A module."""\n', 0),
        ("x = 1\n\n\n# why\ny = 2  # so\n", 2),
        ('def f():\n    """Return it."""\n    return """a\n# no comment\n\nb"""\n', 5),
        ('"""A."""\nclass C:\n    """B.\n\n    C."""\n\n    x: int\n    """An attribute."""\n', 3),
    ],
)
def test_only_code_is_counted(text: str, lines: int) -> None:
    assert code_lines(text) == lines


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


def main() -> None:
    """Show all measures, and lower the ratchets to them."""
    from tempfile import TemporaryDirectory

    text = RATCHETS.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        for name, measure in measures(Path(folder)).items():
            number = measure if isinstance(measure, int) else len(measure)
            before = int(str(ratchets()[name]["ratchet"]))
            print(f"{name}: {number} (ratchet {before}, goal {ratchets()[name]['goal']})")
            for line in measure if isinstance(measure, list) else ():
                print(f"    {line}")
            if number < before:
                text = re.sub(rf"(\[{name}\][^\[]*?\nratchet = )\d+", rf"\g<1>{number}", text)
    RATCHETS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
