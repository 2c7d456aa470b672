"""Power, corrections and looks: equal to the references, and true to their error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from context_bench_compare.differences import difference_p_value, guaranteed_difference
from context_bench_compare.families import (
    PRIMARY,
    SCORES,
    SLICES,
    SYSTEMS,
    Corrected,
    Member,
    correct,
    holm,
)
from context_bench_compare.gates import GUARANTEE, TEST
from context_bench_compare.intervals import Interval, TooFew
from context_bench_compare.planning import rows_needed
from context_bench_compare.power import reach_of, rows_for_margin, standard_error
from context_bench_compare.sequential import bounds, spent


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03], [0.5], [0.001, 0.001, 0.2, 0.04], []])
def test_holm_is_the_step_down_method(p_values: list[float]) -> None:
    order = sorted(p_values)
    expected = [
        max(
            min(1.0, (len(order) - rank) * one)
            for rank, one in enumerate(order[: order.index(p) + 1])
        )
        for p in p_values
    ]
    assert holm(p_values) == pytest.approx(expected, abs=1e-12)


def test_the_primary_comparison_is_corrected_for_nothing() -> None:
    members = [
        Member(PRIMARY, 0.04, "a"),
        Member(SLICES, 0.04, "b"),
        Member(SLICES, 0.9, "c"),
        Member(SYSTEMS, 0.03, "d"),
        Member(SCORES, 0.01, "e"),
    ]
    assert [one.p_value for one in correct(members, 0.05)] == [0.04, 0.08, 0.9, 0.03, 0.01]
    assert correct(members[:1], 0.05)[0] == correct(members, 0.05)[0]


def test_equal_comparisons_count_once() -> None:
    members = [
        Member(PRIMARY, 0.04, "a"),
        Member(SCORES, 0.04, "a"),
        *[Member(SCORES, 0.02, "b")] * 3,
        Member(SCORES, 0.3, "c"),
    ]
    found = correct(members, 0.05)
    assert found[1] == Corrected(0.04)
    assert [one.p_value for one in found[2:]] == [0.04, 0.04, 0.04, 0.3]
    assert {one.together for one in found[2:]} == {2}


def flips(draw: np.random.Generator, rows: int, effect: float) -> np.ndarray:
    """Return passes and fails of which one in five flips."""
    return draw.choice([1.0, -1.0, 0.0], rows, p=[0.1 + effect / 2, 0.1 - effect / 2, 0.8])


def losses(draw: np.random.Generator, rows: int, effect: float) -> np.ndarray:
    """Return differences of which most are small, and one in ten is a pass for a fail."""
    chance = max(0.1, effect)
    signs = np.where(draw.random(rows) < (1 + effect / chance) / 2, 1.0, -1.0)
    return np.where(draw.random(rows) < chance, signs, draw.normal(0, 0.02, rows))


SHAPES = {
    "graded": (lambda draw, rows, effect: draw.normal(effect, 0.2, rows), 1),
    "ties": (
        lambda draw, rows, effect: np.where(
            draw.random(rows) < 0.8, 0.0, draw.normal(effect / 0.2, 0.2, rows)
        ),
        1,
    ),
    "passes": (flips, 1),
    "passes in clusters": (flips, 5),
    "losses": (losses, 1),
    "clusters": (
        lambda draw, rows, effect: (
            np.repeat(draw.normal(effect, 0.15, rows // 5), 5) + draw.normal(0, 0.1, rows)
        ),
        5,
    ),
}


@pytest.mark.one_python
@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_run_could_only_show_is_found_four_times_in_five(shape: str) -> None:
    """The mean over the runs that tell it: one run knows its own spread only."""
    drawn, size = SHAPES[shape]
    draw, powers = np.random.default_rng(4), []
    numbers = np.arange(100) // size if size > 1 else None
    for _ in range(24):
        shows = reach_of(drawn(draw, 100, 0.0), numbers).shows()
        p_values = [difference_p_value(drawn(draw, 100, shows), numbers) for _ in range(40)]
        powers.append(np.mean(np.array(p_values) < 0.05))
    assert np.mean(powers) == pytest.approx(0.8, abs=0.06)


def test_so_many_rows_show_a_margin_that_often() -> None:
    generator = np.random.default_rng(6)
    rows = rows_for_margin(0.4, 0.05)
    shown = 0
    for _ in range(400):
        differences = generator.normal(0, 0.4, rows)
        shown += differences.mean() - 1.959964 * standard_error(differences) > -0.05
    assert shown / 400 == pytest.approx(0.8, abs=0.07)
    with pytest.raises(ValueError, match="expected to miss"):
        rows_for_margin(0.4, 0.05, difference=-0.05)


PUBLISHED = {
    4: [4.333, 2.963, 2.359, 2.014],
    5: [4.877, 3.357, 2.680, 2.290, 2.031],
}  # Lan and DeMets, alpha 0.05


@pytest.mark.parametrize("looks", PUBLISHED)
def test_bounds_of_the_sequential_design_are_the_published_ones(looks: int) -> None:
    assert bounds([look / looks for look in range(1, looks + 1)]) == pytest.approx(
        PUBLISHED[looks], abs=2e-3
    )


def test_the_whole_error_is_spent_at_the_end() -> None:
    assert spent(1.0, 0.05) == pytest.approx(0.05)
    assert spent(0.0, 0.05) == 0.0
    assert bounds([1.0]) == pytest.approx([1.959964], abs=1e-5)


def test_looking_often_finds_no_more_than_looking_once() -> None:
    generator = np.random.default_rng(8)
    shares = [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    limits = np.array(bounds(shares))
    rows = [int(share * 1000) for share in shares]
    sums = np.cumsum(generator.normal(0, 1, (4000, 1000)), axis=1)[:, [row - 1 for row in rows]]
    stopped = (np.abs(sums / np.sqrt(rows)) >= limits).any(axis=1).mean()
    assert stopped <= 0.055 + 0.007


@pytest.mark.parametrize("shares", [[], [0.5, 0.5], [0.5, 0.2], [0.0, 1.0], [0.5, 1.2]])
def test_looks_that_do_not_rise_are_refused(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="rising"):
        bounds(shares)


@pytest.mark.parametrize("rows", [20, 60])
def test_a_run_in_which_no_row_differs_does_not_claim_to_show_every_difference(rows: int) -> None:
    """Six rows that differ, all one way, are what the test asks for."""
    found = reach_of(np.zeros(rows)).shows()
    assert 1 - stats.binom.cdf(4, rows, found) >= 0.8


@pytest.mark.one_python
@pytest.mark.parametrize(("basis", "spread"), [(TEST, 0.15), (GUARANTEE, 0.15), (GUARANTEE, 0.01)])
def test_the_rows_planned_from_a_pilot_show_the_margin_as_often(basis: str, spread: float) -> None:
    draw, shares = np.random.default_rng(3), []
    for _ in range(6):
        rows = rows_needed(reach_of(draw.normal(0, spread, 150)), 0.05, 0.95, basis)
        shown = 0
        for _ in range(60):
            drawn = draw.normal(0, spread, rows)
            if basis == TEST:
                shown += difference_p_value(drawn + 0.05) < 0.05
                continue
            bound = guaranteed_difference(drawn)
            shown += isinstance(bound, Interval) and bound.low >= -0.05
        shares.append(shown / 60)
    assert np.mean(shares) == pytest.approx(0.8, abs=0.09)


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.2])
def test_the_rows_planned_from_a_pilot_without_a_difference_show_the_margin(margin: float) -> None:
    rows = rows_needed(reach_of(np.zeros(50)), margin, 0.95, GUARANTEE)
    found = guaranteed_difference(np.zeros(rows))
    assert isinstance(found, Interval)
    assert -margin <= found.low
    fewer = guaranteed_difference(np.zeros(max(2, rows * 9 // 10)))
    assert isinstance(fewer, TooFew) or fewer.low < -margin or rows == 20
