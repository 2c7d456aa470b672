"""Two recorded model outputs on the same items: code-davinci-002 on BIG-Bench Hard, answering at once and step by step.

The outputs are those of Suzgun et al. (2022). Means, flips and p-values of ``compare`` are held against the published
accuracies, and against counts and scipy's test computed here from the files.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from context_bench import evaluate
from context_bench.cli import execute

TASKS = {
    "boolean_expressions": (92.8, 88.4),
    "date_understanding": (87.2, 63.6),
    "disambiguation_qa": (76.0, 67.2),
}
"""Published accuracy, step by step and at once."""


class Recorded:
    """Answers what the model answered."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example[self.name]}


def is_right(prediction: str, target: str) -> bool:
    """Whether the benchmark calls a prediction right: its first line, after "the answer is" where it says so."""
    answer = prediction.split("\n\n")[0].strip().split("\n")[-1]
    answer = answer.split("the answer is")[-1].strip().removesuffix(".").strip()
    return answer == target.strip()


class Exact:
    """Scores as the benchmark does."""

    name = "exact"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"exact": float(is_right(processed["response"], original["answer"]))}


@pytest.fixture(scope="module")
def items(shared: Callable[[str], Path]) -> list[dict[str, Any]]:
    found = []
    for task in TASKS:
        steps, direct = (
            json.loads(
                gzip.decompress(shared(f"data/outputs/bbh-codex-{how}/{task}.json.gz").read_bytes())
            )["outputs"]
            for how in ("cot", "direct")
        )
        assert [one["target"] for one in steps] == [one["target"] for one in direct]
        found += [
            {
                "id": f"{task}-{n}",
                "dataset": task,
                "answer": a["target"],
                "cot": a["prediction"],
                "direct": b["prediction"],
            }
            for n, (a, b) in enumerate(zip(steps, direct))
        ]
    return found


@pytest.fixture(scope="module")
def told(items: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("published") / "pair.sqlite"
    evaluate(
        [Recorded("direct"), Recorded("cot")],
        items,
        [Exact()],
        progress=False,
        run_file=path,
        baseline="direct",
        score_field="exact",
    )
    out = path.with_suffix(".json")
    assert execute(["compare", str(path), "-m", "exact", "--by", "dataset", "-o", str(out)]) == 0
    return {
        line["slice"]: line for line in json.loads(out.read_text(encoding="utf-8"))["comparisons"]
    }


@pytest.mark.shared
@pytest.mark.parametrize("task", TASKS)
def test_the_published_accuracies_come_out(told: dict[str, Any], task: str) -> None:
    line = told[f"dataset={task}"]
    assert (round(100 * line["mean"], 1), round(100 * line["baseline_mean"], 1)) == TASKS[task]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["all", *(f"dataset={task}" for task in TASKS)])
def test_flips_and_p_values_are_those_of_scipy(
    told: dict[str, Any], items: list[dict[str, Any]], name: str
) -> None:
    chosen = [one for one in items if name in ("all", f"dataset={one['dataset']}")]
    pairs = [
        (is_right(one["cot"], one["answer"]), is_right(one["direct"], one["answer"]))
        for one in chosen
    ]
    improved, regressed = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    line = told[name]
    assert line["rows"] == len(chosen)
    assert (line["improved"]["count"], line["regressed"]["count"]) == (improved, regressed)
    assert line["p_value"] == pytest.approx(
        stats.binomtest(improved, improved + regressed).pvalue
        - stats.binom.pmf(improved, improved + regressed, 0.5),
        rel=1e-9,
    )


@pytest.mark.shared
def test_the_macro_average_is_that_of_the_published_accuracies(told: dict[str, Any]) -> None:
    steps, direct = (sum(pair[place] for pair in TASKS.values()) / len(TASKS) for place in (0, 1))
    macro = told["all"]["macro"]
    assert 100 * macro["mean"] == pytest.approx(steps, abs=0.05)
    assert 100 * macro["baseline_mean"] == pytest.approx(direct, abs=0.05)


@pytest.mark.shared
def test_the_verdict_is_that_steps_help(told: dict[str, Any]) -> None:
    assert told["all"]["verdict"] == "better"
