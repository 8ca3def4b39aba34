"""Composed trade-offs: never too private, close where the truth is known, and honest tails."""

import builtins
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import Guarantee, compose, gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import (
    Approximate,
    BoundedRange,
    Composition,
    Gaussian,
    Laplace,
    Piecewise,
    Subsampled,
    compose_tradeoffs,
)
from rashomon_explorer.privacy.tradeoff.curves import from_dict
from tests.patience import processor_time

ALPHAS = np.concatenate([[0.0], np.logspace(-12, 0, 400)])
EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.5, 6.0])


@pytest.mark.parametrize(
    ("mu", "count"),
    [(0.1, 100), pytest.param(0.5, 9, marks=pytest.mark.law), (0.05, 1000), (2.0, 3)],
)
@pytest.mark.parametrize("grid", [1e-3, 1e-2])
def test_gaussians_numerically_against_their_closed_form(mu, count, grid):
    numeric, exact = Composition(((Gaussian(mu), count),), grid), Gaussian(mu * math.sqrt(count))
    found, truth = numeric.delta(EPSILONS), exact.delta(EPSILONS)
    assert np.all(found >= truth - 1e-15)
    error = numeric.epsilon_error
    assert error == pytest.approx(grid * count)
    assert np.all(found <= exact.delta(EPSILONS - error) + 2 * numeric.delta_error)
    assert np.all(numeric(ALPHAS) <= exact(ALPHAS) + 1e-15)
    if grid == 1e-3:
        assert numeric.epsilon(1e-5) == pytest.approx(exact.epsilon(1e-5), rel=2e-3)


def test_bounded_ranges_compose_to_less_than_pure_ones():
    many, worst = (Composition(((c, 20),)) for c in (BoundedRange(0.5), Approximate(0.5)))
    assert many.epsilon(1e-6) < worst.epsilon(1e-6) <= 10.0


def test_randomised_response_composes_as_binomials_do():
    epsilon, count = 0.4, 12
    p = 1 / (1 + math.exp(-epsilon))
    ones = np.arange(count + 1)
    ways = np.array([math.comb(count, k) for k in ones], dtype=float)
    first, second = (ways * q**ones * (1 - q) ** (count - ones) for q in (p, 1 - p))
    numeric = Composition(((Approximate(epsilon), count),), 0.4 / 100)
    for eps in EPSILONS:
        exact = np.maximum(first - math.exp(eps) * second, 0).sum()
        assert exact - 1e-15 <= numeric.delta(eps) <= exact + 1e-9


def test_a_sampled_gaussian_is_google_s_and_its_powers_are_not_below():
    from dp_accounting.pld import privacy_loss_distribution as pld

    # Poisson sampling when a record is removed has the same profile at ε ≥ 0 as C_q(G(μ)).
    rate, mu, count = 0.02, 1.0, 50
    theirs = pld.from_gaussian_mechanism(1 / mu, sampling_prob=rate).self_compose(count)
    once = pld.from_gaussian_mechanism(1 / mu, sampling_prob=rate)
    ours = Composition(((Subsampled(Gaussian(mu), rate), count),))
    for eps in (0.0, 0.1, 0.5):
        single = float(Subsampled(Gaussian(mu), rate).delta(eps))
        assert once.get_delta_for_epsilon(eps) == pytest.approx(single, rel=1e-3, abs=1e-9)
        assert ours.delta(eps) >= theirs.get_delta_for_epsilon(eps) - 1e-4
    assert ours.epsilon(1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=0.1)
    halved = Composition(((Subsampled(Gaussian(mu / 2), rate), count),))
    assert halved.epsilon(1e-5) < 0.8 * theirs.get_epsilon_for_delta(1e-5)


@settings(max_examples=12, deadline=None)
@given(
    curve=st.one_of(
        st.floats(0.01, 3).map(Gaussian),
        st.floats(0.01, 2).map(Laplace),
        st.builds(Subsampled, st.floats(0.2, 4).map(Gaussian), st.floats(0.001, 0.5)),
        st.builds(Approximate, st.floats(0.01, 1), st.floats(0, 0.05)),
    ),
    count=st.integers(1, 60),
)
def test_no_test_is_ever_said_to_be_worse_than_guessing(curve, count):
    """A true positive rate below the false positive rate is what glued one-sided curves report."""
    beta = Composition(((curve, count),))(ALPHAS)
    assert np.all(1 - beta >= ALPHAS)
    assert np.all(np.diff(beta) <= 0)
    assert np.all(beta <= curve(ALPHAS) + 1e-9)


def test_one_sided_curves_glued_together_are_below_the_envelope_s_honesty():
    """The negative control: 1 − δ − e^ε α alone, used beyond α = β, loses the tail."""
    curve = Gaussian(1.0)
    epsilon = np.linspace(0, 9, 200)
    glued = np.max(1 - curve.delta(epsilon)[:, None] - np.exp(epsilon)[:, None] * ALPHAS, axis=0)
    assert np.any(glued < curve(ALPHAS) - 0.01)


