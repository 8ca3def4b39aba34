"""Radii follow their density, not a table of it."""

import numpy as np
import pytest
from scipy.stats import chi, kstest

from rashomon_explorer.mechanisms.rejection.proposals import RadialLaw


def half_squares(radius):
    return radius**2 / 2


@pytest.mark.parametrize("p", [1, 2, 5, 30])
def test_a_gaussian_energy_gives_chi_radii(p):
    law = RadialLaw(half_squares, p, furthest=30.0)
    radii = law.sample(20_000, np.random.default_rng(p))
    assert kstest(radii, chi(p).cdf).pvalue > 1e-3


@pytest.mark.parametrize("p", [1, 3])
def test_a_flat_energy_gives_the_uniform_ball(p):
    radii = RadialLaw(np.zeros_like, p, furthest=2.0).sample(20_000, np.random.default_rng(0))
    assert kstest((radii / 2) ** p, "uniform").pvalue > 1e-3


def test_coarse_cells_change_the_work_and_not_the_law(monkeypatch):
    monkeypatch.setattr("rashomon_explorer.mechanisms.rejection.proposals._CELLS", 7)
    law = RadialLaw(half_squares, 3, furthest=30.0)
    assert kstest(law.sample(20_000, np.random.default_rng(1)), chi(3).cdf).pvalue > 1e-3


def test_a_narrow_peak_in_a_long_support_is_found():
    law = RadialLaw(lambda r: 1e8 * r**2 / 2, 4, furthest=100.0)
    radii = law.sample(5000, np.random.default_rng(2)) * 1e4
    assert kstest(radii, chi(4).cdf).pvalue > 1e-3


def test_the_mass_is_an_upper_bound_of_the_integral_and_tight():
    for p in (1, 2, 10):
        exact = np.log(
            np.trapezoid((r := np.linspace(0, 30, 200_001)) ** (p - 1) * np.exp(-r * r / 2), r)
        )
        assert exact <= RadialLaw(half_squares, p, 30.0).log_mass + 1e-6
        assert RadialLaw(half_squares, p, 30.0).log_mass <= exact + 0.02
