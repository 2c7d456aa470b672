from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

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
