"""A run file may come from anybody: whatever stands in it, a command ends with one line and never with a traceback."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import StoreError
from context_bench.runs import open_run
from context_bench.store.encoding import DEEPEST, from_json, to_json
from context_bench.store.reader import Source


class Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "Paris"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.sqlite"
    examples = [{"id": f"e{n}", "question": "q", "answer": "Paris"} for n in range(3)]
    evaluate(Echo(), examples, ["answer-quality"], progress=False, run_file=path)
    return path


DEEP = "[" * 100_000 + "]" * 100_000
WIDE = '{"response":' + "[" * (DEEPEST + 5) + "1" + "]" * (DEEPEST + 5) + "}"
FOREIGN = {
    "a view more": "CREATE VIEW more AS SELECT * FROM meta",
    "a trigger": "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM responses; END",
    "a table more": "CREATE TABLE more (value TEXT)",
    "an index more": "CREATE INDEX more ON responses (key)",
    "a computed column": "ALTER TABLE examples ADD COLUMN bomb TEXT AS (hex(zeroblob(1000000000)))",
    "a view for a table": "DROP TABLE turns; CREATE VIEW turns AS SELECT * FROM responses",
    "a table less": "DROP TABLE scores",
    "another format": "UPDATE meta SET value = '99' WHERE name = 'schema'",
    "a format of many digits": f"UPDATE meta SET value = '{'9' * 5000}' WHERE name = 'schema'",
    "no format": "DELETE FROM meta WHERE name = 'schema'",
}
ODD = {
    "deep request": f"UPDATE run SET config = '{DEEP}'",
    "request that is a list": "UPDATE run SET config = '[1]'",
    "no run": "DELETE FROM run",
    "deep output": f"UPDATE responses SET output = '{WIDE}'",
    "very deep output": f"UPDATE responses SET output = '{DEEP}'",
    "number of many digits": f"UPDATE run SET provenance = '{{\"a\": {'9' * 6000}}}'",
    "broken description": "UPDATE systems SET description = '{'",
    "description that is a number": "UPDATE systems SET description = '7'",
    "keys that are a list": "UPDATE labels SET keys = '[1, 2]'",
    "plan that is a text": "UPDATE labels SET plan = '\"x\"'",
    "warnings that are a number": "INSERT OR REPLACE INTO meta VALUES ('warnings', '3')",
    "metrics that are a number": "INSERT OR REPLACE INTO meta VALUES ('metrics', '3')",
    "text where a number belongs": "UPDATE responses SET latency = 'soon'",
    "bytes where a text belongs": "UPDATE responses SET output = x'ff00'",
    "text that is no UTF-8": "UPDATE examples SET example_id = CAST(x'ff' AS TEXT)",
    "no example": "DELETE FROM examples",
    "a label that nobody knows": "UPDATE examples SET label = 77",
    "no system": "DELETE FROM systems",
    "metrics with options that are a list": "UPDATE meta SET value = json_set(value, '$.metrics[0].options', json('[]')) "
    "WHERE name = 'metrics'",
    "metrics with values that are a number": "UPDATE meta SET value = json_set(value, '$.metrics[0].component', '', "
    "'$.metrics[0].values', 7) WHERE name = 'metrics'",
    "rows that nobody counted": "INSERT OR REPLACE INTO meta VALUES ('rows', '99999999999')",
}


def changed(sound: Path, folder: Path, statements: str) -> Path:
    path = folder / "foreign.sqlite"
    shutil.copy(sound, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements)
    return path


@pytest.mark.parametrize("statements", FOREIGN.values(), ids=FOREIGN)
def test_what_a_run_file_does_not_define_is_refused_before_anything_is_read(
    sound: Path, tmp_path: Path, statements: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(sound, tmp_path, statements)
    for command in ("report", "export", "resume", "rescore"):
        assert execute([command, str(path)]) == 2
        told = capsys.readouterr().err
        assert told.startswith("Error: ")
        assert len(told.splitlines()) <= 2
        assert len(told) < 500
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize("statements", ODD.values(), ids=ODD)
def test_what_does_not_fit_is_one_line_and_never_a_traceback(
    sound: Path, tmp_path: Path, statements: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(sound, tmp_path, statements)
    codes = []
    for command in ("export", "report"):
        codes.append(execute([command, str(path)]))
        told = capsys.readouterr().err
        assert "Traceback" not in told, told
    assert set(codes) <= {0, 2, 3}
    assert 2 in codes or "rows that nobody counted" in statements or codes == [0, 0]


@pytest.mark.parametrize("kind", ["fifo", "folder", "empty", "text", "absent"])
def test_what_is_no_file_of_sqlite_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run.sqlite"
    if kind == "fifo":
        if not hasattr(os, "mkfifo"):
            pytest.skip("there are no pipes with a name on this platform")
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "absent":
        path.write_text("" if kind == "empty" else "no database " * 500)
    with pytest.raises(StoreError):
        open_run(path)


def test_a_foreign_schema_is_not_trusted_and_nothing_can_be_written(sound: Path) -> None:
    with Source(sound).snapshot() as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchall() == [(0,)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM responses")


def test_what_is_nested_deeper_than_can_be_read_is_not_written() -> None:
    value: Any = 1
    for _ in range(DEEPEST):
        value = [value]
    assert from_json(to_json({"a": value[0]})) == {"a": value[0]}
    with pytest.raises(StoreError, match="nested deeper"):
        to_json({"a": [value]})
