"""Run files that cannot be compared: one clear line and exit code 2, whatever is wrong with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute


class Says:
    """Answers the same each time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": self.name}


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def made(path: Path) -> Path:
    examples = [{"id": f"q{n}", "answer": "yes"} for n in range(40)]
    evaluate(
        [Says("yes"), Says("no")],
        examples,
        [Right()],
        progress=False,
        run_file=path,
        score_field="right",
    )
    return path


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(statement)


def cut(path: Path) -> None:
    changed(path, "UPDATE meta SET value = value")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwritten(path: Path) -> None:
    changed(path, "UPDATE meta SET value = value")
    body = bytearray(path.read_bytes())
    body[4096:-4096] = b"\x5a" * (
        len(body) - 2 * 4096
    )  # a piece in the middle may be one that a comparison never reads
    path.write_bytes(bytes(body))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "newer schema": lambda path: changed(
        path, "UPDATE meta SET value = '99' WHERE name = 'schema'"
    ),
    "no schema": lambda path: changed(path, "DELETE FROM meta WHERE name = 'schema'"),
    "half-written": cut,
    "overwritten": overwritten,
    "a table is missing": lambda path: changed(path, "DROP TABLE scores"),
    "a text where a number was": lambda path: changed(path, "UPDATE scores SET value = 'many'"),
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"no database at all" * 500),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("place", ["alone", "first", "second"])
def test_a_file_that_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], Any], place: str
) -> None:
    bad, good = made(tmp_path / "bad.sqlite"), made(tmp_path / "good.sqlite")
    damage(bad)
    runs = {"alone": [bad], "first": [bad, good], "second": [good, bad]}[place]
    capsys.readouterr()
    assert execute(["compare", *map(str, runs), "-m", "right"]) == 2
    told = capsys.readouterr()
    [line] = told.err.splitlines()
    assert line.startswith("Error: ")
    assert "bad.sqlite" in line
    assert told.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "exactness"), "Unknown score"),
        (("-m", "right", "--gate", "exactness:min=1"), "exactness"),
        (("-m", "right", "--gate", "right:max-drop=1pp,vs=@old"), "baseline promote"),
        (("-m", "right", "--gate", "right:min=1mile"), "is no amount"),
    ],
    ids=["absent metric", "unknown score of a gate", "no such baseline", "no amount"],
)
def test_what_is_not_there_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path / "good.sqlite")
    capsys.readouterr()
    assert execute(["compare", "good.sqlite", *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_baseline_whose_file_has_gone_is_told_with_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path / "good.sqlite")
    for name in ("main", "mail"):
        assert execute(["baseline", "promote", "good.sqlite", "--as", name, "--reason", "r"]) == 0
    (tmp_path / "baselines" / "main.sqlite").unlink()
    capsys.readouterr()
    assert (
        execute(["compare", "good.sqlite", "-m", "right", "--gate", "right:max-drop=1pp,vs=@main"])
        == 2
    )
    [line] = capsys.readouterr().err.splitlines()
    assert "'@main'" in line
    assert "@mail" in line
