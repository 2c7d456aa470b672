"""The two rules of core that a check counts: SQL in ``store/`` only, and a run parameter in two places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

CORE = Path(__file__).resolve().parents[2] / "core" / "src" / "context_bench"
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
