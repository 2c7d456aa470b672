from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

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


@pytest.fixture
def acme_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a dataset and an evaluator for child processes, so that runs need no other plugin; write its rows."""
    site = tmp_path / "site"
    (site / "acme_rows-1.0.dist-info").mkdir(parents=True)
    (site / "acme_rows-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-rows\nVersion: 1.0\n"
    )
    (site / "acme_rows-1.0.dist-info" / "entry_points.txt").write_text(
        "[context_bench.datasets]\nacme-rows = acme_rows:load\n[context_bench.evaluators]\nacme-yes = acme_rows:Yes\n"
    )
    (site / "acme_rows.py").write_text(
        "import json\n\ndef load(limit=None, config=None, split=None):\n"
        f"    with open({str(site / 'rows.jsonl')!r}) as file:\n        yield from map(json.loads, file)\n\n"
        "class Yes:\n    name = 'acme-yes'\n\n    def score(self, original, processed):\n        return {'yes': 1.0}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))

    def write(*rows: Mapping[str, Any]) -> None:
        (site / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    return write
