"""Poisson-sampled Gaussians: quadrature, brute force over records, and the neighbours said."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy.tradeoff import Composition, Gaussian, PoissonSampled
from tests.crossing import crossed

RELATIONS = ("replace", "add_or_remove")


def bell(x):
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def integrated(epsilon, first, second, rate, sigma):
    """∫ max(0, p − e^ε q), by the trapezoidal rule."""
    reach = 10 + 2 / sigma
    x = np.linspace(-reach, reach, 400_001)
    p, q = ((1 - rate) * bell(x) + rate * bell(x - place / sigma) for place in (first, second))
    return np.trapezoid(np.maximum(0.0, p - math.exp(epsilon) * q), x)


@crossed(
    {
        "rate": [0.01, 0.3, 1.0],
        "sigma": [0.5, 1.0, 4.0],
        "epsilon": [0.0, 0.05, 0.6, 2.0],
    }
)
def test_one_step_is_the_integral_of_both_orders(rate, sigma, epsilon):
    replaced = PoissonSampled(sigma, rate).delta(epsilon)
    assert replaced == pytest.approx(integrated(epsilon, 1, -1, rate, sigma), rel=1e-5, abs=1e-12)
    removed = integrated(epsilon, 1, 0, rate, sigma)
    added = integrated(epsilon, 0, 1, rate, sigma)
    either = PoissonSampled(sigma, rate, relation="add_or_remove").delta(epsilon)
    assert either == pytest.approx(max(removed, added), rel=1e-5, abs=1e-12)


@given(
    st.floats(0.3, 5.0),
    st.floats(0.001, 0.999),
    st.floats(0.0, 3.0),
    st.tuples(*[st.floats(-1, 1)] * 4),
)
@settings(max_examples=60)
def test_no_two_records_in_the_plane_tell_more(sigma, rate, epsilon, places):
    """Brute force on a grid of the plane: any records of norm 1 or less, not only opposite ones."""
    first, second = np.array(places[:2]), np.array(places[2:])
    first /= max(1.0, np.linalg.norm(first)) * sigma
    second /= max(1.0, np.linalg.norm(second)) * sigma
    axis = np.linspace(-9, 9, 241)
    x, y = np.meshgrid(axis, axis)

    def law(place):
        taken = bell(x - place[0]) * bell(y - place[1])
        return (1 - rate) * bell(x) * bell(y) + rate * taken

    cell = (axis[1] - axis[0]) ** 2
    found = np.maximum(0, law(first) - math.exp(epsilon) * law(second)).sum() * cell
    assert found <= PoissonSampled(sigma, rate).delta(epsilon) + 1e-4


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.3, 0.5), (8.0, 1e-4)])
@pytest.mark.parametrize("epsilon", ["-3", "-0.005", "0.004", "0.7", "6", "30"])
def test_forty_digits_are_never_above(relation, sigma, rate, epsilon):
    with mpmath.workdps(40):
        e, q, m = mpmath.mpf(epsilon), mpmath.mpf(rate), 1 / mpmath.mpf(sigma)

        def above(edge, place):
            return (1 - q) * mpmath.ncdf(-edge) + q * mpmath.ncdf(place * m - edge)

        def best(first, second):
            def ratio(x):
                mass = [
                    1 - q + q * mpmath.exp(a * m * x - (a * m) ** 2 / 2) for a in (first, second)
                ]
                return mass[0] / mass[1] - mpmath.exp(e)

            low, high = mpmath.mpf(-500) * sigma, mpmath.mpf(500) * sigma
            if ratio(low) > 0:
                return 1 - mpmath.exp(e)
            if ratio(high) < 0:
                return mpmath.mpf(0)
            for _ in range(160):
                middle = (low + high) / 2
                low, high = (middle, high) if ratio(middle) < 0 else (low, middle)
            return above(low, first) - mpmath.exp(e) * above(low, second)

        curve = PoissonSampled(sigma, rate, relation=relation)
        for one in curve._directions:  # each order by itself, also where the ratio is below 1
            exact = best(one.first, one.second)
            found = mpmath.mpf(float(one.delta(float(epsilon))))
            assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -13


def test_everyone_taken_is_the_gaussian_mechanism():
    assert PoissonSampled(2.0, 1.0).epsilon(1e-5) == pytest.approx(Gaussian(1.0).epsilon(1e-5))
    usual = PoissonSampled(2.0, 1.0, relation="add_or_remove")
    assert usual.epsilon(1e-5) == pytest.approx(Gaussian(0.5).epsilon(1e-5))
    assert PoissonSampled(2.0, 0.0).epsilon(0.0) == 0.0 == PoissonSampled(2.0, 0.0).rho


def test_a_replaced_record_costs_more_than_one_removed_and_less_than_twice_removing():
    for steps in (1, 200):
        replaced = PoissonSampled(1.0, 0.02, steps)
        removed = PoissonSampled(1.0, 0.02, steps, "add_or_remove")
        assert removed.epsilon(1e-6) < replaced.epsilon(1e-6)
    once = PoissonSampled(1.0, 0.02, relation="add_or_remove")
    for epsilon in (0.05, 0.5, 1.5):  # a replacement is a removal and an addition
        twice = (1 + math.exp(epsilon)) * once.delta(epsilon)
        assert PoissonSampled(1.0, 0.02).delta(2 * epsilon) <= twice


def test_half_the_noise_and_half_the_rate_are_told_apart():
    """Negative control."""
    honest = PoissonSampled(1.0, 0.01, 100).epsilon(1e-5)
    assert PoissonSampled(2.0, 0.01, 100).epsilon(1e-5) < 0.7 * honest
    assert PoissonSampled(1.0, 0.005, 100).epsilon(1e-5) < 0.9 * honest


def test_steps_compose_and_rho_adds_up():
    one = PoissonSampled(1.0, 0.01)
    together = Composition(((one, 50),), 2e-4).epsilon(1e-5)
    assert together == pytest.approx(PoissonSampled(1.0, 0.01, 50).epsilon(1e-5), rel=1e-3)
    assert one.rho == 2.0 and PoissonSampled(1.0, 0.01, 3, "add_or_remove").rho == 1.5
