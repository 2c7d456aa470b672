"""A failed row counts the same everywhere: the mean of an exported score is the mean of the table."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import context_bench
from context_bench import EvalResult, evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError

SCORES = "right", "length"


def answers(example: dict[str, Any]) -> dict[str, Any]:
    """Fail on the first row, which no later row tells anything about, and on the last."""
    if example["id"] in ("0", "9"):
        raise ConnectionError("refused")
    return {"response": "yes" if int(example["id"]) % 2 else "no"}


class Declared:
    """Says which keys it gives, and fails on one response."""

    name = "right"
    score_keys = ("right",)

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if original["id"] == "4":
            raise ValueError("nothing to say")
        return {"right": float(processed["response"] == "yes")}


class Undeclared:
    """Says nothing about its keys, and fails on two responses."""

    name = "length"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if original["id"] in ("1", "2"):
            raise ValueError("nothing to say")
        return {"length": float(len(processed["response"]))}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EvalResult]:
    path = tmp_path_factory.mktemp("runs") / "run.sqlite"
    rows = [{"id": str(number), "context": "c"} for number in range(10)]
    result = evaluate([answers], rows, [Declared(), Undeclared()], progress=False, run_file=path)
    return path, result


def in_csv(path: Path, result: EvalResult, folder: Path) -> list[dict[str, Any]]:
    assert execute(["report", str(path), "-o", str(folder / "rows.csv"), "--format", "none"]) == 0
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as lines:
        return [line | {"failed": line["failed"] == "True"} for line in csv.DictReader(lines)]


def in_json(path: Path, result: EvalResult, folder: Path) -> list[dict[str, Any]]:
    assert execute(["report", str(path), "-o", str(folder / "rows.json"), "--format", "none"]) == 0
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))["rows"]
    return [row | row["scores"] for row in rows]


def in_lines(
    path: Path, result: EvalResult, folder: Path, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert execute(["export", str(path)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [row | row["scores"] for row in rows]


def in_memory(path: Path, result: EvalResult, folder: Path) -> list[dict[str, Any]]:
    return [row | row["scores"] for row in result.to_dict()["rows"]]


def in_pandas(path: Path, result: EvalResult, folder: Path) -> list[dict[str, Any]]:
    pytest.importorskip("pandas")
    found: list[dict[str, Any]] = result.to_pandas().to_dict("records")
    return found


def in_parquet(path: Path, result: EvalResult, folder: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = folder / "rows.parquet"
    assert execute(["report", str(path), "-o", str(file), "--format", "none"]) == 0
    found: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    return found


def check(rows: list[dict[str, Any]], result: EvalResult) -> None:
    """Compare the mean of each column with the summary's, and which rows are said to have failed."""
    by_evaluator = result.summary["answers"]["scores"]
    expected = {
        key: score["mean"] for found in by_evaluator.values() for key, score in found.items()
    }
    assert set(expected) == set(SCORES)
    for key in SCORES:
        assert fmean(float(row[key]) for row in rows) == expected[key]
    assert [row["example_id"] for row in rows if row["failed"]] == ["0", "4", "9"]


@pytest.mark.parametrize(
    "written", [in_csv, in_json, in_memory, in_pandas, in_parquet], ids=lambda one: one.__name__
)
def test_the_mean_of_an_exported_score_is_that_of_the_table(
    run: tuple[Path, EvalResult], tmp_path: Path, written: Callable[..., list[dict[str, Any]]]
) -> None:
    check(written(*run, tmp_path), run[1])


def test_the_mean_of_exported_lines_is_that_of_the_table(
    run: tuple[Path, EvalResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(in_lines(*run, tmp_path, capsys), run[1])


def test_polars_has_the_same_columns_and_means(run: tuple[Path, EvalResult]) -> None:
    pytest.importorskip("polars")
    frame = run[1].to_polars()
    check(frame.to_dicts(), run[1])
    pandas = pytest.importorskip("pandas")
    assert frame.columns == list(run[1].to_pandas().columns)
    assert pandas.isna(run[1].to_pandas()["dataset"]).sum() == frame["dataset"].null_count()


def test_without_polars_the_message_says_what_is_missing(
    run: tuple[Path, EvalResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ConfigurationError, match="pip install polars"):
        run[1].to_polars()


def test_a_run_is_opened_again_by_its_file(run: tuple[Path, EvalResult]) -> None:
    again = context_bench.open(run[0])
    assert again.to_dict()["summary"] == run[1].to_dict()["summary"]
    assert [row["scores"] for row in again.row_dicts()] == [
        row["scores"] for row in run[1].row_dicts()
    ]
