"""Whoever only looks imports no plugin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

LOOKING = {
    "plugins list": ("plugins", "list", "-v"),
    "plugins list --json": ("plugins", "list", "--json"),
    "plugins show": ("plugins", "show", "one"),
    "plugins check --no-load": ("plugins", "check", "one", "--no-load"),
    "--help": ("--help",),
    "run --help": ("run", "--help"),
    "explain wiring": ("explain", "wiring", "--dataset", "toy"),
    "evaluators list": ("evaluators", "list"),
    "datasets show": ("datasets", "show", "toy"),
    "run --dry-run": ("run", "--system", "echo", "--dataset", "toy", "--dry-run"),
}


@pytest.mark.parametrize("arguments", LOOKING.values(), ids=LOOKING.keys())
def test_looking_imports_no_plugin(site: Any, process: Run, arguments: tuple[str, ...]) -> None:
    site.basics()
    site.evaluator("acme-one", "one", wire="[{ always = true }]")
    for package in ("bench_basics", "acme_one"):
        (site.folder / package / "__init__.py").write_text(
            f"raise BaseException('{package} was imported')"
        )
    done = process(*arguments)
    assert done.code == 0, done.err
    assert "was imported" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [LOOKING["plugins list"], LOOKING["run --help"]],
    ids=["plugins list", "run --help"],
)
def test_looking_imports_none_of_the_installed_plugins(
    process: Run, site: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code = """
        import atexit, sys
        from importlib_metadata import entry_points

        @atexit.register
        def tell():
            ours = [point for point in entry_points() if point.group.startswith("context_bench.")]
            packages = {point.value.partition(":")[0].partition(".")[0] for point in ours}
            with open("imported.txt", "w") as file:
                file.write(" ".join(sorted((packages & set(sys.modules)) - {"context_bench"})))
    """
    from textwrap import dedent

    (site.folder / "sitecustomize.py").write_text(dedent(code))
    done = process(*arguments, CONTEXT_BENCH_PLUGINS="")
    assert done.code == 0
    assert (tmp_path / "work" / "imported.txt").read_text() == ""


def test_planned_components_are_imported_each_on_its_own(site: Any, process: Run) -> None:
    site.basics()
    site.evaluator(
        "acme-one", "one", wire='[{ datasets = ["other"] }]', code="raise BaseException('imported')"
    )
    assert process("run", "--system", "echo", "--dataset", "toy", "-q").code == 0


def test_a_dotted_entry_point_does_not_import_its_parent(site: Any, process: Run) -> None:
    package = site.evaluator(
        "acme-deep",
        "deep",
        code="raise BaseException('imported')",
        entry_points={"evaluators": {"deep": "acme_deep.inner.module:Evaluator"}},
    )
    assert package.is_dir()
    assert "deep ok acme-deep 1.0" in process("plugins", "list", "-v").words
