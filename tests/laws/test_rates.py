"""Slopes of what methods of one model promise and reach, ±0.1."""

import numpy as np
import pytest

from benchmarks.rates import DELTA, TABLES, request_of, slope_of
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS

pytestmark = pytest.mark.law

N, P, EPSILON = (2_000, 4_000, 8_000, 16_000), (4, 8, 16, 32), (0.05, 0.1, 0.2, 0.4)
# Powers of n, p and ε; what a ridge of a method's own is worth is the root of its noise.
PROMISED = [
    ("unthresholded", 0.0, (-1, 1, -1)),
    ("moments", DELTA, (-1, 0.5, -1)),
    ("noisy_descent", DELTA, (-1, 0.5, -1)),
    ("langevin_average", DELTA, (-1, 0.5, -1)),
]


@pytest.mark.parametrize(("method", "delta", "powers"), PROMISED)
def test_promises_have_the_rates_that_are_printed(method, delta, powers):
    def promised(n, p, epsilon):
        return MECHANISMS[method].offer(request_of("quadratic", n, p, epsilon, delta)).excess

    found = [
        slope_of(N, [promised(n, 8, 0.2) for n in N]),
        slope_of(P, [promised(8_000, p, 0.2) for p in P]),
        slope_of(EPSILON, [promised(8_000, 8, epsilon) for epsilon in EPSILON]),
    ]
    assert found == pytest.approx(list(powers), abs=0.1)


def test_noisy_moments_are_of_second_order_where_the_best_model_is_inside():
    """Excess ∝ noise²: slope −2 in n, where the promise has −1."""
    reached = []
    for n in N:
        request = request_of("quadratic", n, 4, 4.0, DELTA)
        offer, posed = MECHANISMS["moments"].offer(request), TABLES["quadratic"](n, 4, 0.0)
        rng = np.random.default_rng(0)
        drawn = np.column_stack(
            [MECHANISMS["moments"].for_plan(offer.plan).draw(posed, rng) for _ in range(200)]
        )
        least = float(posed.value(np.full((4, 1), 0.3))[0])
        reached.append(float(posed.value(drawn).mean()) - least)
    assert slope_of(N, reached) == pytest.approx(-2, abs=0.15)
