from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from context_bench_python.folder import Folder


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Write a module of the user's into the working directory; return its name, which no other test uses."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    number = 0

    def write(code: str, name: str | None = None) -> str:
        nonlocal number
        number += 1
        name = name or f"users_{tmp_path.name.replace('-', '_')}_{number}"
        (tmp_path / f"{name}.py").write_text(dedent(code), encoding="utf-8")
        return name

    yield write
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path.resolve())):
            del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Folder)]
