"""Metrics of other packages: chosen by name or by default, shown everywhere, and told again by a later report."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError, PluginError, UnknownNameError

Call = Callable[..., Any]

CODE = """
    class Longest:
        name = "longest"

        def __init__(self, unit="words"):
            self.unit = unit

        def compute(self, rows):
            lengths = [len(row.response.split() if self.unit == "words" else row.response) for row in rows if row.response]
            return {"longest_response": max(lengths)} if lengths else {}

    class Lead:
        name = "lead"

        def compare(self, columns_by_system):
            sums = {label: sum(columns.values("score")) for label, columns in columns_by_system.items()}
            best = max(sums.values())
            return {label: {"lead_behind": best - total} for label, total in sums.items()}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [metrics.longest]
    summary = "The longest response"
    options.unit = { help = "words or letters", default = "words" }
    values.longest_response = { heading = "longest answer", format = "count", better = "lower", order = 15 }

    [metrics.lead]
    summary = "How far a system is behind the best"
    default = true
    values.lead_behind = { heading = "behind", format = "count", order = 16 }
"""
RUN = (
    "run",
    "--system",
    "one=echo",
    "--system",
    "two=echo",
    "--dataset",
    "toy",
    "-q",
    "--run-file",
    "r.sqlite",
)


@pytest.fixture
def lengths(site: Any) -> Path:
    site.basics()
    return site.add(  # type: ignore[no-any-return]
        "acme-lengths",
        code=CODE,
        manifest=MANIFEST,
        entry_points={"metrics": {"longest": "acme_lengths:Longest", "lead": "acme_lengths:Lead"}},
    )


def test_a_metric_of_a_package_is_in_the_table_and_every_report_and_in_the_report_of_later(
    lengths: Path, context_bench: Call
) -> None:
    done = context_bench(*RUN, "--add-metric", "longest", "-o", "r.md", "-o", "r.json")
    assert done.code == 0, done.err
    for text in (done.out, Path("r.md").read_text()):
        assert "longest answer" in text
        assert "behind" in text
    summary = json.loads(Path("r.json").read_text())["summary"]
    assert {
        system: (values["longest_response"], values["lead_behind"])
        for system, values in summary.items()
    } == {
        "one": (1, 0.0),
        "two": (1, 0.0),
    }
    again = context_bench("report", "r.sqlite", "-o", "again.json")
    assert "longest answer" in again.out
    assert json.loads(Path("again.json").read_text())["summary"] == summary


@pytest.mark.parametrize("chosen", ["longest", "acme-lengths/longest", "longest:unit=letters"])
def test_exactly_the_metrics_that_are_named_are_computed(
    lengths: Path, context_bench: Call, chosen: str
) -> None:
    done = context_bench(*RUN, "--metrics", f"mean-score,{chosen}", "-o", "r.json")
    assert done.code == 0, done.err
    [values, _] = json.loads(Path("r.json").read_text())["summary"].values()
    assert set(values) == {"mean_score", "longest_response", "scores"}
    assert values["longest_response"] == (3 if "letters" in chosen else 1)
    assert set(json.loads(Path("r.json").read_text())["config"]["metrics"]) == {
        "mean_score",
        "longest",
    }


def test_the_project_file_names_metrics_and_a_flag_takes_one_out(
    lengths: Path, context_bench: Call
) -> None:
    Path("context-bench.toml").write_text('[run]\nadd-metrics = ["longest:unit=letters"]\n')
    done = context_bench(*RUN, "-p", "no:latency", "--exclude", "lead", "-o", "r.json")
    assert done.code == 0, done.err
    [values, _] = json.loads(Path("r.json").read_text())["summary"].values()
    assert values["longest_response"] == 3
    assert not [key for key in values if key.startswith(("latency", "lead"))]
    assert "p50" not in done.out
    assert "p50" not in context_bench("report", "r.sqlite").out


def test_evaluate_takes_names_and_objects_and_a_misspelt_name_suggests(lengths: Path) -> None:
    class Zero:
        name = "zero"
        values = {"zero": {"heading": "nothing", "format": "count"}}  # noqa: RUF012

        def compute(self, rows: Any) -> dict[str, float]:
            return {"zero": 0.0}

    class Exact:
        name = "same"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"same": 1.0}

    examples = [{"question": "q"}]
    result = evaluate(
        lambda example: "a b", examples, [Exact()], metrics=["longest", Zero()], progress=False
    )
    assert {k: v for k, v in result.summary["<lambda>"].items() if k != "scores"} == {
        "longest_response": 2,
        "zero": 0.0,
    }
    with pytest.raises(UnknownNameError, match="Did you mean 'longest'"):
        evaluate(lambda example: "a", examples, [Exact()], metrics=["longes"], progress=False)
    with pytest.raises(ConfigurationError, match="is not a metric"):
        evaluate(lambda example: "a", examples, [Exact()], metrics=[object()], progress=False)  # type: ignore[list-item]


def test_a_blocked_metric_that_is_named_is_an_error(lengths: Path, context_bench: Call) -> None:
    done = context_bench(*RUN, "--metrics", "longest", "-p", "no:longest")
    assert (done.code, "is blocked" in done.err) == (2, True)
    assert PluginError.exit_code == 2


def test_what_an_absent_package_said_is_shown_and_its_absence_told(
    lengths: Path, context_bench: Call, site: Any
) -> None:
    before = context_bench(*RUN, "--add-metric", "longest", "-o", "r.json")
    for path in [lengths, *site.folder.glob("acme_lengths-*")]:
        shutil.rmtree(path)
    again = context_bench("report", "r.sqlite", "-o", "again.json")
    assert again.code == 0, again.err
    assert "acme-lengths/longest is not installed" in again.words
    assert "longest answer" in before.out
    assert "longest answer" in again.out
    told = json.loads(Path("again.json").read_text())
    assert told["summary"] == json.loads(Path("r.json").read_text())["summary"]
    assert any("acme-lengths/longest" in line for line in told["warnings"])


def test_the_metrics_of_objects_are_told_again_as_they_were(
    tmp_path: Path, context_bench: Call
) -> None:
    class Odd:
        name = "odd"

        def compute(self, rows: Any) -> dict[str, float]:
            return {"odd_rows": float(len(list(rows)) % 2), "never": float("inf")}

    file = tmp_path / "objects.sqlite"
    evaluate(
        lambda example: "a", [{"question": "q"}], [], metrics=[Odd()], run_file=file, progress=False
    )
    done = context_bench("report", str(file), "--format", "json")
    assert done.code == 0, done.err
    assert "given to evaluate() as an object" in done.words
    [values] = json.loads(done.out)["summary"].values()
    assert (values["odd_rows"], values["never"]) == (1.0, None)


def test_evaluate_stores_what_its_metrics_looked_at(tmp_path: Path, context_bench: Call) -> None:
    class Two:
        name = "two"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"score": 0.3, "recall": 0.2}

    file = tmp_path / "two.sqlite"
    result = evaluate(
        lambda example: "a",
        [{"question": "q"}],
        [Two()],
        score_field="recall",
        threshold=0.1,
        run_file=file,
        progress=False,
    )
    again = json.loads(context_bench("report", str(file), "--format", "json").out)
    [values] = again["summary"].values()
    assert values["mean_score"] == result.summary["<lambda>"]["mean_score"] == 0.2
    assert values["pass_rate"] == 1.0


def test_every_row_is_in_csv_with_its_scores_whatever_metrics_there_are(
    lengths: Path, context_bench: Call
) -> None:
    done = context_bench(*RUN, "--metrics", "longest", "--format", "csv")
    assert [line["exact"] for line in csv.DictReader(io.StringIO(done.out))] == ["1.0"] * 4
