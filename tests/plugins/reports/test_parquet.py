"""Parquet: the same rows as CSV, typed, and the queries of the page about DuckDB."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute

pq = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "query-with-duckdb.md"


class Says:
    """Answers every so many-th example right, and fails on one."""

    def __init__(self, name: str, every: int) -> None:
        self.name, self._every = name, every

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == "7":
            raise ConnectionError("refused")
        return {
            "response": example["answer"] if int(example["id"]) % self._every == 0 else "=no \ud800"
        }


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    examples = [{"id": str(n), "answer": f"a{n}"} for n in range(40)]
    evaluate(
        [Says("one", 1), Says("two", 2)],
        examples,
        [Right()],
        progress=False,
        run_file="r.sqlite",
        score_field="right",
        keep_going=True,
        max_failed=1.0,
    )
    assert (
        execute(
            [
                "report",
                "r.sqlite",
                "-o",
                "rows.parquet",
                "--format",
                "none",
                "--score-field",
                "right",
            ]
        )
        == 0
    )
    return tmp_path / "rows.parquet"


def test_rows_come_back_typed(rows: Path) -> None:
    table = pq.read_table(rows)
    assert table.num_rows == 80
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["right"] == "double"
    assert kinds["system"] == "string"
    assert kinds["latency"] == "double"
    by_id = {(line["system"], line["example_id"]): line for line in table.to_pylist()}
    assert by_id["one", "3"]["right"] == 1.0
    assert by_id["two", "3"]["right"] == 0.0
    assert by_id["one", "7"]["right"] == 0.0
    assert by_id["one", "7"]["failed"] is True
    assert by_id["two", "3"]["response"] == "=no \\ud800"


def test_the_queries_of_the_page_answer(rows: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="the page's queries are run by duckdb")
    first, second = re.findall(
        r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert os.path.samefile(rows.parent, Path.cwd())
    with duckdb.connect() as connection:
        assert {line[0]: line[2] for line in connection.execute(first).fetchall()} == {
            "one": 40,
            "two": 40,
        }
        assert len(connection.execute(second).fetchall()) == 19


def test_standard_output_that_takes_text_only_is_told(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from io import StringIO

    from context_bench.errors import ConfigurationError
    from context_bench_reports.parquet import ParquetReporter

    with pytest.raises(ConfigurationError, match=r"-o rows\.parquet"):
        ParquetReporter().write(None, StringIO())  # type: ignore[arg-type]
