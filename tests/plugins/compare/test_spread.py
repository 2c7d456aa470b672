"""The interval beside a mean, and what samples of a question say."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from context_bench import EvalResult, evaluate
from context_bench.results.reading import read_result
from context_bench_compare.below_table import verdicts


class Right:
    name = "right"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"right": float(processed["response"])}


class Scored:
    """Responds with the score that its row is to have, the next one of a list for each repetition."""

    name = "scored"

    def __init__(self, scores: dict[str, list[float]]) -> None:
        self.left = {name: list(values) for name, values in scores.items()}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": str(self.left[str(example["id"])].pop(0))}


def run(
    scores: list[list[float]], path: Path, documents: list[str] | None = None, **more: Any
) -> EvalResult:
    """Return a run of which each example has the given scores, one for each repetition."""
    rows = [
        {"id": str(number), "question": str(number), "answer": "1"}
        | ({} if documents is None else {"context": documents[number]})
        for number in range(len(scores))
    ]
    system = Scored({str(number): values for number, values in enumerate(scores)})
    return evaluate(
        [system],
        rows,
        [Right()],
        progress=False,
        run_file=path,
        repeat=len(scores[0]),
        max_workers=1,
        **more,
    )


def ends(result: EvalResult, key: str = "mean_score") -> tuple[float, float]:
    values = result.summary["scored"]
    return values[f"{key}_low"], values[f"{key}_high"]


def test_passes_of_single_rows_have_wilsons_interval(tmp_path: Path) -> None:
    result = run([[1.0]] * 37 + [[0.0]] * 13, tmp_path / "run.sqlite")
    expected = stats.binomtest(37, 50).proportion_ci(0.95, method="wilson")
    assert ends(result) == pytest.approx((expected.low, expected.high))
    assert ends(result, "pass_rate") == ends(result)


def test_graded_rows_have_students_interval(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0).uniform(0.2, 0.9, 40).round(3)
    result = run([[float(value)] for value in drawn], tmp_path / "run.sqlite")
    half = stats.t.ppf(0.975, 39) * stats.sem(drawn)
    assert ends(result) == pytest.approx((drawn.mean() - half, drawn.mean() + half))


@pytest.mark.parametrize("field", ["cluster", "session_id", "context"])
def test_rows_of_one_document_are_one_unit(tmp_path: Path, field: str) -> None:
    drawn = np.random.default_rng(1)
    documents = np.repeat(drawn.uniform(0.2, 0.8, 12), 5)
    scores = (documents + drawn.normal(0, 0.02, 60)).clip(0, 1).round(3)
    rows = [
        {"id": str(number), "question": str(number), "answer": "1", field: f"doc {number // 5}"}
        for number in range(60)
    ]
    system = Scored({str(number): [float(value)] for number, value in enumerate(scores)})
    result = evaluate([system], rows, [Right()], progress=False, run_file=tmp_path / "r.sqlite")
    means = scores.reshape(12, 5).mean(axis=1)
    half = stats.t.ppf(0.975, 11) * stats.sem(means)
    assert ends(result) == pytest.approx((means.mean() - half, means.mean() + half))
    again = read_result(tmp_path / "r.sqlite")
    assert ends(again) == ends(result)
    part = result.filter(lambda row: row.position < 40)
    means = means[:8]
    half = stats.t.ppf(0.975, 7) * stats.sem(means)
    assert ends(part) == pytest.approx((means.mean() - half, means.mean() + half))


def test_a_failed_row_stays_with_its_document(tmp_path: Path) -> None:
    class Failing(Scored):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            if int(example["id"]) < 5:
                raise ConnectionError("refused")
            return super().process(example)

    scores = {str(number): [0.5 + number / 200] for number in range(40)}
    rows = [
        {"id": str(number), "question": str(number), "answer": "1", "context": f"doc {number // 5}"}
        for number in range(40)
    ]
    path = tmp_path / "r.sqlite"
    result = evaluate([Failing(scores)], rows, [Right()], progress=False, run_file=path)
    values = np.array([0.0] * 5 + [scores[str(number)][0] for number in range(5, 40)])
    means = values.reshape(8, 5).mean(axis=1)
    half = stats.t.ppf(0.975, 7) * stats.sem(means)
    found = ends(result)
    assert found == pytest.approx((max(0.0, means.mean() - half), means.mean() + half))


def test_asking_again_makes_no_mean_surer(tmp_path: Path) -> None:
    drawn = random.Random(3)
    once = [[drawn.uniform(0.1, 0.9)] for _ in range(30)]
    alone = run(once, tmp_path / "once.sqlite")
    five = run([values * 5 for values in once], tmp_path / "five.sqlite")
    assert ends(five) == pytest.approx(ends(alone))


def test_few_rows_and_rows_of_no_run_file_have_no_interval(tmp_path: Path) -> None:
    few = run([[1.0]] * 5, tmp_path / "few.sqlite")
    assert "mean_score_low" not in few.summary["scored"]
    one = run([[1.0]] * 20, tmp_path / "one.sqlite", documents=["the same"] * 20)
    assert "mean_score_low" not in one.summary["scored"]


def test_the_table_shows_both_ends_in_one_column(tmp_path: Path) -> None:
    shown = str(run([[1.0]] * 37 + [[0.0]] * 13, tmp_path / "run.sqlite"))
    assert "score, 95 %" in shown
    assert "0.6045 to 0.8413" in shown
    assert "60.4 % to 84.1 %" in shown
    assert "high end" not in shown


def test_samples_tell_pass_at_k_and_what_further_samples_buy(tmp_path: Path) -> None:
    scores = [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]] * 5
    result = run(scores, tmp_path / "run.sqlite")
    values = result.summary["scored"]
    assert values["num_samples"] == 3
    assert values["pass_at_k"] == 0.75
    assert values["pass_all_k"] == 0.25
    found = np.array(scores)
    within = found.var(axis=1, ddof=1).mean() / 3
    between = found.mean(axis=1).var(ddof=1)
    assert values["sample_share"] == pytest.approx(within / between)
    [note] = [line for line in result.notes() if "samples a question" in line]
    assert "ask more questions" in note


def test_one_sample_tells_nothing_of_samples(tmp_path: Path) -> None:
    values = run([[1.0]] * 10, tmp_path / "run.sqlite").summary["scored"]
    assert not values.keys() & {"pass_at_k", "pass_all_k", "sample_share", "num_samples"}


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    """95 % intervals of runs of documents with five questions, which have much in common."""
    from context_bench_compare.intervals import Interval, plain_mean_interval

    drawn = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        documents = np.repeat(drawn.beta(2, 1, 30), 5)
        passed = (drawn.uniform(size=150) < documents).astype(float)
        found = plain_mean_interval(passed, np.arange(150) // 5)
        assert isinstance(found, Interval)
        held += found.low <= 2 / 3 <= found.high
    assert 0.92 <= held / 400 <= 0.985


class Fixed:
    """Answers right on some rows."""

    def __init__(self, name: str, right: set[int]) -> None:
        self.name, self.right = name, right

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": str(float(int(example["id"]) in self.right))}


def test_ranked_systems_that_the_test_does_not_part_are_tied(tmp_path: Path) -> None:
    systems = [
        Fixed("good", set(range(80))),
        Fixed("also-good", set(range(2, 81))),
        Fixed("bad", set(range(30))),
    ]
    rows = [{"id": str(number), "question": str(number), "answer": "1"} for number in range(100)]
    path = tmp_path / "run.sqlite"
    result = evaluate(systems, rows, [Right()], progress=False, run_file=path)
    below = verdicts(result)
    assert below is not None
    assert "good and also-good (p = " in below
    assert "bad" not in below
    apart = evaluate(
        [systems[0], systems[2]], rows, [Right()], progress=False, run_file=tmp_path / "2.sqlite"
    )
    assert verdicts(apart) is None


class Halves:
    """Gives a primary score, and further ones."""

    name = "halves"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        value = float(processed["response"])
        found = {"score": value, "half": value / 2, "passed": float(value > 0.5), "tokens": 40.0}
        found["turns"] = 10 + value
        if original["id"] == "3":
            del found["half"]
        return found


def test_every_further_score_has_its_interval(tmp_path: Path) -> None:
    drawn = np.random.default_rng(2)
    scores = (np.repeat(drawn.uniform(0.2, 0.8, 12), 5) + drawn.normal(0, 0.05, 60)).clip(0, 1)
    rows = [
        {"id": str(number), "question": str(number), "answer": "1", "cluster": f"c{number // 5}"}
        for number in range(60)
    ]
    path = tmp_path / "r.sqlite"
    for clustered in (True, False):
        for row in rows:
            row["cluster"] = row["cluster"] if clustered else row["id"]
        system = Scored({str(number): [float(value)] for number, value in enumerate(scores)})
        path = tmp_path / f"{clustered}.sqlite"
        result = evaluate([system], rows, [Halves()], progress=False, run_file=path)
        told = result.summary["scored"]["scores"]["*"]
        kept = np.delete(np.arange(60), 3)
        halves = scores[kept] / 2
        if clustered:
            units = kept // 5
            sums, sizes = np.bincount(units, weights=halves), np.bincount(units)
            apart = sums - halves.mean() * sizes
            half = stats.t.ppf(0.975, 11) * np.sqrt((apart**2).sum() * 12 / 11) / 59
        else:
            half = stats.t.ppf(0.975, 58) * stats.sem(halves)
            passed = stats.binomtest(int((scores > 0.5).sum()), 60).proportion_ci(method="wilson")
            assert (told["passed"]["low"], told["passed"]["high"]) == pytest.approx(
                (passed.low, passed.high)
            )
        ends_of_halves = (told["half"]["low"], told["half"]["high"])
        assert ends_of_halves == pytest.approx((halves.mean() - half, halves.mean() + half))
        assert "low" not in told["tokens"]
        turns = (10 + scores).reshape(12, 5).mean(axis=1) if clustered else 10 + scores
        half = stats.t.ppf(0.975, len(turns) - 1) * stats.sem(turns)
        assert (told["turns"]["low"], told["turns"]["high"]) == pytest.approx(
            (turns.mean() - half, turns.mean() + half)
        )
        assert read_result(path).summary["scored"]["scores"] == result.summary["scored"]["scores"]
        lines = {line[0]: line[2] for line in result.score_table()[1]}
        low, high = ends_of_halves
        assert lines["half"] == f"{halves.mean():.4f} ({low:.4f} to {high:.4f})"


def test_few_rows_have_no_interval_of_a_further_score(tmp_path: Path) -> None:
    rows = [{"id": str(number), "question": str(number), "answer": "1"} for number in range(5)]
    system = Scored({str(number): [0.5] for number in range(5)})
    result = evaluate([system], rows, [Halves()], progress=False, run_file=tmp_path / "r.sqlite")
    assert all("low" not in one for one in result.summary["scored"]["scores"]["*"].values())
