from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

Script = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a Python program; return the words that run it."""

    def write(code: str, name: str = "program") -> list[str]:
        path = tmp_path / f"{name}.py"
        path.write_text(dedent(code), encoding="utf-8")
        return [sys.executable, "-S", str(path)]

    return write


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a program of this name on the PATH; it notes its arguments, input and folder in NAME.asked."""

    def install(name: str, code: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        asked = folder / f"{name}.asked"
        note = f"""
            import json, os, sys
            given = sys.stdin.read()
            with open({str(asked)!r}, "w") as file:
                json.dump({{"arguments": sys.argv[1:], "given": given, "folder": os.listdir(), "env": dict(os.environ)}}, file)
        """
        path = folder / name
        path.write_text(f"#!{sys.executable} -S\n{dedent(note)}\n{dedent(code)}", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")
        return asked

    return install
