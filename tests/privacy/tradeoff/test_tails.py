"""Divergences of sampled rows beside twenty digits; never below, at any order."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from rashomon_explorer.privacy import Guarantee, Ledger
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.tradeoff import Composition, Gaussian, Piecewise, PoissonSampled
from rashomon_explorer.privacy.tradeoff.sampled import (
    Subsampled,
    _binomial_renyi,
    batches_renyi,
    poisson_renyi,
)

PAIRS = ((1, -1), (1, 0), (0, -1))


def exact(sigma: float, rate: float, order: float, first: int = 1, second: int = -1) -> float:
    """log ∫P^a Q^(1 − a) over (a − 1), by quadrature of twenty digits."""
    with mp.workdps(20):
        m, q, a = 1 / mp.mpf(sigma), mp.mpf(rate), mp.mpf(order)

        def lift(x, place):
            return (1 - q) + q * mp.exp(place * m * x - (place * m) ** 2 / 2)

        def more(x):
            other = lift(x, second) if second else mp.mpf(1)
            r = (lift(x, first) if first else mp.mpf(1)) / other
            return mp.npdf(x) * other * (r**a - 1 - a * (r - 1))

        far = 30 + 4 * order / sigma
        places = sorted({-30.0, -8.0, -3.0, 0.0, 3.0, 8.0, *np.linspace(0, far, 9).tolist()})
        return float(mp.log1p(mp.quad(more, places)) / (a - 1))


def exact_batches(mu: float, rate: float, order: float) -> float:
    """The same of C_q(G(μ)), by its δ(ε): 1 + a(a − 1)∫(e^((a − 1)ε) + e^(−aε))δ(ε)dε."""
    with mp.workdps(20):
        m, q, a = mp.mpf(mu), mp.mpf(rate), mp.mpf(order)

        def weighted(epsilon):
            inner = mp.log1p(mp.expm1(epsilon) / q)
            delta = mp.ncdf(m / 2 - inner / m) - mp.exp(inner) * mp.ncdf(-m / 2 - inner / m)
            return (mp.exp((a - 1) * epsilon) + mp.exp(-a * epsilon)) * q * delta

        top = float(2 * a * m * (m + 1) + 20 * m)
        places = [0, *np.geomspace(1e-5 * rate, top, 16).tolist()]
        return float(mp.log1p(a * (a - 1) * mp.quad(weighted, places)) / (a - 1))


CASES = [
    (sigma, rate, order)
    for sigma, rate in ((1.0, 0.01), (2.0, 1e-5), (47.0, 1 / 16), (5.0, 0.9))
    for order in (1.01, 22.0)
] + [(2.0, 0.01, 150.0), (20.0, 1e-3, 2000.0)]


@pytest.mark.parametrize(("sigma", "rate", "order"), CASES)
def test_a_poisson_sample_has_its_densities_divergence_to_ten_digits(sigma, rate, order) -> None:
    for first, second in PAIRS if rate == 0.01 and order < 50 else PAIRS[:1]:
        true = exact(sigma, rate, order, first, second)
        found = poisson_renyi(sigma, rate, first, second, order)
        assert 0 <= found / true - 1 < 1e-10
        assert poisson_renyi(1.001 * sigma, rate, first, second, order) < true  # the control


@pytest.mark.parametrize("sigma", [0.2, 0.3])
def test_with_little_noise_the_steps_of_the_sum_are_fine_enough(sigma: float) -> None:
    """Sampled records stand far apart: beside a sum of a million densities."""
    rate, order = 0.01, 1.01
    x, step = np.linspace(-60.0, 60.0, 1_200_001, retstep=True)
    one, other = (
        np.logaddexp(math.log1p(-rate) - x**2 / 2, math.log(rate) - (x - at / sigma) ** 2 / 2)
        for at in (1, -1)
    )
    moment = np.exp(order * one + (1 - order) * other).sum() * step / math.sqrt(2 * math.pi)
    true = math.log(moment) / (order - 1)
    assert 0 <= poisson_renyi(sigma, rate, 1, -1, order) / true - 1 < 1e-9


@pytest.mark.parametrize(
    ("mu", "rate", "order"),
    [(0.5, 0.01, 4.0), (1.0, 0.01, 12.0), (0.05, 0.3, 60.0), (2.0, 0.9, 1.5)],
)
def test_batches_have_the_divergence_of_their_profile(mu, rate, order) -> None:
    true = exact_batches(mu, rate, order)
    found = batches_renyi(mu, rate, order)
    assert 0 <= found / true - 1 < 1e-4
    assert Subsampled(Gaussian(mu), rate).renyi(order) == found
    assert batches_renyi(0.999 * mu, rate, order) < true  # the control


def test_a_step_beyond_the_largest_double_is_not_entered_as_one_on_all_rows(tmp_path) -> None:
    """At the order of ε = 1, δ = 10⁻⁶, where e^((a − 1)ε)·δ(ε) was no double."""
    order = filter_order(1.0, 1e-6)
    for sigma, rate, admitted in ((2.0, 0.01, 480), (2.5, 0.01, 757), (2.0, 0.001, 48_220)):
        one = PoissonSampled(sigma, rate)
        assert one.renyi(order) < 1e-3 * order * one.rho
        assert int(order * zcdp_rho(1.0, 1e-6) / one.renyi(order)) == admitted
    batches = Subsampled(Gaussian(0.5), 0.01)
    assert batches.renyi(order) < 1e-2 * order * batches.rho
    ledger = Ledger.create(tmp_path / "l", epsilon=1.0, delta=1e-6)
    fits, over = (
        Guarantee("tradeoff", "steps", curve=PoissonSampled(2.0, 0.01, steps))
        for steps in (480, 481)
    )
    assert ledger.can_afford(fits) and not ledger.can_afford(over)


@pytest.mark.parametrize(("sigma", "rate"), [(1 / 3, 0.01), (2.0, 1e-4), (0.05, 0.5)])
def test_where_steps_are_too_many_the_bound_is_of_the_other_kind(sigma, rate) -> None:
    for order in (3.0, 8.5, 40.0):
        found = poisson_renyi(sigma, rate, 1, -1, order)
        assert _binomial_renyi(1 / sigma, rate, order) >= found * (1 - 1e-10)
    far = 2e6 if sigma == 2.0 else 3e5
    entered = poisson_renyi(sigma, rate, 1, -1, far)
    limit = far / sigma**2 / 2 + math.log(rate)  # of the largest of the binomial terms
    assert limit < entered < 1.01 * limit < 0.5 * far * 2 / sigma**2
    assert poisson_renyi(sigma, rate, 1, -1, 1e12) == pytest.approx(2e12 / sigma**2)


def test_it_rises_with_the_order_the_rate_and_less_noise() -> None:
    orders = np.geomspace(1.0001, 1e5, 40)
    found = [PoissonSampled(3.0, 0.02).renyi(order) for order in orders]
    assert np.all(np.diff(found) > 0)
    assert np.all(np.array(found) <= orders * 2 / 3.0**2)
    for order in (1.5, 22.0, 300.0):
        rates = [PoissonSampled(3.0, q).renyi(order) for q in (0.0, 1e-4, 0.01, 0.5, 1.0)]
        assert rates == sorted(rates) and rates[0] == 0.0
        assert rates[-1] == pytest.approx(order * 2 / 3.0**2)


@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.5, 5.0)])
def test_steps_add_up_and_relations_differ(rate: float, sigma: float) -> None:
    one = PoissonSampled(sigma, rate)
    for order in (1.5, 4.0):
        found = one.renyi(order)
        assert replace(one, steps=300).renyi(order) == 300 * found
        usual = PoissonSampled(sigma, rate, relation="add_or_remove")
        assert usual.renyi(order) < found  # the other relation costs less
    assert not one.steady


@pytest.mark.parametrize("mu", [0.01, 0.5])
def test_batches_of_all_rows_have_the_divergence_of_a_gaussian(mu: float) -> None:
    for order in (1.1, 2.0, 9.0, 40.0):
        assert 0 <= batches_renyi(mu, 1.0, order) / (order * mu**2 / 2) - 1 < 1e-4
        assert Subsampled(Gaussian(mu), 0.2).renyi(order) <= order * mu**2 / 2


def test_of_others_only_what_is_known() -> None:
    half = Subsampled(Gaussian(0.5), 0.1)
    assert Composition(((half, 7),)).renyi(3.0) == pytest.approx(7 * half.renyi(3.0))
    assert not Composition(((half, 7), (Gaussian(1.0), 1))).steady
    assert Subsampled(Gaussian(0.5), 1.0).steady and Gaussian(1.0).steady
    lines = Piecewise(((0.0, 0.9), (0.9, 0.0)))
    assert math.isinf(lines.renyi(2.0))
    assert math.isinf(Subsampled(lines, 0.5).renyi(2.0))
    assert Subsampled(Gaussian(0.0), 0.5).renyi(2.0) == 0.0
    assert Subsampled(Gaussian(math.inf), 0.0).renyi(2.0) == 0.0
    assert math.isinf(Subsampled(Gaussian(math.inf), 0.5).renyi(2.0))
