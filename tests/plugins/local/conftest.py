from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a file into the working directory of the test, compressed as its suffix says; return its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, text: str | bytes, encoding: str = "utf-8") -> str:
        content = text.encode(encoding) if isinstance(text, str) else text
        Path(name).write_bytes(PACK.get(Path(name).suffix, bytes)(content))
        return name

    return write_file