@pytest.mark.law
def test_finer_grids_change_little_and_cost_little_more_than_their_points():
    part = Subsampled(Gaussian(1.0), 0.01)
    coarse, fine = (Composition(((part, 200),), grid) for grid in (1e-3, 1e-4))
    assert fine.epsilon(1e-5) <= coarse.epsilon(1e-5) <= fine.epsilon(1e-5) * 1.002
    few = processor_time(lambda: Composition(coarse.parts, coarse.grid).epsilon(1e-5))
    many = processor_time(lambda: Composition(fine.parts, fine.grid).epsilon(1e-5))
    assert many < 40 * few  # ten times the points; a hundred by sums of products
    assert coarse.delta_error < 1e-9


def test_parts_are_merged_and_gaussians_stay_exact():
    assert compose_tradeoffs([(Gaussian(3.0), 1), (Gaussian(2.0), 4)]) == Gaussian(5.0)
    assert compose_tradeoffs([Gaussian(3.0), Gaussian(4.0)]) == Gaussian(5.0)
    assert compose_tradeoffs([]) == Gaussian(0.0)
    one = Laplace(0.5)
    nested = compose_tradeoffs([(compose_tradeoffs([(one, 2), (Gaussian(1.0), 1)]), 2), (one, 1)])
    assert nested == Composition(((Gaussian(math.sqrt(2)), 1), (one, 5)))
    assert nested.rho == pytest.approx(1 + 5 * 0.125)
    assert compose_tradeoffs([(one, 1), (Gaussian(0.0), 3)]) == one


def test_an_asymmetric_part_is_symmetrised_first():
    curve = Piecewise(((0.0, 1.0), (0.1, 0.3), (1.0, 0.0)))
    assert Composition(((curve, 2),)).parts == ((curve.symmetrised(), 2),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Composition(()), "at least one"),
        (lambda: Composition(((Gaussian(1.0), 0),)), "whole numbers"),
        (lambda: Composition(((Gaussian(1.0), 1),), -1.0), "grid must be > 0"),
    ],
)
def test_recipes_of_nothing_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_without_dp_accounting_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"rashomon-explorer\[accounting\]"):
        Composition(((Laplace(0.5), 2),)).epsilon(1e-6)


def test_importing_the_package_does_not_import_dp_accounting():
    code = "import rashomon_explorer.privacy.tradeoff, sys; print('dp_accounting' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


SAMPLED = Guarantee(
    "tradeoff",
    "sampled",
    rho=5.0,
    mu=math.sqrt(10.0),
    curve=Composition(((Subsampled(Gaussian(1.0), 0.01), 10),)),
)


def test_a_guarantee_uses_its_curve_and_keeps_it_through_json():
    assert SAMPLED.epsilon(1e-6) < gdp(SAMPLED.mu).epsilon(1e-6) / 5
    assert SAMPLED.delta(SAMPLED.epsilon(1e-6)) <= 1e-6
    assert Guarantee.from_dict(SAMPLED.to_dict()) == SAMPLED
    assert from_dict(SAMPLED.to_dict()["curve"]) == SAMPLED.curve
    assert "curve" not in gdp(1.0).to_dict()
    assert np.all(SAMPLED.tradeoff(ALPHAS) >= Gaussian(SAMPLED.mu)(ALPHAS))


def test_curves_compose_with_gaussians_and_are_dropped_beside_what_has_no_mu():
    both = compose([SAMPLED, gdp(0.5), SAMPLED])
    assert both.curve == Composition(((Gaussian(0.5), 1), (Subsampled(Gaussian(1.0), 0.01), 20)))
    assert both.epsilon(1e-6) > max(SAMPLED.epsilon(1e-6), gdp(0.5).epsilon(1e-6))
    assert compose([SAMPLED, pure(0.1)]).curve is None
    assert compose([SAMPLED, pure(0.1)]).epsilon(1e-6) > gdp(SAMPLED.mu).epsilon(1e-6)


def test_what_is_chosen_as_one_goes_counts_no_curve():
    from rashomon_explorer.privacy import adaptive_epsilon

    alone = Guarantee("tradeoff", "a curve and nothing else", curve=Laplace(0.5))
    assert adaptive_epsilon([SAMPLED], 1e-6) == pytest.approx(zcdp(5.0).epsilon(1e-6))
    assert adaptive_epsilon([alone], 1e-6) == math.inf


def test_a_curve_counts_by_itself():
    alone = Guarantee("tradeoff", "a curve and nothing else", curve=Laplace(0.5))
    assert alone.holds and alone.epsilon(0.0) == 0.5
    assert alone.delta(0.2) == Laplace(0.5).delta(0.2)
    assert np.all(alone.tradeoff(ALPHAS) == Laplace(0.5)(ALPHAS))
    assert str(alone).startswith("f-DP, a curve and nothing else")
    assert not compose([alone, pure(0.1)]).holds


def test_trade_offs_of_guarantees_without_a_curve():
    assert gdp(1.0).tradeoff(0.05) == pytest.approx(float(Gaussian(1.0)(0.05)))
    assert pure(1.0).tradeoff(0.1) == pytest.approx(float(Approximate(1.0)(0.1)))
    assert np.all(zcdp(0.5).tradeoff(ALPHAS) <= Gaussian(1.0)(ALPHAS) + 1e-12)
    assert zcdp(0.5).tradeoff(0.05) > 0.5
    assert zcdp(math.inf).tradeoff(0.3) == 0
