"""Verdicts and gates: one word for each case, decided by bounds and never by means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench_compare.differences import difference_p_value, guaranteed_difference, rarest_seen
from context_bench_compare.gates import (
    FAILED,
    INCONCLUSIVE,
    PASSED,
    Gate,
    Outcome,
    exit_code,
    gates_of,
    judge_difference,
    judge_value,
    parse_gate,
)
from context_bench_compare.intervals import (
    Interval,
    TooFew,
    mean_interval,
    percentile_interval,
)
from context_bench_compare.power import reach_of
from context_bench_compare.verdicts import Pairs, Rules, compare, corrected, guarantee_sentence


def pairs(ours: np.ndarray, theirs: np.ndarray, answered: np.ndarray | None = None) -> Pairs:
    keys = [f"row {number}" for number in range(len(ours))]
    return Pairs(ours, theirs, keys, np.ones(len(ours), bool) if answered is None else answered)


def flips(rows: int, improved: int, regressed: int) -> Pairs:
    theirs = np.zeros(rows)
    theirs[: rows // 2] = 1
    ours = theirs.copy()
    ours[:regressed] = 0
    ours[rows - improved :] = 1
    return pairs(ours, theirs)


@pytest.mark.parametrize(
    ("rows", "improved", "regressed", "margin", "word"),
    [
        (200, 30, 5, None, "better"),
        (200, 5, 30, None, "worse"),
        (2000, 3, 3, 0.01, "equivalent"),
        (200, 6, 4, None, "inconclusive"),
        (10, 5, 0, None, "better"),
        (5, 0, 2, None, "inconclusive"),
        (0, 0, 0, None, "incomparable"),
    ],
)
def test_each_case_has_its_word(
    rows: int, improved: int, regressed: int, margin: float | None, word: str
) -> None:
    found = compare(flips(rows, improved, regressed), Rules(margin=margin))
    assert found.word == word
    assert found.sentence
    assert (len(found.improved), len(found.regressed)) == (improved, regressed)


def test_where_less_is_better_a_lower_mean_wins() -> None:
    found = compare(flips(200, 5, 30), Rules(better="lower", threshold=0.5))
    assert found.word == "better"


def test_slices_and_further_systems_leave_the_primary_verdict_alone() -> None:
    primary = compare(flips(100, 9, 1))
    slices = [compare(flips(90 + number, 9, 1), family="slices") for number in range(10)]
    together = corrected([primary, *slices], Rules())
    assert together[0].sentence == primary.sentence
    assert (together[0].word, together[0].corrected) == ("better", primary.p_value)
    assert {found.word for found in together[1:]} == {"inconclusive"}
    assert together[1].corrected == pytest.approx(10 * slices[0].p_value)


def test_the_same_differences_under_several_names_count_once() -> None:
    one = compare(flips(100, 9, 1), family="scores")
    for found in corrected([compare(flips(100, 8, 1)), *[one] * 10], Rules())[1:]:
        assert (found.word, found.corrected) == ("better", one.p_value)


def test_failed_rows_are_shown_both_ways() -> None:
    theirs = np.ones(100)
    ours = np.r_[np.ones(80), np.zeros(20)]
    found = compare(pairs(ours, theirs, ours > 0))
    assert found.difference == pytest.approx(-0.2)
    assert found.answered_difference == 0.0


def test_an_inconclusive_run_says_what_it_could_have_shown() -> None:
    found = compare(flips(200, 6, 4))
    assert f"{found.detectable:.4g}" in found.sentence
    assert "could only show" in found.sentence


def test_a_verdict_and_a_guarantee_are_two_sentences() -> None:
    """Rows that gain a little are better, and may still hide one in 27 that loses everything."""
    theirs = np.full(100, 0.5)
    found = compare(pairs(theirs + 0.02, theirs), Rules(margin=0.01))
    told = guarantee_sentence(found)
    assert found.word == "better"
    assert isinstance(found.guarantee, Interval)
    assert found.guarantee.low < -0.01
    assert told is not None
    assert "the mean loss is at most 0.01713" in told
    assert "one row in 27" in told


@pytest.mark.parametrize("size", [2, 5])
def test_a_guarantee_of_clusters_counts_clusters(size: int) -> None:
    differences = np.full(100, 0.02)
    numbers = np.arange(100) // size
    found = compare(
        Pairs(differences, np.zeros(100), range(100), np.ones(100, bool), numbers)  # type: ignore[arg-type]
    )
    assert f"one cluster in {rarest_seen(100 // size)} may" in str(guarantee_sentence(found))


def test_a_p_value_below_what_a_number_holds_is_not_told_as_zero() -> None:
    found = compare(flips(3000, 2000, 0))
    assert (found.p_value, found.word) == (0.0, "better")
    assert "p < 1e-300" in found.sentence


@pytest.mark.parametrize(("rows", "can"), [(71, False), (72, True)])
def test_few_rows_rule_out_no_loss_of_seconds(rows: int, can: bool) -> None:
    """One very slow row in twenty is missing from 71 rows more often than an interval at 95 % may miss on one side."""
    theirs = np.random.default_rng(3).lognormal(0, 0.3, rows)
    pairs = Pairs(theirs, theirs.copy(), range(rows), np.ones(rows, bool), is_measure=True)
    for margin, word in ((None, "inconclusive"), (5.0, "equivalent" if can else "inconclusive")):
        found = compare(pairs, Rules(margin=margin, better="lower"))
        assert found.word == word
        assert ("needs 72 rows" in str(guarantee_sentence(found))) is not can
    assert (
        compare(
            Pairs(theirs / 2, theirs, range(rows), np.ones(rows, bool), is_measure=True),
            Rules(better="lower"),
        ).word
        == "better"
    )


def test_a_corrected_p_value_says_for_how_many_comparisons() -> None:
    several = [compare(flips(200 + number, 60, 5), family="scores") for number in range(3)]
    [first, *_] = corrected([*several, compare(flips(0, 0, 0), family="scores")], Rules())
    assert "McNemar, mid-p, corrected for 3 scores" in first.sentence


def clustered(clusters: int, differences: np.ndarray) -> Pairs:
    rows = len(differences)
    numbers = np.arange(rows) * clusters // rows
    return Pairs(differences, np.zeros(rows), np.arange(rows), np.ones(rows, bool), numbers)


@pytest.mark.parametrize(
    "differences", [np.ones(50), np.linspace(0.5, 1, 50)], ids=["the same", "graded"]
)
def test_five_clusters_show_no_difference_and_six_do(differences: np.ndarray) -> None:
    """Five clusters have 32 ways to flip, so that no p-value lies below 2 of 32."""
    found = compare(clustered(5, differences))
    assert found.word == "inconclusive"
    assert "5 clusters, 6 are needed" in found.sentence
    assert compare(clustered(6, differences)).word == "better"


def test_rows_that_differ_within_their_clusters_are_not_told_as_equal() -> None:
    found = compare(clustered(10, np.tile([1.0, -1.0], 50)))
    assert "No row differs" not in found.sentence
    assert "No row differs" in compare(clustered(10, np.zeros(100))).sentence


def test_what_a_run_could_show_is_told_beside_the_other_comparisons() -> None:
    one = compare(flips(200, 9, 4), family="slices")
    others = [compare(flips(200, 9, 5 + number), family="slices") for number in range(9)]
    shown = compare(flips(200, 60, 0), family="slices")
    alone, beside_others, beside_one_that_shows = (
        corrected([one, *rest], Rules())[0].detectable for rest in ([], others, [shown])
    )
    ratio = (stats.norm.ppf(1 - 0.025 / 10) + stats.norm.ppf(0.8)) / (
        stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    )
    assert alone == one.detectable == beside_one_that_shows
    assert beside_others == pytest.approx(ratio * alone, rel=0.1)


@pytest.mark.parametrize("clusters", [8, 40])
def test_what_clusters_can_show_is_found_that_often(clusters: int) -> None:
    generator, numbers = np.random.default_rng(clusters), np.repeat(np.arange(clusters), 5)
    draws = generator.normal(0, 0.2, (300, clusters))
    pilots = [shared[numbers] for shared in draws[:40]]
    told = [reach_of(one, numbers).shows() for one in pilots]
    draws += np.median(told)
    found = sum(difference_p_value(shared[numbers], numbers) < 0.05 for shared in draws)
    assert found / 300 == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_further_rows_that_decide_do_not_depend_on_the_unit(unit: float) -> None:
    def more(unit: float) -> int:
        differences = unit * np.random.default_rng(2).normal(-0.01, 0.3, 60)
        [gate] = parse_gate(f"score:max-drop={0.05 * unit}")
        deviation, size = float(differences.std(ddof=1)), float(np.abs(differences).max())
        interval = guaranteed_difference(differences, measured=size)
        return (
            judge_difference(
                gate, float(differences.mean()), interval, 60, deviation, 1.0, size
            ).more_rows
            or 0
        )

    assert more(unit) == pytest.approx(more(1.0), abs=1)
    assert more(1.0) > 100


def test_a_bound_that_lies_on_the_value_is_decided_by_no_number_of_rows() -> None:
    """0.1 + 0.2 is not 0.3: what parts the two is the rounding of the machine."""
    interval = Interval(-0.4, -0.2, "", 0.95)
    [drop], [least] = parse_gate("score:max-drop=0.3"), parse_gate("score:min=0.3")
    assert judge_difference(drop, -(0.1 + 0.2), interval, 100, 0.3).more_rows is None
    assert judge_value(least, 0.1 + 0.2, Interval(0.2, 0.4, "", 0.95), 100).more_rows is None


def test_an_interval_that_just_misses_takes_more_than_one_row() -> None:
    """One outlier: the interval is wider than the deviation of the rows would have it."""
    differences = np.r_[np.full(59, 0.001), -3.0]
    interval = guaranteed_difference(differences)
    assert isinstance(interval, Interval)
    [gate] = parse_gate(f"score:max-drop={-interval.low * 0.9}")
    found = judge_difference(gate, float(differences.mean()), interval, 60, 0.0, 1.0, 3.0)
    assert (found.more_rows or 0) > 10


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("f1:max-drop=1pp", Gate("f1", "max-drop", 0.01)),
        ("pass_rate:min=0.9", Gate("pass_rate", "min", 0.9)),
        ("p95:max=2s", Gate("p95", "max", 2.0)),
        ("p95:max=250ms", Gate("p95", "max", 0.25)),
        ("cost:max-rise=0", Gate("cost", "max-rise", 0.0)),
        ("f1:min=50%", Gate("f1", "min", 0.5)),
        ("p99:max-rise=10%", Gate("p99", "max-rise", 0.1, relative=True)),
        ("cost:max-rise=5%", Gate("cost", "max-rise", 0.05, relative=True)),
        (
            "dataset:gsm8k:max-drop=2pp,vs=@main,confidence=0.9",
            Gate("dataset:gsm8k", "max-drop", 0.02, 0.9, "@main"),
        ),
    ],
)
def test_gates_are_read(text: str, gate: Gate) -> None:
    assert parse_gate(text) == [gate]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("f1", "wrong form"),
        ("f1:0.9", "no bound"),
        ("f1:min=high", "no amount"),
        ("f1:min=nan", "no amount"),
        ("f1:max-drop=-1pp", "without a sign"),
        ("f1:min=1,confidence=2", "between 0.5 and 1"),
        ("f1:vs=@main", "has no bound"),
        ("f1:min=1e999", "no amount"),
        ("f1:max-drop=1pp,max-drop=2pp", "gives max-drop twice"),
        ("f1:max-drop=1pp,vs=", "must be the name of a baseline"),
        ("f1:max-drop=200ms", "given as a time"),
        ("my_score:min=2s", "given as a time"),
        ("p95:max=2pp", "p95 is no score"),
        ("latency:max=5%", "latency is no score"),
        ("cost:max-rise=5pp", "cost is no score"),
    ],
)
def test_what_is_no_gate_is_told_in_one_line(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as raised:
        parse_gate(text)
    assert "\n" not in str(raised.value)


def test_a_misspelt_setting_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match="max-drop"):
        gates_of("f1", {"max_dropp": "1pp"}, "[gate] f1")


DROP = Gate("f1", "max-drop", 0.02)


@pytest.mark.parametrize(
    ("difference", "low", "high", "state"),
    [
        (0.0, -0.01, 0.01, PASSED),
        (-0.05, -0.07, -0.03, FAILED),
        (-0.01, -0.04, 0.02, INCONCLUSIVE),
        (0.01, -0.03, 0.05, INCONCLUSIVE),
    ],
)
def test_the_bound_decides_and_not_the_mean(
    difference: float, low: float, high: float, state: str
) -> None:
    found = judge_difference(DROP, difference, Interval(low, high, "", 0.95), 100, 0.3)
    assert found.state == state
    assert (found.more_rows is not None) == (state == INCONCLUSIVE)


def test_so_many_further_rows_decide() -> None:
    found = judge_difference(DROP, 0.0, Interval(-0.06, 0.06, "", 0.95), 100, 0.3)
    total = 100 + (found.more_rows or 0)
    assert 1.959964 * 0.3 / np.sqrt(total) < 0.02


@pytest.mark.parametrize(
    ("gate", "value", "interval", "state"),
    [
        (Gate("pass_rate", "min", 0.9), 0.95, Interval(0.92, 0.97, "", 0.95), PASSED),
        (Gate("pass_rate", "min", 0.9), 0.92, Interval(0.87, 0.95, "", 0.95), INCONCLUSIVE),
        (Gate("pass_rate", "min", 0.9), 0.8, Interval(0.75, 0.85, "", 0.95), FAILED),
        (Gate("pass_rate", "min", 0.9), 1.0, TooFew("5 rows, 20 are needed"), INCONCLUSIVE),
        (Gate("p95", "max", 2.0), 1.5, Interval(1.2, 1.9, "", 0.95), PASSED),
        (Gate("p95", "max", 2.0), 2.5, Interval(2.2, 2.9, "", 0.95), FAILED),
        (Gate("cost", "max", 1.0), 1.0, None, PASSED),
        (Gate("cost", "max", 1.0), 1.01, None, FAILED),
    ],
)
def test_values_are_held_against_their_bounds(
    gate: Gate, value: float, interval: Interval | TooFew | None, state: str
) -> None:
    assert judge_value(gate, value, interval).state == state


def test_a_missed_gate_outweighs_an_open_one() -> None:
    missed = judge_value(Gate("a", "min", 1), 0, None)
    unsure = judge_value(Gate("a", "min", 0), 0, TooFew("5 rows"))
    assert exit_code([unsure, missed]) == 10
    assert exit_code([unsure]) == 11
    assert exit_code([]) == 0


def test_an_open_gate_says_how_many_more_rows_decide_where_none_differs() -> None:
    [gate] = parse_gate("score:max-drop=1pp")
    found = judge_difference(gate, 0.0, guaranteed_difference(np.zeros(60)), 60, 0.0)
    assert found.state == INCONCLUSIVE
    more = found.more_rows or 0
    assert (
        judge_difference(
            gate, 0.0, guaranteed_difference(np.zeros(60 + more)), 60 + more, 0.0
        ).state
        == PASSED
    )


@pytest.mark.parametrize(
    ("bound", "rate", "state"), [("min=0.9", 0.95, PASSED), ("min=0.9", 0.85, FAILED)]
)
def test_an_open_bound_of_a_value_says_how_many_more_rows_decide(
    bound: str, rate: float, state: str
) -> None:
    [gate] = parse_gate(f"pass_rate:{bound}")

    def judged_after(rows: int) -> Outcome:
        values = (np.arange(rows) < round(rows * rate)).astype(float)
        return judge_value(gate, float(values.mean()), mean_interval(values), rows)

    found = judged_after(40)
    assert found.state == INCONCLUSIVE
    assert judged_after(40 + 3 * (found.more_rows or 0)).state == state


@pytest.mark.parametrize(
    ("slow", "state", "words"),
    [
        (30, FAILED, "(2.5 s or more at 95%, 60 rows)"),
        (3, INCONCLUSIVE, "(0.5 s or more at 95%, 60 rows); 72 rows are needed to meet it"),
    ],
    ids=["half of them too slow", "a few too slow"],
)
def test_fewer_rows_than_meet_a_gate_on_a_percentile_can_miss_it(
    slow: int, state: str, words: str
) -> None:
    [gate] = parse_gate("p95:max=2s")
    values = np.repeat([0.5, 2.5], [60 - slow, slow])
    found = judge_value(
        gate, float(np.quantile(values, 0.95)), percentile_interval((values,), 0.95), 60, "s"
    )
    assert found.state == state
    assert words in found.sentence
    assert found.more_rows == (12 if state == INCONCLUSIVE else None)
