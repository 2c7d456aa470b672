from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench_llama import Llama, llama

FAKE = Path(__file__).parent / "fake"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Child processes find the stand-in for xllamacpp; hashes are kept in a folder of the test's own."""
    paths = [str(FAKE), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(llama, "_library", lambda: "xllamacpp 1")


@pytest.fixture
def gguf(tmp_path: Path) -> Callable[..., Path]:
    """Makes a model file whose server behaves as told."""

    def make(name: str = "tiny.gguf", **told: Any) -> Path:
        path = tmp_path / name
        path.write_bytes(b"GGUF" + json.dumps(told).encode())
        return path

    return make


@pytest.fixture
def serving(gguf: Callable[..., Path]) -> Iterator[Callable[..., Llama]]:
    """Makes a system with a model that behaves as told; it is closed with the test."""
    made: list[Llama] = []

    def make(told: dict[str, Any] | None = None, **options: Any) -> Llama:
        made.append(Llama(str(gguf(**(told or {}))), **options))
        return made[-1]

    yield make
    for system in made:
        system.close()
