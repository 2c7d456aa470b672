from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from context_bench.cli import execute


@frozen
class Done:
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def context_bench(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """Run the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> Done:
        code = execute([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., str]:
    """Write rows to a JSONL file and return its name."""

    def write(rows: list[Any], name: str = "rows.jsonl") -> str:
        text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write
