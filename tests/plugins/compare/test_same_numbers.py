"""One run, told by the table of its metrics and by `compare`: where both name a number, it is the same number."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import UnknownNameError
from context_bench.metrics import Columns, MeanScore, PassRate
from context_bench.runs import open_run
from context_bench_compare.columns import read_columns
from context_bench_compare.comparing import overview
from context_bench_compare.gates import FAILED, parse_gate
from context_bench_compare.gating import judge
from context_bench_compare.verdicts import Rules
from context_bench_efficiency import CostOfPass

pytest.importorskip(
    "context_bench_answer_quality", reason="the rows of these runs are scored by it"
)

COUNT = 120


class Reader:
    """Answers at random, keeps some of the context, and fails on some rows with and without a gold answer."""

    def __init__(self, name: str, right: float, broken: int = 0) -> None:
        self.name, self._right, self._broken = name, right, broken

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        number = example["number"]
        if self._broken and number % self._broken == 1:
            raise ConnectionError("refused")
        drawn = random.Random(f"{self.name} {number}")
        return {
            "response": f"alpha {number}" if drawn.random() < self._right else "no idea",
            "context": " ".join(example["context"].split()[: drawn.randrange(10, 40)]),
            "usage": {
                "input_tokens": 250 + drawn.randrange(50),
                "output_tokens": 5,
                "cost": 1e-4 * drawn.randrange(9),
            },
        }


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    path = tmp_path_factory.mktemp("run") / "r.sqlite"
    examples = [
        {
            "id": f"q{number}",
            "number": number,
            "question": f"what {number}",
            "context": "word " * 60,
            "dataset": ("calls", "mail")[number % 2],
            **({"answer": f"alpha {number}"} if number % 5 else {}),
        }
        for number in range(COUNT)
    ]
    systems = [Reader("direct", 0.8), Reader("half", 0.6, broken=17)]
    found = evaluate(
        systems, examples, ["answer-quality"], run_file=path, baseline="direct", progress=False
    )
    return dict(found.summary), path


def test_the_mean_is_that_of_the_rows_that_can_be_scored_whether_or_not_the_system_failed(
    summary: Any,
) -> None:
    """A row without a gold answer on which a system failed counted as wrong, and as unscored where it did not fail."""
    told, path = summary
    with open_run(path) as run:
        [line] = overview([run], ["score"], Rules(), "direct").lines
        rows = [row for row in run.rows() if row.system == "half"]
    assert line.found.rows == COUNT * 4 // 5
    assert line.found.unmatched == 0
    assert told["half"]["mean_score"] == pytest.approx(line.found.mean, abs=1e-12)
    assert told["direct"]["mean_score"] == pytest.approx(line.found.baseline_mean, abs=1e-12)
    assert {row.score for row in rows if row.failed and row.position % 5} == {0.0}
    assert {row.score for row in rows if row.failed and not row.position % 5} == {None}
    assert {
        one["n"]
        for one in told["half"]["scores"]["context-bench-answer-quality/answer-quality"].values()
    } == {96}
    counts = [told["half"][f"num_{name}"] for name in ("scored", "unscored", "failed")]
    assert sum(counts) == told["half"]["num_rows"] == COUNT


def test_what_a_pass_takes_leaves_out_the_rows_that_cannot_pass(summary: Any) -> None:
    told, path = summary
    with open_run(path) as run:
        rows = [row for row in run.rows() if row.system == "direct"]
    spent = sum(
        row.prompt_tokens + row.usage.output_tokens for row in rows if row.score is not None
    )
    assert told["direct"]["cost_of_pass"] == pytest.approx(spent / told["direct"]["num_passing"])
    columns = Columns.of(rows)
    assert CostOfPass().compute_columns(columns)["cost_of_pass"] == pytest.approx(
        told["direct"]["cost_of_pass"]
    )
    assert MeanScore().compute_columns(columns)["mean_score"] == pytest.approx(
        told["direct"]["mean_score"]
    )
    assert PassRate().compute_columns(columns)["pass_rate"] == pytest.approx(
        told["direct"]["pass_rate"]
    )


def test_the_ratios_of_a_comparison_are_those_of_the_table(summary: Any) -> None:
    """Prompt tokens that an endpoint reports, by the words of the context, were told as what a compressor puts out."""
    pytest.importorskip("context_bench_cost", reason="the price of a pass is its metric")
    told, path = summary
    with open_run(path) as run:
        ratios = {
            ratio.name: ratio for ratio in overview([run], ["score"], Rules(), "direct").ratios
        }
    assert ratios["compression"].value == pytest.approx(1 - told["half"]["compression_ratio"])
    assert ratios["cost_per_pass"].value == pytest.approx(told["half"]["price_of_pass"])


def test_rows_without_a_gold_answer_have_what_they_took_and_no_score_of_their_own(
    tmp_path: Path,
) -> None:
    """What agrees with the reference is no right answer; a sum of costs without these rows met its gate by mistake."""
    pytest.importorskip(
        "context_bench_agreement", reason="the reference stands in for gold answers by it"
    )
    examples = [
        {
            "id": f"q{number}",
            "number": number,
            "question": "what",
            "context": "word " * 60,
            "dataset": "mail",
        }
        | ({"answer": f"alpha {number}"} if number % 2 else {})
        for number in range(40)
    ]
    path = tmp_path / "r.sqlite"
    with pytest.warns(UserWarning, match="asked twice"):
        evaluate(
            [Reader("direct", 0.8), Reader("half", 0.6)],
            examples,
            ["answer-quality"],
            run_file=path,
            baseline="direct",
            reference_from="direct",
            progress=False,
        )
    with open_run(path) as run:
        costs = [row.cost for row in run.rows() if row.system == "half"]
        [outcome] = judge(run, parse_gate(f"cost:max={sum(costs) * 0.99}"), ["half"])
        columns = read_columns(run, ["score", "cost"])
        assert len(columns["half", "cost"].values) == 40
        assert len(columns["half", "score"].values) == 20
        assert outcome.state == FAILED
        with pytest.raises(UnknownNameError):
            read_columns(run, ["agreement_f1"])
