"""Every package requires what its code imports, at the top of a module or inside a function, or names it in an extra.

A session installs each plugin alone and runs some of its tests; what those do not call is read here.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import tomli

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = sorted((ROOT / "core" / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")))
DISTRIBUTIONS = packages_distributions()
WHAT_MAY_BE_ABSENT = {
    "context_bench_rouge": "a facade, which says how the package is installed",
    "pandas": "EvalResult.to_pandas is for who has it, and says so",
    "polars": "EvalResult.to_polars is for who has it, and says so",
}


def name_of(requirement: str) -> str:
    """Return the distribution that a requirement asks for, its name normalised.

    >>> name_of("Scikit_Learn[extra]>=1; python_version > '3.9'")
    'scikit-learn'
    """
    return normalised(re.match(r"[A-Za-z0-9._-]+", requirement)[0])  # type: ignore[index]


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level names that code imports, those of type checking left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (
                str(told.value).partition(".")[0]
                for told in node.args[:1]
                if isinstance(told, ast.Constant)
            )
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from imported(node)


def undeclared(project: Path) -> list[str]:
    """Return the distributions that a package's code imports, and its project neither requires nor names in an extra."""
    told = tomli.loads(project.read_text(encoding="utf-8"))["project"]
    extras = [
        requirement
        for extra in told.get("optional-dependencies", {}).values()
        for requirement in extra
    ]
    declared = {
        name_of(requirement) for requirement in (*told.get("dependencies", ()), *extras)
    } | {told["name"]}
    found = {
        name: str(path.relative_to(ROOT))
        for path in sorted(project.parent.glob("src/**/*.py"))
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if name not in sys.stdlib_module_names and name not in WHAT_MAY_BE_ABSENT
    }
    return [
        f"{path} imports {name}"
        for name, path in found.items()
        if declared.isdisjoint(map(normalised, DISTRIBUTIONS.get(name, [name])))
    ]


@pytest.mark.parametrize("project", PROJECTS, ids=[project.parent.name for project in PROJECTS])
def test_what_the_code_imports_is_declared(project: Path) -> None:
    assert not undeclared(project)


def test_an_import_inside_of_a_function_is_seen(tmp_path: Path) -> None:
    tree = ast.parse(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef f():\n    try:\n        import numpy.linalg\n"
        "    except ImportError:\n        return import_module('pandas.core')\n"
    )
    assert sorted(imported(tree)) == ["numpy", "pandas", "typing"]
