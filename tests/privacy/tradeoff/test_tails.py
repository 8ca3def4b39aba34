"""Divergences of sampled rows by δ(ε), beside integrals of the densities; never below."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from rashomon_explorer.privacy.tradeoff import (
    Composition,
    Gaussian,
    Piecewise,
    PoissonSampled,
    Subsampled,
    TradeOff,
)
from rashomon_explorer.privacy.tradeoff.tails import renyi_of_profile


def exact(rate: float, sigma: float, order: float) -> float:
    """log ∫P^a Q^(1 − a) over (a − 1), for a record replaced by its opposite."""
    far = 14 + 4 * order / sigma
    x = np.linspace(-far, far, 400_001)
    rest = math.log1p(-rate) + norm.logpdf(x)
    first, second = (
        np.logaddexp(rest, math.log(rate) + norm.logpdf(x, place / sigma)) for place in (1, -1)
    )
    more = np.exp(order * first + (1 - order) * second) - np.exp(first)
    return math.log1p(float(np.trapezoid(more, x))) / (order - 1)


@pytest.mark.parametrize(("rate", "sigma"), [(1 / 16, 47.0), (0.01, 1.0), (0.1, 2.0), (0.5, 5.0)])
def test_sampled_rows_tell_what_their_densities_do(rate: float, sigma: float) -> None:
    for order in (1.5, 4.0, 8.0):
        one = PoissonSampled(sigma, rate)
        found, true = one.renyi_bound(order), exact(rate, sigma, order)
        assert 1.0 < found / true < 1.03
        assert replace(one, steps=300).renyi_bound(order) == 300 * found
        halved = PoissonSampled(2 * sigma, rate)
        assert halved.renyi_bound(order) < true  # the control: half the records' norm
        usual = PoissonSampled(sigma, rate, relation="add_or_remove")
        assert usual.renyi_bound(order) < 0.7 * true  # and the other relation
    assert not one.steady


@pytest.mark.parametrize("mu", [0.01, 0.5, 3.0])
def test_of_gaussians_it_is_theirs(mu: float) -> None:
    for order in (1.1, 2.0, 9.0, 40.0):
        loose = renyi_of_profile(Gaussian(mu).delta, 1.01 * mu, order)
        assert 1.0 < loose / (order * mu**2 / 2) <= 1.0202
        sampled = Subsampled(Gaussian(mu), 0.2)
        assert sampled.renyi_bound(order) <= order * mu**2 / 2
        if order * mu < 10:
            assert sampled.renyi(order) <= sampled.renyi_bound(order) * (1 + 1e-6)
            assert sampled.renyi_bound(order) < 1.01 * sampled.renyi(order)


def test_of_others_only_what_is_known() -> None:
    half = Subsampled(Gaussian(0.5), 0.1)
    assert Composition(((half, 7),)).renyi_bound(3.0) == pytest.approx(7 * half.renyi_bound(3.0))
    assert not Composition(((half, 7), (Gaussian(1.0), 1))).steady
    assert Subsampled(Gaussian(0.5), 1.0).steady and Gaussian(1.0).steady
    lines: TradeOff = Piecewise(((0.0, 0.9), (0.9, 0.0)))
    assert math.isinf(lines.renyi_bound(2.0))
    assert math.isinf(Subsampled(lines, 0.5).renyi_bound(2.0))
