from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from statistics import median
from typing import ClassVar

import pytest

from context_bench.errors import ContextBenchError
from context_bench.metrics import Counts, MeanScore, PerDatasetBreakdown
from context_bench.plugins.catalog import Catalog
from context_bench.protocols import Reporter
from context_bench.records import EvalRow, Failure, KeyMeaning
from context_bench.reporters import JsonReporter, TableReporter
from context_bench.results.result import EvalResult

NASTY = 'a|b\\`<script>alert(1)</script>\n\x1b[31m"q" 日本 \ud800'


class Pace:
    """A metric with an infinite value and with seconds."""

    name = "pace"
    values: ClassVar = {
        "tokens_each": {"heading": "tokens each", "format": "number"},
        "seconds": {"heading": "p50", "format": "seconds"},
    }

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        return {"tokens_each": math.inf, "seconds": median(row.latency for row in rows)}


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


def below_verdict(text: str) -> str:
    """Return the tables of a report, without the line above them, which names systems too."""
    return text[text.index(" system ") :]


def test_json_is_strict_and_holds_every_row() -> None:
    told = json.loads(written(JsonReporter(), result(NASTY)), parse_constant=pytest.fail)
    assert len(told["rows"]) == 4
    [values] = told["summary"].values()
    assert values["tokens_each"] is None
    assert values["seconds"] == 0.175
    assert written(JsonReporter(), result(NASTY)).encode("utf-8")


@pytest.mark.parametrize("width", [0, 1, 30, 80, 200])
def test_the_table_is_complete_at_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = written(TableReporter(), result())
    for value in ("plain", "0.1667", "never", "175.0 ms", "failed"):
        assert value in text
    assert max(len(line.rstrip()) for line in text.splitlines() if "score is" not in line) <= max(
        width or 80, 30
    )


def several(labels: list[str]) -> EvalResult:
    """A result in which the first systems are better, dearer and slower than those behind them."""
    rows = [
        EvalRow(
            label,
            str(row),
            {"f1": 1.0 - number / 100},
            100 - number,
            latency=1.0 - number / 100,
            primary="f1",
        )
        for number, label in enumerate(labels)
        for row in range(2)
    ]
    metrics = [Counts(), MeanScore(), Pace()]
    return EvalResult(rows, metrics, {}, {"systems": labels, "evaluators": ["d/e"]})


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("count", [2, 5, 12])
def test_a_table_of_many_systems_breaks_no_name(
    width: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    labels = [f"bm25:ratio=0.{number:02}" for number in range(count)]
    text = below_verdict(written(TableReporter(), several(labels)))
    assert len({text.count(label) for label in labels}) == 1
    assert labels[0] in text
    assert text.count("system ") <= 4  # parts of the table
    assert max(map(len, text.splitlines()[:-1])) <= width


def test_twelve_systems_with_long_names_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    labels = [f"a compressor with a long name, setting {number}" for number in range(12)]
    lines = below_verdict(written(TableReporter(), several(labels))).splitlines()
    shown = [line.split("  ")[0].strip() for line in lines if line.strip().startswith("a compr")]
    assert len(set(shown)) == 12
    assert len(shown) <= 24
    assert all("…" in name for name in shown)


def test_a_reader_who_leaves_ends_no_process() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        TableReporter().write(result(), Gone())


def test_no_table_carries_escape_sequences_of_the_data() -> None:
    assert "\x1b[31m" not in written(TableReporter(), result(NASTY))


@pytest.mark.parametrize(
    ("method", "package"), [("compare", "context-bench-compare"), ("plot", "context-bench-html")]
)
def test_a_result_names_the_package_that_a_method_needs(
    monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    computed = result()
    monkeypatch.setattr("context_bench.plugins.discovery.discover", lambda: Catalog(()))
    with pytest.raises(ContextBenchError, match=package):
        getattr(computed, method)()
