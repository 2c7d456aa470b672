"""Reports of one result, held against files that a person can read: ``tests/core/golden``.

Three systems on two datasets: the baseline, a proxy that drops usage and waits, and one that is dead after two rows.
``python tests/core/test_golden_reports.py`` writes the files anew; look at them before you commit them.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import build
from context_bench.records import BaselineRow, EvalRow, Failure, KeyMeaning, Usage
from context_bench.reporters import JsonReporter, TableReporter
from context_bench.results.registry import metrics_for
from context_bench.results.result import EvalResult

GOLDEN = Path(__file__).parent / "golden"
KEYS = {
    "f1": KeyMeaning("acme/words"),
    "recall": KeyMeaning("acme/words"),
    "quality": KeyMeaning("acme/judge"),
}
SYSTEMS = ("direct", "gateway", "dead")
REPORTS = {
    "table.txt": TableReporter(),
    "brief.txt": TableReporter(brief=True),
    "narrow.txt": TableReporter(),
    "report.json": JsonReporter(),
}
USUAL = ("context-bench", "context-bench-compare", "context-bench-efficiency")
OF_PACKAGES = {"report.md": "markdown", "report.csv": "csv"}


def rows() -> list[EvalRow]:
    """Return six rows of each system, in canonical order."""
    return [row(system, number) for number in range(6) for system in SYSTEMS]


def row(system: str, number: int) -> EvalRow:
    common = {
        "dataset": "calls" if number < 3 else "mail",
        "primary": "f1",
        "keys": KEYS,
        "position": number,
        "system_number": SYSTEMS.index(system),
        "input_tokens": 100,
        "baseline": BaselineRow(120, 0.002),
    }
    if system == "dead" and number >= 2:
        failure = Failure("system", "ConnectionError", "refused", attempts=3)
        return EvalRow(system, str(number), {}, errors=(failure,), latency=0.5, **common)
    f1 = {"direct": 0.75, "gateway": 0.5, "dead": 1.0}[system]
    usage = (
        None if system == "gateway" else Usage(120 if system == "direct" else 60, 10, cost=0.002)
    )
    waits = {"waiting": 2.0, "attempt_latency": 0.02} if system == "gateway" else {}
    return EvalRow(
        system,
        str(number),
        {"f1": f1, **({"recall": 1.0} if number % 2 else {})},
        unscored={"acme/judge": "the reply is no verdict"},
        response=f"=answer {number}",
        response_tokens=10,
        latency=0.02 * (number + 1),
        usage=usage,
        cost=None if usage is None else usage.cost,
        metadata=waits,
        attempts=3 if system == "gateway" else 1,
        **common,  # type: ignore[arg-type]
    )


def result() -> EvalResult:
    config = {
        "systems": list(SYSTEMS),
        "datasets": ["calls", "mail"],
        "baseline": "direct",
        "num_examples": 6,
    }
    usual = [c.id for c in discover().of_kind("metrics") if c.distribution.name in USUAL]
    return EvalResult(rows(), metrics_for(discover(), usual), {}, config)


def reporter(name: str) -> Any:
    """Return what writes a golden file; Markdown and CSV come from a package."""
    if name in OF_PACKAGES:
        pytest.importorskip("context_bench_reports")
        return build(discover().find("reporters", OF_PACKAGES[name]), {})
    return REPORTS[name]


def written(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "40" if name == "narrow.txt" else "80")
    stream = io.StringIO()
    reporter(name).write(result(), stream)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


@pytest.mark.parametrize("name", [*REPORTS, *OF_PACKAGES])
def test_a_report_equals_its_golden_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("context_bench_compare", reason="it ranks the systems")
    pytest.importorskip("context_bench_efficiency", reason="it adds up tokens and seconds")
    assert written(name, monkeypatch) == (GOLDEN / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    for report in (*REPORTS, *OF_PACKAGES):
        with pytest.MonkeyPatch.context() as patch:
            (GOLDEN / report).write_text(written(report, patch), encoding="utf-8")
