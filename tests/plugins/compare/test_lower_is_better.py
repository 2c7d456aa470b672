"""Scores of which less is better, or neither, their ranges open or closed, in verdicts, gates, ratios, ranks and reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.cli import execute
from context_bench.runs import open_run
from context_bench_compare.gates import parse_gate
from context_bench_compare.gating import judge

MANIFEST = """
    schema = 1
    api = "1.0"

    [evaluators.acme-errors]
    summary = "How many words are wrong"
    class = "Errors"
    primary = "errors"
    version = "1"
    needs = { original = ["answer"], processed = ["response"] }

    [evaluators.acme-errors.scores]
    errors = { range = [0, "inf"], better = "lower" }
    error_share = { better = "lower" }
    words = { range = [0, "inf"], better = "neither" }

    [evaluators.acme-right]
    summary = "Whether no word is wrong"
    class = "Right"
    primary = "right"
    version = "1"
    needs = { original = ["answer"], processed = ["response"] }
    wire = [{ datasets = ["marked"] }]

    [evaluators.acme-right.scores]
    right = { better = "higher" }

    [evaluators.acme-marks]
    summary = "How many words are wrong"
    class = "Marks"
    primary = "marks"
    version = "1"
    needs = { original = ["answer"], processed = ["response"] }
    wire = [{ datasets = ["counted"] }]

    [evaluators.acme-marks.scores]
    marks = { range = [0, "inf"], better = "lower" }
"""
CODE = """
    class Errors:
        name = "acme-errors"

        def score(self, original, processed):
            wrong = float(processed["response"].count("x"))
            return {"errors": wrong, "error_share": min(1.0, wrong / 4), "words": 7.0 + wrong}

    class Right:
        name = "acme-right"

        def score(self, original, processed):
            return {"right": float("x" not in processed["response"])}

    class Marks:
        name = "acme-marks"

        def score(self, original, processed):
            return {"marks": float(processed["response"].count("x"))}
"""


class Writer:
    """Makes so many errors in every row, and one more in some of them."""

    def __init__(self, name: str, errors: int) -> None:
        self.name, self._errors = name, errors

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 10 + 5 * self._errors, "completion_tokens": 5}
        return {"response": "x" * (self._errors + int(example["id"]) % 2), "usage": usage}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the evaluators, which is on the path."""
    site = tmp_path_factory.mktemp("site")
    metadata, package = site / "acme_errors-1.0.dist-info", site / "acme_errors"
    for folder in (metadata, package):
        folder.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-errors\nVersion: 1.0\n")
    names = "acme-errors = acme_errors:Errors\nacme-right = acme_errors:Right\nacme-marks = acme_errors:Marks\n"
    (metadata / "entry_points.txt").write_text(f"[context_bench.evaluators]\n{names}")
    (package / "__init__.py").write_text(dedent(CODE))
    (package / "context_bench_plugin.toml").write_text(dedent(MANIFEST))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        yield site


@pytest.fixture(scope="module")
def result(site: Path) -> EvalResult:
    """The run of a careful system and a sloppy one."""
    examples = [{"id": str(number), "question": "q", "answer": "a"} for number in range(60)]
    systems = [Writer("careful", 0), Writer("sloppy", 3)]
    options: dict[str, Any] = {"progress": False, "baseline": "careful", "threshold": 1.0}
    return evaluate(systems, examples, ["acme-errors"], run_file=site / "run.sqlite", **options)


