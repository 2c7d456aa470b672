"""The distributions of scipy.special against those of scipy.stats, which take longer to import than a run."""

import numpy as np
import pytest
from scipy import stats

from context_bench_compare import normal

Z = np.linspace(-38, 38, 1001)
SHARES = [1e-300, 1e-12, 0.005, 0.025, 0.5, 0.8, 0.975, 0.99995, 1 - 1e-12]


def test_shares_are_those_of_scipy_stats() -> None:
    np.testing.assert_allclose(normal.below(Z), stats.norm.cdf(Z), rtol=1e-13)
    np.testing.assert_allclose(normal.beyond(Z), stats.norm.sf(Z), rtol=1e-13)


def test_densities_are_those_of_scipy_stats() -> None:
    for scale in (0.01, 1.0, 7.5):
        np.testing.assert_allclose(
            normal.density(Z, scale), stats.norm.pdf(Z, scale=scale), rtol=1e-12, atol=1e-300
        )


@pytest.mark.parametrize("share", SHARES)
def test_quantiles_are_those_of_scipy_stats(share: float) -> None:
    assert normal.quantile(share) == pytest.approx(stats.norm.ppf(share), rel=1e-12, abs=1e-15)
    for degrees in (1, 2.5, 9, 399.3, 1e6):
        if 1e-12 <= share <= 0.99995:
            found = normal.student_quantile(share, degrees)
            assert found == pytest.approx(stats.t.ppf(share, degrees), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 9, 10, 101, 5000, 200_001])
def test_the_sign_test_is_the_binomial_test_of_scipy_stats_less_half_of_what_was_seen(
    rows: int,
) -> None:
    for fewer in {0, 1, rows // 3, rows // 2 - 2, rows // 2}:
        if 0 <= fewer <= rows / 2:
            below = 2 * stats.binom.cdf(fewer, rows, 0.5) - stats.binom.pmf(fewer, rows, 0.5)
            assert normal.sign_test(fewer, rows) == pytest.approx(below, rel=1e-9, abs=1e-300)
