"""Verify and explain, with core and nothing else installed."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench.cli import execute


class Same:
    """Whether the response is the answer."""

    name = "same"

    def score(self, original: dict[str, str], processed: dict[str, str]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


@pytest.fixture
def run_file(tmp_path: Path) -> str:
    path = str(tmp_path / "run.sqlite")
    rows = [{"id": "q\x1b[31m", "question": "a", "answer": "a"}]
    evaluate(
        lambda example: example["question"] + "\x1b]0;pwned\x07",
        rows,
        [Same()],
        progress=False,
        run_file=path,
    )
    return path


def test_a_whole_run_file_is_verified(run_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["verify", run_file]) == 0
    assert "is whole: 1 rows" in capsys.readouterr().out


def test_a_changed_run_file_is_told(run_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(run_file)) as connection, connection:
        connection.execute("UPDATE scores SET value = 0.5")
    assert execute(["verify", run_file, "--json"]) == 10
    assert json.loads(capsys.readouterr().out)["problems"]


@pytest.mark.parametrize("command", ["row", "key"])
def test_what_a_model_said_reaches_the_terminal_printable(
    command: str, run_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["explain", command, run_file, "q\x1b[31m"]) == 0
    out = capsys.readouterr().out
    assert "q\\x1b[31m" in out
    assert all(letter.isprintable() or letter == "\n" for letter in out)


def test_a_short_call_is_told_in_a_unit_in_which_it_is_not_zero(
    run_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["explain", "row", run_file, "q\x1b[31m"]) == 0
    told = re.search(r"call +([0-9.]+) (s|ms|us), attempts 1", capsys.readouterr().out)
    assert told is not None
    assert float(told[1]) > 0


def test_an_example_that_is_not_there_is_told(
    run_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["explain", "row", run_file, "other"]) == 2
    assert "other" in capsys.readouterr().err
