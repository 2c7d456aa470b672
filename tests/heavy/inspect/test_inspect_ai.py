"""What calls inspect_ai: sample for sample the scores that it logged, and `.eval` logs read by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench
from context_bench.errors import ConfigurationError, DatasetError
from context_bench_inspect import InspectReplay, InspectScorer, inspect_log
from context_bench_inspect.recorded import number_of

DATA = Path(__file__).parents[2] / "plugins" / "inspect" / "data"
CASES = [
    ("capitals", "match", ()),
    ("capitals", "includes", ()),
    ("capitals", "f1", ()),
    ("capitals", "exact", ()),
    ("capitals", "pattern", (r"pattern=capital is (\w+)",)),
    ("epochs", "match", ()),
    ("epochs", "f1", ()),
    ("colours", "choice", ()),
]


@pytest.mark.parametrize(("log", "scorer", "args"), CASES)
def test_every_sample_has_the_score_that_was_logged(
    log: str, scorer: str, args: tuple[str, ...]
) -> None:
    evaluator = InspectScorer(scorer, args=args)
    rows = list(inspect_log(path=DATA / f"{log}.eval"))
    assert len(rows) > 2
    for example in rows:
        output = InspectReplay().process(example)
        scores = evaluator.score(example, output)
        assert scores["inspect_score"] == number_of(output["recorded_scores"][scorer])


@pytest.mark.parametrize("log", ["capitals", "colours", "epochs"])
def test_both_formats_give_the_same_rows(log: str) -> None:
    def comparable(path: Path) -> dict[str, dict[str, Any]]:
        rows = list(inspect_log(path=path))
        changing = ("latency", "usage")
        return {row["id"]: {k: v for k, v in row.items() if k not in changing} for row in rows}

    rows = comparable(DATA / f"{log}.eval")
    assert rows == comparable(DATA / f"{log}.json")
    assert rows


def test_run_of_an_eval_log_has_inspects_number(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(DATA / "capitals.eval"), header_only=True)
    own = log.results.scores[0].metrics["accuracy"].value
    result = context_bench.evaluate(
        systems=["inspect-replay"],
        dataset=f"inspect-log,path={DATA / 'capitals.eval'}",
        evaluators=[InspectScorer("match")],
        score_field="inspect_score",
        run_file=tmp_path / "run.sqlite",
    )
    assert result.summary["inspect-replay"]["mean_score"] == pytest.approx(own, abs=1e-12)


@pytest.mark.parametrize(
    "value", ["C", "I", "P", "N", "yes", "No", "TRUE", "false", "0.25", 3, 0.5, True, False]
)
def test_numbers_of_values_are_inspects(value: Any) -> None:
    from inspect_ai.scorer import value_to_float

    assert number_of(value) == value_to_float()(value)


@pytest.mark.parametrize(
    ("scorer", "args", "answer", "response", "score"),
    [
        ("match", (), "7", "It is 7", 1.0),
        ("match", ("location=begin",), "7", "It is 7", 0.0),
        ("match", ("numeric=true",), "1000", "It costs $1,000", 1.0),
        ("includes", ("ignore_case=false",), "Paris", "in paris", 0.0),
        ("answer", ("pattern=line",), "Paris", "Well.\nANSWER: Paris", 1.0),
        ("f1", (), "the cat sat", "a cat sat down", 0.8),
    ],
)
def test_scorers_take_their_arguments(
    scorer: str, args: tuple[str, ...], answer: str, response: str, score: float
) -> None:
    evaluator = InspectScorer(scorer, args=args)
    assert evaluator.score({"answer": answer}, {"response": response})["inspect_score"] == score


def test_choice_is_unscored_without_choices_and_letters() -> None:
    evaluator = InspectScorer("choice")
    assert evaluator.score({"correct_letter": "A"}, {"response": "ANSWER: A"}) == {}
    assert evaluator.score({"choices": ["a", "b"]}, {"response": "ANSWER: A"}) == {}


def test_wrong_arguments_are_an_error_that_names_the_scorer() -> None:
    with pytest.raises(ConfigurationError, match="pattern needs args=pattern"):
        InspectScorer("pattern").score({"answer": "a"}, {"response": "a"})
    with pytest.raises(ConfigurationError, match=r"match: .*nonsense"):
        InspectScorer("match", args=["nonsense=1"]).score({"answer": "a"}, {"response": "a"})


def test_damaged_eval_log_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.eval"
    path.write_bytes((DATA / "capitals.eval").read_bytes()[:9000])
    with pytest.raises(DatasetError, match=r"cut\.eval"):
        list(inspect_log(path=path))


def test_conformance_check_calls_the_evaluator() -> None:
    command = ["plugins", "check", "context-bench-inspect", "--run"]
    done = subprocess.run(
        [sys.executable, "-m", "context_bench", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not called" not in done.stdout
