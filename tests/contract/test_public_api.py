"""The public surface of core: small, pinned, and all that the commands in packages stand on."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURFACE = {
    "console": [
        "atomic_write",
        "echo",
        "echo_err",
        "escape_control",
        "stdout_aside",
        "style",
        "warn",
        "wrap_text",
        "write_json",
    ],
    "catalog": ["Catalog", "Component", "open_catalog"],
    "config": [
        "RunConfig",
        "SystemConfig",
        "SystemSpec",
        "examples_of",
        "labels_of",
        "load_config",
        "parse_system",
        "recompute",
        "run_options",
        "several_values",
    ],
    "runs": ["Run", "open_run", "run_files"],
}
OPEN = {
    *SURFACE,
    "answers",
    "decompression",
    "errors",
    "executors",
    "evaluators",
    "hookspecs",
    "installation",
    "messages",
    "outcomes",
    "prompts",
    "metrics",
    "protocols",
    "records",
    "redaction",
    "tokens",
    "",
}
"""Modules of core that a package may import."""
PRODUCTS = (
    "openai",
    "kompact",
    "anthropic",
    "gpt-4",
    "claude",
    "gemini",
    "ollama",
    "litellm",
    "headroom",
    "mistral",
)


@pytest.mark.parametrize("module", SURFACE)
def test_the_surface_is_what_it_is(module: str) -> None:
    found = import_module(f"context_bench.{module}")
    assert sorted(found.__all__) == sorted(SURFACE[module])
    page = (ROOT / "docs" / "reference" / "public-api.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in SURFACE[module])
    assert all(inspect.getdoc(getattr(found, name)) for name in SURFACE[module])


def test_the_surface_is_small() -> None:
    names = [
        getattr(import_module(f"context_bench.{module}"), name)
        for module in SURFACE
        for name in SURFACE[module]
    ]
    assert len(names) <= 25
    attributes = [
        name
        for thing in names
        if isinstance(thing, type)
        for name in dir(thing)
        if not name.startswith("_")
    ]
    assert len(attributes) <= 137


def internals_in(text: str) -> list[str]:
    """Return what a source imports of core, by whatever statement or name, that is not public."""
    import context_bench

    found = []
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = (
                {*context_bench.__all__, "__version__"} if node.module == "context_bench" else None
            )
            inside = set(SURFACE.get(node.module.removeprefix("context_bench."), ())) or inside
            names = [node.module if inside is None or alias.name in inside else f"{node.module}.{alias.name}"
                     for alias in node.names]  # fmt: skip
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            names = (
                [str(node.args[0].value)]
                if function in ("import_module", "__import__", "find_spec")
                else []
            )
        of_core = [name for name in names if name.partition(".")[0] == "context_bench"]
        found += [
            name
            for name in of_core
            if name.removeprefix("context_bench").removeprefix(".") not in OPEN
        ]
    return found


@pytest.mark.parametrize(
    "package", sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
)
def test_a_package_imports_nothing_of_core_but_what_is_public(package: str) -> None:
    sources = list((ROOT / "plugins" / package / "src").rglob("*.py"))
    assert sources
    found = {path.name: internals_in(path.read_text(encoding="utf-8")) for path in sources}
    assert {name: internal for name, internal in found.items() if internal} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "from context_bench.results.reading import read_result",
            ["context_bench.results.reading"],
        ),
        ("def f():\n    import context_bench.store.reader", ["context_bench.store.reader"]),
        ("from context_bench import cli", ["context_bench.cli"]),
        ("from context_bench.runs import RunReader", ["context_bench.runs.RunReader"]),
        (
            "import importlib\nimportlib.import_module('context_bench.run.loop')",
            ["context_bench.run.loop"],
        ),
        (
            "from context_bench import open\nfrom context_bench.runs import open_run\nimport context_bench_http",
            [],
        ),
    ],
)
def test_an_internal_module_is_found_however_it_is_imported(text: str, expected: list[str]) -> None:
    assert internals_in(text) == expected


def test_the_protocols_import_from_the_package() -> None:
    from context_bench import Evaluator, Metric, System, protocols

    assert (Evaluator, Metric, System) == (protocols.Evaluator, protocols.Metric, protocols.System)
    assert import_module("context_bench.evaluators").Evaluator is Evaluator


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
