from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_pages() -> ModuleType:
    """Return docs/pages.py, which knows how pages are read and run."""
    if "context_bench_pages" not in sys.modules:
        spec = spec_from_file_location("context_bench_pages", ROOT / "docs" / "pages.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[spec.name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["context_bench_pages"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page" in metafunc.fixturenames:
        found = load_pages().pages()
        metafunc.parametrize("page", found, ids=[str(path.relative_to(ROOT)) for path in found])


@pytest.fixture(scope="session")
def pages() -> Any:
    """The module docs/pages.py."""
    return load_pages()


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def plugins() -> None:
    """Skips where the packages that the pages use are not installed."""
    for name in (
        *(
            "answer_quality",
            "command",
            "compress",
            "huggingface",
            "local",
            "math",
            "memory",
            "needle",
            "python",
            "reasoning",
        ),
        *("replay", "rouge"),
    ):
        pytest.importorskip(
            f"context_bench_{name}", reason=f"the pages use context-bench-{name.replace('_', '-')}"
        )


@pytest.fixture(scope="session")
def tables(pages: Any) -> Any:
    """Reads the tables of a page: by heading, a list of the cells of each line, backticks taken off."""
    import re

    def read(name: str) -> dict[str, list[list[str]]]:
        found: dict[str, list[list[str]]] = {}
        heading = ""
        for line in (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            elif line.startswith("|") and not set(line) <= set("|-: "):
                cells = [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                found.setdefault(heading, []).append(cells)
        return {name: lines[1:] for name, lines in found.items()}

    return read
