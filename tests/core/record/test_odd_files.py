"""Files that are no run files, or lack a part, are told in a line by every command."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench.cli import execute

COMMANDS = {
    "report": ["report", "RUN"],
    "report to a file": ["report", "RUN", "-o", "out.json"],
    "export": ["export", "RUN"],
    "resume": ["resume", "RUN", "--trust"],
    "rescore": ["rescore", "RUN", "--trust"],
}


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.sqlite"
    evaluate("identity", [{"id": "1", "context": "a"}], [], progress=False, run_file=path)
    return path


def told(name: str, path: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = execute([path if word == "RUN" else word for word in COMMANDS[name]])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_loop_of_links_is_no_run_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        Path("loop.sqlite").symlink_to("loop.sqlite")
    except OSError:
        pytest.skip("links cannot be made here")
    code, error = told(name, "loop.sqlite", capsys)
    assert code == 2
    assert "loop.sqlite" in error


@pytest.mark.parametrize("row", ["session", "schema", "format", "expected", "rows", "metrics"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_lacks_a_fact_is_told(
    name: str,
    row: str,
    run_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(run_file, "run.sqlite")
    with closing(sqlite3.connect("run.sqlite")) as connection, connection:
        connection.execute("DELETE FROM meta WHERE name = ?", (row,))
    code, error = told(name, "run.sqlite", capsys)
    assert code in (0, 2, 3)
    assert "Traceback" not in error


@pytest.mark.parametrize("name", COMMANDS)
def test_a_sparse_file_of_a_tebibyte_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with open("sparse.sqlite", "wb") as file:
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("the file system has no sparse files of this size")
    code, error = told(name, "sparse.sqlite", capsys)
    assert code == 2
    assert "sparse.sqlite" in error
