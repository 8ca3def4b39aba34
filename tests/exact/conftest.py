"""Public numbers by hand, so that a price can be computed beside the code that charges it."""

import pytest

from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

RADIUS, RIDGE = 1.5, 0.5


@pytest.fixture
def ball():
    return Ball(RADIUS)


@pytest.fixture
def constants():
    """L₀ = L − mR = 1.25, so that Δ = 2L₀/n = 0.025; τ = 10⁻⁶·osc."""
    return Constants(n=100, p=3, L=2.0, M=1.5, m=RIDGE, osc=0.03)


@pytest.fixture
def kinked():
    """The same without smoothness: τ = 10⁻³·osc = 3·10⁻⁵, which then has weight."""
    return Constants(n=100, p=3, L=2.0, M=float("inf"), m=RIDGE, osc=0.03)


def exactly(value):
    """To the rounding of a few operations: no constant is a factor of 1 + 10⁻¹⁰."""
    return pytest.approx(value, rel=1e-10, abs=0.0)
