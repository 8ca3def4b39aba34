"""The Gaussian trade-off below pure DP and below bounded range: as high as it can be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.privacy.conversions import bounded_range_mu, pure_mu
from rashomon_explorer.privacy.tradeoff import Approximate, BoundedRange, Gaussian

ALPHAS = np.concatenate([np.logspace(-14, -0.3, 300), 1 - np.logspace(-14, -0.3, 300)])
CASES = [(pure_mu, Approximate), (bounded_range_mu, BoundedRange)]


@pytest.mark.parametrize(("mu", "curve"), CASES)
@given(size=st.floats(1e-6, 30.0))
def test_a_gaussian_lies_below(mu, curve, size):
    assert np.all(Gaussian(mu(size))(ALPHAS) <= curve(size)(ALPHAS) + 1e-14)


@pytest.mark.parametrize(("mu", "curve"), CASES)
@pytest.mark.parametrize("size", [0.01, 0.5, 2.0, 8.0])
def test_a_smaller_one_does_not(mu, curve, size):
    width = size if curve is Approximate else size / 2
    middle = 1 / (1 + math.exp(width))  # where both curves equal α
    assert curve(size)(middle) == pytest.approx(middle)
    assert Gaussian(0.999 * mu(size))(middle) > curve(size)(middle)


def test_the_ends():
    assert pure_mu(0.0) == bounded_range_mu(0.0) == 0
    assert pure_mu(math.inf) == math.inf
    assert pure_mu(1e-4 * (1 - 1e-9)) == pytest.approx(pure_mu(1e-4), rel=1e-7)
