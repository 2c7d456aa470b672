"""Markdown and CSV: equal to what a person can read, and no cell leaves its place."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.metrics import Counts, MeanScore, PerDatasetBreakdown
from context_bench.protocols import Reporter
from context_bench.records import EvalRow, Failure, KeyMeaning
from context_bench.results.result import EvalResult
from context_bench_reports import CsvReporter, MarkdownReporter

NASTY = 'a|b\\`<script>alert(1)</script>\n\x1b[31m"q" 日本 \ud800'


class Pace:
    """A metric with an infinite value, with seconds, and with a value that a terminal's table leaves out."""

    name = "pace"
    values: ClassVar = {
        "tokens_each": {"heading": "tokens each", "format": "number", "order": 80},
        "fastest": {"heading": "fastest", "format": "seconds", "order": 100},
        "slowest": {"heading": "slowest", "format": "seconds", "order": 220, "detail": True},
    }

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        seconds = [row.latency for row in rows if not row.failed]
        return {"tokens_each": math.inf, "fastest": min(seconds), "slowest": max(seconds)}


def result(system: str = "plain") -> EvalResult:
    meaning = {"f1": KeyMeaning("d/e")}
    rows = [
        EvalRow(system, "1", {"f1": 0.5}, 10, latency=0.25, dataset="one", response="=1+1", primary="f1", keys=meaning),
        EvalRow(system, NASTY, {"f1": 0.0, "latency": 3.0}, 10, latency=0.5, dataset="two", response=NASTY, primary="f1", keys=meaning),
        EvalRow(system, "3", {}, 10, dataset="two", primary="f1", keys=meaning, errors=(Failure("system", "E", "late"),)),
        EvalRow(system, "4", {}, 10, latency=0.1, dataset="two", primary="f1", keys=meaning, unscored={"d/e": "no answer"}),
    ]  # fmt: skip
    metrics = [Counts(), MeanScore(), Pace(), PerDatasetBreakdown()]
    return EvalResult(
        rows,
        metrics,
        {"seconds": 1.5},
        {"datasets": ["one", "two"], "num_examples": 4, "evaluators": ["d/e"]},
    )


def written(reporter: Reporter, what: EvalResult) -> str:
    stream = io.StringIO()
    reporter.write(what, stream)
    return stream.getvalue()


MARKDOWN = """# context-bench result

| system | score | one | two | tokens each | fastest | rows | unscored | failed | scored | slowest |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| plain | 0.1667 | 0.5000 | 0.0000 | never | 100.0 ms | 4 | 1 | 1 | 2 | 500.0 ms |

| score | by | plain | unscored |
| --- | --- | ---: | ---: |
| latency |  | 3.0000 | 2 |

score is f1; failed rows count as wrong, unscored rows are left out.

Unscored: no answer (1).

4 examples, 4 rows, 1.50 s. Evaluators: d/e.
"""


def test_markdown_equals_the_expected_page() -> None:
    assert written(MarkdownReporter(), result()) == MARKDOWN


def test_markdown_cells_cannot_break_the_table_or_become_html() -> None:
    lines = written(MarkdownReporter(), result(NASTY)).splitlines()
    body = [line for line in lines if line.startswith("| a")]
    assert len(body) == 1
    assert body[0].replace("\\|", "").count("|") == lines[2].count("|")
    assert "<script>" not in body[0]


@pytest.mark.parametrize(
    "text", ["[more](http://other)", "![](http://other/x.png)", "[a]: http://other"]
)
def test_markdown_shows_no_link_or_image_of_the_data(text: str) -> None:
    page = written(MarkdownReporter(), result(text))
    assert page.count(text.replace("[", "\\[")) == page.replace("\\[", "[").count(text) > 0


def test_csv_reads_back_and_no_cell_is_a_formula() -> None:
    lines = list(csv.DictReader(io.StringIO(written(CsvReporter(), result()))))
    assert len(lines) == 4
    assert lines[0]["response"] == "'=1+1"
    assert (lines[1]["latency"], lines[1]["score:latency"]) == ("0.5", "3.0")
    assert "late" in lines[2]["error"]


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\nx",
    "\ufeff=1",
    " =1",
    "\u00a0+1",
    "\n=1",
    "＝1",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_has_no_formula_in_a_cell_or_a_heading(text: str) -> None:
    """The keys of the scores are the headings, and they come from whoever wrote the evaluator."""
    row = EvalRow(text, "1", {text: 0.5}, 10, response=text, primary=text)
    lines = csv.reader(
        io.StringIO(written(CsvReporter(), EvalResult([row], [Counts()], {}, {})), newline="")
    )
    heading, line = lines
    assert (
        heading[-1]
        == line[heading.index("response")]
        == line[heading.index("system")]
        == f"'{text}"
    )
    assert float(line[-1]) == 0.5


@pytest.mark.parametrize("text", ["1", "a=1", "x-1", "", "日本", "'=1"])
def test_csv_leaves_a_cell_that_is_no_formula(text: str) -> None:
    row = EvalRow("plain", "1", {"f1": 0.5}, 10, response=text, primary="f1")
    [line] = csv.DictReader(
        io.StringIO(written(CsvReporter(), EvalResult([row], [Counts()], {}, {})), newline="")
    )
    assert line["response"] == text


def test_csv_begins_no_line_within_a_cell() -> None:
    """A bare carriage return would end the line, and what follows would be a cell of its own."""
    row = EvalRow("plain", "1", {"f1": 0.5}, 10, response="a\r=1+1", primary="f1")
    text = written(CsvReporter(), EvalResult([row], [Counts()], {}, {}))
    assert '"a\r=1+1"' in text
    assert text.endswith("\n")
    assert "\r\n" not in text


def test_a_report_for_a_file_is_found_by_its_suffix(tmp_path: Path) -> None:
    run = tmp_path / "run.sqlite"
    evaluate(
        lambda example: "a", [{"id": "q", "answer": "a"}], [Same()], progress=False, run_file=run
    )
    page, table = tmp_path / "page.md", tmp_path / "rows.csv"
    assert execute(["report", str(run), "-o", str(page), "-o", str(table), "--format", "none"]) == 0
    assert page.read_text(encoding="utf-8").startswith(
        "# context-bench result\n\n| system | score |"
    )
    [row] = csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))
    assert (row["example_id"], row["same"]) == ("q", "1.0")


class Same:
    name = "same"

    def score(self, original: dict[str, str], processed: dict[str, str]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


def test_no_page_carries_escape_sequences_of_the_data() -> None:
    assert "\x1b[31m" not in written(MarkdownReporter(), result(NASTY))