@pytest.fixture
def told(result: EvalResult, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return what ``compare`` says of the run."""

    def call(*arguments: str, code: int = 0) -> Any:
        assert execute(["compare", str(result.config["run_file"]), *arguments, "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return call


@pytest.mark.parametrize("metric", ["errors", "error_share", "score"])
def test_whoever_makes_more_errors_is_worse(told: Any, metric: str) -> None:
    [line] = told("-m", metric, "--threshold", "0.5")["comparisons"]
    assert (line["system"], line["verdict"]) == ("sloppy", "worse")
    assert (line["improved"]["count"], line["regressed"]["count"]) == (
        0,
        30 if metric != "error_share" else 60,
    )


@pytest.mark.parametrize(
    ("gate", "threshold", "states"),
    [
        ("pass_rate:min=0.8", "1", {"careful": "passed", "sloppy": "failed"}),
        ("pass_rate:max=0.1", "1", {"careful": "failed", "sloppy": "passed"}),
        ("pass_rate:max=0.6", "3", {"careful": "failed", "sloppy": "inconclusive"}),
        ("pass_rate:max-drop=10pp", "1", {"sloppy": "failed"}),
        ("pass_rate:max-drop=10pp", "4", {"sloppy": "passed"}),
    ],
)
def test_a_row_passes_a_gate_that_stays_at_or_below_the_threshold(
    told: Any, gate: str, threshold: str, states: dict[str, str]
) -> None:
    gates = told(
        "--gate", gate, "--threshold", threshold, code=10 if "failed" in states.values() else 0
    )["gates"]
    assert [one["state"] for one in gates] == list(states.values())


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({}, [1.0, 0.0]),
        ({"threshold": 3.0}, [1.0, 0.5]),
        ({"score_field": "error_share", "threshold": 0.0}, [0.5, 0.0]),
    ],
    ids=["as in the run", "another threshold", "another score"],
)
def test_a_gate_counts_the_rows_that_pass_as_the_metrics_of_the_run_do(
    result: EvalResult, options: dict[str, Any], shares: list[float], tmp_path: Path
) -> None:
    systems, path = [Writer("careful", 0), Writer("sloppy", 3)], tmp_path / "run.sqlite"
    examples = [{"id": str(number), "question": "q", "answer": "a"} for number in range(60)]
    asked: dict[str, Any] = {"progress": False, "run_file": path, "threshold": 1.0, **options}
    found = evaluate(systems, examples, ["acme-errors"], **asked)
    assert [found.summary[name]["pass_rate"] for name in ("careful", "sloppy")] == shares
    with open_run(path) as run:
        outcomes = judge(run, parse_gate("pass_rate:min=0"), ("careful", "sloppy"))
    told = [outcome.sentence.split(" is ")[1].split(",")[0] for outcome in outcomes]
    assert [float(share) for share in told] == shares


def test_flips_are_counted_at_the_threshold_of_the_run(told: Any) -> None:
    [line] = told("-m", "errors")["comparisons"]
    assert (line["improved"]["count"], line["regressed"]["count"]) == (0, 60)


def test_the_metrics_of_a_run_count_and_rank_by_the_direction(result: EvalResult) -> None:
    careful, sloppy = (result.summary[name] for name in ("careful", "sloppy"))
    assert (careful["pass_rate"], sloppy["pass_rate"]) == (1.0, 0.0)
    assert (careful["num_passing"], sloppy["num_passing"]) == (60, 0)
    assert (careful["pareto_rank"], sloppy["pareto_rank"]) == (1, 2)
    assert result.config.get("warnings", []) == []


def test_a_score_of_which_neither_more_nor_less_is_better_has_no_verdict(told: Any) -> None:
    [line] = told("-m", "words")["comparisons"]
    assert (line["verdict"], line["difference"]) == ("inconclusive", 3.0)
    assert line["sentence"].endswith("neither more nor less of it is better")
    assert (line["improved"]["count"], line["regressed"]["count"]) == (0, 0)
    [equal] = told("-m", "words", "--margin", "4")["comparisons"]
    assert equal["verdict"] == "equivalent"


@pytest.fixture(scope="module")
def mixed(site: Path) -> EvalResult:
    """A run over a dataset of whose primary score more is better, and one of whose primary score less is."""
    examples = [{"id": str(number), "question": "q", "answer": "a"} for number in range(60)]
    systems = [Writer("careful", 0), Writer("sloppy", 3)]
    datasets = {"marked": examples, "counted": examples}
    options: dict[str, Any] = {"progress": False, "baseline": "careful", "threshold": 1.0}
    return evaluate(systems, datasets=datasets, run_file=site / "mixed.sqlite", **options)


def test_a_primary_of_both_directions_is_compared_by_dataset_and_not_as_a_whole(
    mixed: EvalResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["compare", str(mixed.config["run_file"]), "--by", "dataset", "--json"]) == 0
    lines = {line["slice"]: line for line in json.loads(capsys.readouterr().out)["comparisons"]}
    assert [line["verdict"] for line in lines.values()] == ["inconclusive", "worse", "worse"]
    whole = next(iter(lines.values()))
    assert "on some datasets" in whole["sentence"]
    assert not whole["macro"]


def test_a_dataset_that_is_called_all_speaks_for_itself_alone(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = [{"id": str(number), "question": "q", "answer": "a"} for number in range(60)]
    path = site / "called-all.sqlite"
    datasets = {"marked": examples, "counted": examples, "all": examples}
    evaluate(
        [Writer("careful", 0), Writer("sloppy", 3)],
        datasets=datasets,
        run_file=path,
        progress=False,
    )
    assert execute(["compare", str(path), "--json"]) == 0
    [line] = json.loads(capsys.readouterr().out)["comparisons"]
    assert line["rows"] == 180
    assert "on some datasets" in line["sentence"]


def test_a_primary_of_both_directions_gives_no_rank(mixed: EvalResult) -> None:
    assert ["pareto_rank" in mixed.summary[name] for name in ("careful", "sloppy")] == [
        False,
        False,
    ]
    assert [mixed.summary[name]["pass_rate"] for name in ("careful", "sloppy")] == [0.75, 0.0]


def test_a_page_marks_each_row_by_the_direction_of_its_own_dataset(mixed: EvalResult) -> None:
    side_by_side = pytest.importorskip(
        "context_bench_html.side_by_side", reason="context-bench-html draws the page"
    )
    found = side_by_side.side_by_side(mixed.rows, ["careful", "sloppy"], "careful")
    assert (found.better, found.directions) == ("mixed", {"marked": "higher", "counted": "lower"})
    improved = [line for line, state in enumerate(found.states) if state & side_by_side.IMPROVED]
    regressed = [line for line, state in enumerate(found.states) if state & side_by_side.REGRESSED]
    assert (improved, len(regressed)) == ([], 90)
