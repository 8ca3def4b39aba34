"""Error bars that hold: intervals of noisy numbers cover, as often as they say."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.release.noise import GaussianNoise, LaplaceNoise, on_grid
from rashomon_explorer.release.statistic import Gap, Measured, RateStatistic

RUNS = 4_000
NOISES = (GaussianNoise(0.05), LaplaceNoise(0.05))
# Three standard deviations of a share of 4,000 runs.
SLACK = 3 * math.sqrt(0.9 * 0.1 / RUNS)


def _covered(truth, make, confidence=0.9):
    rng = np.random.default_rng(0)
    ends = [make(rng).interval(confidence) for _ in range(RUNS)]
    return np.mean([low <= truth <= high for low, high in ends])


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.law)
@pytest.mark.parametrize("truth", [0.5, 0.02, 0.0])
def test_intervals_of_measured_numbers_cover(noise, truth):
    def make(rng):
        noisy = float(on_grid(truth + noise.draw(rng, 1), noise)[0])
        return Measured("share", noisy, noise, 0.0, 1.0)

    share = _covered(truth, make)
    assert share >= 0.9 - SLACK
    if truth == 0.5:
        assert share <= 0.9 + SLACK
        noise = replace(noise, scale=2 * noise.scale)  # the control: half the noise in the interval
        assert _covered(truth, lambda rng: replace(make(rng), noise=NOISES[0])) < 0.7


def test_no_interval_shrinks_to_a_point_at_the_end_of_the_range():
    noise = GaussianNoise(0.05)
    low, high = Measured("share", -0.4, noise, 0.0, 1.0).interval()
    assert low == 0.0 and high == pytest.approx(noise.quantile(0.95))
    low, high = RateStatistic(
        "rate", 90.0, 100.0, GaussianNoise(4.0), GaussianNoise(4.0), 500
    ).interval()
    assert low < 0.95 and high == 1.0


@pytest.mark.parametrize("noise", [GaussianNoise(4.0), LaplaceNoise(4.0)], ids=lambda n: n.law)
@pytest.mark.parametrize(("size", "rate"), [(400, 0.3), (30, 0.9), (5, 0.2), (0, 0.5)])
def test_intervals_of_rates_and_of_gaps_cover_also_in_tiny_groups(noise, size, rate):
    def one(rng, size, rate):
        excess, rows = np.array([(rate - 0.5) * size, size]) + noise.draw(rng, 2)
        return RateStatistic("rate", excess, rows, noise, noise, n_rows=1000)

    share = _covered(rate, lambda rng: one(rng, size, rate))
    assert share >= 0.9 - SLACK
    if size == 400 and isinstance(noise, GaussianNoise):
        assert share <= 0.9 + SLACK
        gap = _covered(0.15, lambda rng: Gap("gap", (one(rng, 200, rate), one(rng, 60, 0.45))))
        assert gap >= 0.9


def test_a_group_that_noise_hides_is_not_known():
    noise = GaussianNoise(10.0)
    rate = RateStatistic("few", 4.0, 12.0, noise, noise, n_rows=1000)
    assert math.isnan(rate.estimate) and math.isnan(rate.standard_error)
    assert rate.interval() == (0.0, 1.0)
    assert "hides the size of the" in rate.note
    gap = Gap("gap", (rate, RateStatistic("many", 0.0, 800.0, noise, noise, n_rows=1000)))
    assert math.isnan(gap.estimate) and "few" in gap.note
    assert gap.interval()[0] == 0.0


def test_standard_error_of_a_rate_is_what_simulation_says():
    noise, rng = GaussianNoise(4.0), np.random.default_rng(1)
    rates = [
        RateStatistic("rate", *(np.array([-60.0, 300.0]) + noise.draw(rng, 2)), noise, noise, 1000)
        for _ in range(RUNS)
    ]
    spread = np.std([rate.estimate for rate in rates])
    assert np.mean([rate.standard_error for rate in rates]) == pytest.approx(spread, rel=0.05)


def test_rows_error_is_binomial_for_shares_and_an_upper_bound_for_other_means():
    share = Measured("share", 0.2, GaussianNoise(1e-9), 0.0, 1.0, n_mean=100)
    assert share.rows_error == pytest.approx(math.sqrt(0.2 * 0.8 / 100))
    terms = np.random.default_rng(0).beta(2, 8, size=100_000)
    mean = Measured("mean", terms.mean(), GaussianNoise(1e-9), 0.0, 1.0, n_mean=100)
    assert terms.std() / 10 < mean.rows_error
    assert math.isnan(Measured("max", 0.2, GaussianNoise(0.1), 0.0, 1.0).rows_error)
