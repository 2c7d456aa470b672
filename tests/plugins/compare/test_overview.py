"""What stands beside the verdicts: the Pareto front, averages over datasets, ratios of sums, slices - recomputed by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench_compare.averages import macro_average, ratio_of_sums
from context_bench_compare.differences import difference_test
from context_bench_compare.intervals import Alike, Interval, TooFew
from context_bench_compare.pareto import front_of, on_front
from context_bench_compare.rendering import share_text


class Costly:
    """Answers the first so many in a hundred right, at a price."""

    def __init__(self, name: str, share: int, cost: float) -> None:
        self.name, self._share, self._cost = name, share, cost

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        is_right = example["number"] * 37 % 100 < self._share
        if self.name == "flaky" and example["number"] % 50 == 3:
            raise ConnectionError("refused")
        return {
            "response": example["answer"] if is_right else "no",
            "usage": {"cost": self._cost * (1 + is_right)},
        }


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def example(number: int) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "number": number,
        "moment": 1_700_000_000 + number,
        "era": "left\u2013right" if number % 2 else "1990\u20132000",
        "answer": f"a{number}",
        "dataset": "small" if number % 5 == 0 else "large",
        "tags": ["all", "odd" if number % 2 else "even"],
        "context": "word " * (number % 40),
        "needle_depth": number % 4 / 4,
    }


COUNT = 300
SYSTEMS = (("dear", 90, 4.0), ("cheap", 70, 1.0), ("silly", 60, 5.0), ("flaky", 80, 2.0))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "r.sqlite"
    systems = [Costly(*system) for system in SYSTEMS]
    examples = [example(number) for number in range(COUNT)]
    evaluate(
        systems,
        examples,
        [Right()],
        progress=False,
        run_file=path,
        baseline="dear",
        score_field="right",
        keep_going=True,
        max_failed=1.0,
    )
    return path


@pytest.fixture
def told(run: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def tell(*arguments: str) -> Any:
        assert execute(["compare", str(run), "-m", "right", "--json", *arguments]) == 0
        return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    return tell


def rights(share: int) -> Any:
    return np.array([number * 37 % 100 < share for number in range(COUNT)], dtype=float)


def line_of(found: Any, system: str, name: str = "all") -> Any:
    [line] = [
        one for one in found["comparisons"] if (one["system"], one["slice"]) == (system, name)
    ]
    return line


def test_the_front_has_the_systems_that_no_other_beats(told: Any) -> None:
    points = {point["system"]: point for point in told()["front"]["points"]}
    assert {name for name, point in points.items() if point["on_front"]} == {
        "dear",
        "cheap",
        "flaky",
    }
    assert points["silly"]["share_of_draws"] < 0.05
    assert points["cheap"]["share_of_draws"] == 1.0
    assert told()["front"] == told()["front"]


def test_the_front_is_told_on_the_terminal(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["compare", str(run), "-m", "right"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Pareto front of right against" in said
    assert "silly: 0." in said
    assert "off the front" in said


def test_nobody_beats_itself_and_equals_share_the_front() -> None:
    costs, scores = np.array([[1.0, 1.0, 2.0, 0.5]]), np.array([[0.5, 0.5, 0.5, 0.1]])
    assert on_front(costs, scores).tolist() == [[True, True, False, True]]


def test_the_share_of_draws_is_that_of_plain_resampling() -> None:
    rng = np.random.default_rng(1)
    scores, costs = (
        [rng.normal(0.5, 1, 200), rng.normal(0.55, 1, 200)],
        [np.full(200, 1.0), np.full(200, 2.0)],
    )
    first, second = front_of(["a", "b"], scores, costs, "higher")
    draws = rng.integers(0, 200, (4000, 200))
    expected = (scores[1][draws].mean(axis=1) > scores[0][draws].mean(axis=1)).mean()
    assert first.share == 1.0
    assert second.share == pytest.approx(expected, abs=0.05)


def test_failed_rows_count_as_wrong_in_the_front_as_they_do_everywhere(told: Any) -> None:
    found = told()
    points = {point["system"]: point for point in found["front"]["points"]}
    assert (found["front"]["rows"], found["front"]["cost_rows"]) == (COUNT, COUNT - 6)
    for system in ("cheap", "silly", "flaky"):
        assert points[system]["score"] == pytest.approx(line_of(found, system)["mean"])


def test_a_cost_that_is_unknown_leaves_its_row_out_of_the_costs_alone() -> None:
    scores = [np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])]
    costs = [np.array([1.0, 2.0, 3.0, np.nan]), np.array([5.0, np.nan, 7.0, 9.0])]
    found = front_of(["a", "b"], scores, costs, "higher")
    assert [(one.score, one.cost) for one in found] == [(0.5, 2.0), (0.25, 6.0)]


@pytest.mark.parametrize(("rows", "clusters"), [(1, None), (19, None), (60, 4)])
def test_of_few_rows_nobody_says_how_surely_a_system_is_on_the_front(
    rows: int, clusters: int | None
) -> None:
    columns = [np.ones(rows), np.zeros(rows)]
    numbers = None if clusters is None else np.arange(rows) % clusters
    found = front_of(["a", "b"], columns, columns[::-1], "higher", numbers)
    assert [one.is_on_front for one in found] == [True, False]
    assert all(np.isnan(one.share) for one in found)
    assert share_text(found[0].share) == "the rows are too few to say how surely"


def test_the_macro_average_weighs_datasets_and_not_rows(told: Any) -> None:
    line = line_of(told(), "cheap")
    small = np.array([number % 5 == 0 for number in range(COUNT)])
    difference = rights(70) - rights(90)
    expected = (difference[small].mean() + difference[~small].mean()) / 2
    assert line["macro"]["datasets"] == 2
    assert line["macro"]["difference"] == pytest.approx(expected)
    assert line["difference"] == pytest.approx(difference.mean())
    ends = [difference_test(difference[part]).interval for part in (small, ~small)]
    means = [difference[part].mean() for part in (small, ~small)]
    below = (
        np.hypot(*[mean - one.low for mean, one in zip(means, ends) if isinstance(one, Interval)])
        / 2
    )
    above = (
        np.hypot(*[one.high - mean for mean, one in zip(means, ends) if isinstance(one, Interval)])
        / 2
    )
    interval = line["macro"]["interval"]
    assert (interval["low"], interval["high"]) == pytest.approx(
        (expected - below, expected + above), abs=1e-9
    )


def test_equal_systems_keep_an_interval_with_a_width() -> None:
    ours, labels = np.ones(80), np.array([0] * 40 + [1] * 40)
    found = macro_average(ours, ours, labels, None, 0.95)
    assert found is not None
    assert isinstance(found.interval, Interval)
    assert found.interval.low < -0.01 < 0.01 < found.interval.high
    ratio = ratio_of_sums(
        ("a", "b"), "compression", (ours, ours * 2), (ours, ours * 2), None, 0.95, 0
    )
    assert ratio is not None
    assert ratio.interval == Alike("no row tells the two apart")
    half = ratio_of_sums(
        ("a", "b"), "compression", (ours, ours * 4), (ours, ours * 2), None, 0.95, 0
    )
    assert half is not None
    assert half.difference == -0.25
    assert half.interval == Alike("by the same in every row")


def test_a_macro_average_over_a_dataset_of_few_rows_has_no_interval() -> None:
    labels = np.array([0] * 40 + [1] * 5)
    found = macro_average(np.ones(45), np.zeros(45), labels, None, 0.95)
    assert found is not None
    assert found.interval == TooFew("a dataset has 5 rows, 6 are needed")
    assert macro_average(np.ones(45), np.zeros(45), np.zeros(45, dtype=int), None, 0.95) is None


def test_a_ratio_of_sums_is_no_mean_of_ratios() -> None:
    rng = np.random.default_rng(2)
    below = rng.integers(1, 1000, 500).astype(float)
    above = below * rng.uniform(0.2, 0.6, 500)
    found = ratio_of_sums(("a", "b"), "compression", (above, below), (below, below), None, 0.95, 0)
    assert found is not None
    assert found.value == pytest.approx(above.sum() / below.sum())
    assert found.difference == pytest.approx(above.sum() / below.sum() - 1)
    assert isinstance(found.interval, Interval)
    assert found.interval.low < found.difference < found.interval.high
    residuals = above - found.value * below
    error = np.sqrt((residuals**2).sum()) / below.sum()
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_the_cost_of_a_pass_is_that_of_all_rows(told: Any) -> None:
    [ratio] = [
        one
        for one in told()["ratios"]
        if (one["system"], one["ratio"]) == ("cheap", "cost_per_pass")
    ]
    right, theirs = rights(70), rights(90)
    assert ratio["value"] == pytest.approx((1 + right).sum() / right.sum())
    assert ratio["baseline_value"] == pytest.approx(4 * (1 + theirs).sum() / theirs.sum())
    assert ratio["interval"]["low"] < ratio["difference"] < ratio["interval"]["high"]


def test_failed_rows_are_shown_both_ways(told: Any) -> None:
    line = line_of(told(), "flaky")
    failed = np.array([number % 50 == 3 for number in range(COUNT)])
    difference = rights(80) * ~failed - rights(90)
    assert line["difference"] == pytest.approx(difference.mean())
    assert line["answered_difference"] == pytest.approx(difference[~failed].mean())


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("dataset", ("small", "large")),
        ("tag", ("all", "odd", "even")),
        ("depth", ("0.0", "0.25", "0.5", "0.75")),
        ("length", None),
        ("number", None),
        ("moment", None),
        ("era", ("1990\u20132000", "left\u2013right")),
    ],
)
def test_rows_are_sliced_by_what_is_asked(
    told: Any, field: str, names: Sequence[str] | None
) -> None:
    found = told("--by", field)
    slices = [
        one for one in found["comparisons"] if one["system"] == "cheap" and one["slice"] != "all"
    ]
    got = [one["slice"].removeprefix(f"{field}=") for one in slices]
    if names is None:
        assert len(got) == 4
        assert sum(one["rows"] for one in slices) == COUNT
        assert all(one["rows"] >= COUNT // 5 for one in slices)
    else:
        assert set(got) == set(names)
    if field == "tag":
        assert line_of(found, "cheap", "tag=all")["rows"] == COUNT
    plain = line_of(told(), "cheap")
    assert line_of(found, "cheap")["p_value"] == plain["p_value"]
    assert line_of(found, "cheap")["p_value_corrected"] >= plain["p_value_corrected"]


def test_a_field_that_no_example_has_is_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["compare", str(run), "-m", "right", "--by", "colour"]) == 2
    assert "No example has the field 'colour' to slice by" in capsys.readouterr().err


def test_datasets_whose_rows_hang_together_are_not_averaged_as_if_they_stood_apart() -> None:
    """Twenty documents, each asked about in both datasets: their differences rise and fall together."""
    drawn = np.random.default_rng(2).normal(0.1, 0.3, 20)
    ours, labels = np.clip(np.tile(drawn, 2), -1, 1), np.repeat([0, 1], 20)
    found = [
        macro_average(ours, np.zeros(40), labels, clusters, 0.95)
        for clusters in (np.tile(np.arange(20), 2), np.arange(40))
    ]
    together, apart = (one.interval for one in found if one is not None)
    of_one = difference_test(ours[:20]).interval
    assert isinstance(together, Interval)
    assert isinstance(apart, Interval)
    assert isinstance(of_one, Interval)
    assert (together.low, together.high) == pytest.approx((of_one.low, of_one.high))
    assert apart.high - apart.low == pytest.approx((of_one.high - of_one.low) / np.sqrt(2))
