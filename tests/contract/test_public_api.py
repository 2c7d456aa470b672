"""The public surface of core: small, pinned, and all that the commands in packages stand on."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURFACE = {
    "console": ["printable", "say", "styled", "tell", "warn", "wrapped", "write_json"],
    "catalog": ["Catalog", "Component", "manifest_faults", "open_catalog"],
    "requests": ["AskedSystem", "Request", "examples_of", "read_request", "recompute", "request_command"],
    "runs": ["Run", "open_run", "run_files"],
}
OPEN = {*SURFACE, "answers", "errors", "evaluators", "protocols", "records", "secrecy", ""}
"""Modules of core that a package may import."""
PRODUCTS = ("openai", "kompact", "anthropic", "gpt-4", "claude", "gemini", "ollama", "litellm", "headroom", "mistral")


@pytest.mark.parametrize("module", SURFACE)
def test_the_surface_is_what_it_is(module: str) -> None:
    found = import_module(f"context_bench.{module}")
    assert sorted(found.__all__) == sorted(SURFACE[module])
    page = (ROOT / "docs" / "reference" / "public-api.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in SURFACE[module])
    assert all(inspect.getdoc(getattr(found, name)) for name in SURFACE[module])


def test_the_surface_is_small() -> None:
    names = [getattr(import_module(f"context_bench.{module}"), name) for module in SURFACE for name in SURFACE[module]]
    assert len(names) <= 20
    attributes = [name for thing in names if isinstance(thing, type) for name in dir(thing) if not name.startswith("_")]
    assert len(attributes) <= 120


@pytest.mark.parametrize("package", ["kit", "preflight", "audit"])
def test_a_command_imports_nothing_of_core_but_what_is_public(package: str) -> None:
    imported = set()
    for path in (ROOT / "plugins" / f"context-bench-{package}" / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            imported |= {name for name in names if name.partition(".")[0] == "context_bench"}
            if isinstance(node, ast.ImportFrom) and (node.module or "").removeprefix("context_bench.") in SURFACE:
                module = str(node.module).removeprefix("context_bench.")
                assert {alias.name for alias in node.names} <= set(SURFACE[module]), path
    assert {name.removeprefix("context_bench").removeprefix(".") for name in imported} <= OPEN


def test_the_protocols_import_from_the_package() -> None:
    from context_bench import Evaluator, Metric, System, protocols

    assert (Evaluator, Metric, System) == (protocols.Evaluator, protocols.Metric, protocols.System)


def test_no_product_is_named_in_core() -> None:
    found = []
    for path in (ROOT / "core" / "src").rglob("*"):
        if path.suffix in (".py", ".toml") and "first_party" not in path.name:
            lines = path.read_text(encoding="utf-8").splitlines()
            found += [
                f"{path.name}:{number}: {line.strip()}"
                for number, line in enumerate(lines, 1)
                if any(product in line.lower().replace("_headroom", "") for product in PRODUCTS)
            ]
    assert found == []


def test_the_standard_set_names_packages_that_are_there() -> None:
    lines = (ROOT / "plugins" / "standard.txt").read_text(encoding="utf-8").splitlines()
    places = [line for line in lines if line.startswith("./")]
    assert all((ROOT / place / "pyproject.toml").is_file() for place in places)
    wanted = {"compress", "needle", "answer-quality", "local", "openai", "preflight", "audit"}
    assert {place.removeprefix("./plugins/context-bench-") for place in places} >= wanted
