"""Each package of the project passes the suite of packages: manifest, options, exports, docstrings and README."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)

pytestmark = pytest.mark.one_python

LIBRARIES = {
    "context-bench-http",
    "context-bench-pytest",
    "context-bench-scorers",
    "context-bench-testing",
}
"""Packages without a component: other packages, or the user's tests, import them."""


def suite_of(folder: Path) -> type:
    """Return the suite of the package in a folder, with its README where that has examples."""
    readme = folder / "README.md"
    attributes = {
        "distribution": folder.name,
        "readme": readme if ">>> " in readme.read_text(encoding="utf-8") else None,
        "has_components": folder.name not in LIBRARIES,
    }
    words = folder.name.removeprefix("context-bench-").split("-")
    return type(f"Test{''.join(map(str.capitalize, words))}", (suites.PackageSuite,), attributes)


for _folder in sorted(Path(__file__).resolve().parents[2].glob("plugins/context-bench-*")):
    if find_spec(_folder.name.replace("-", "_")):
        _suite = suite_of(_folder)
        globals()[_suite.__name__] = _suite
del _suite
