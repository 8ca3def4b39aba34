"""Composed trade-offs: never too private, close where the truth is known, and honest tails."""

import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rashomon_explorer.privacy import Guarantee, adaptive_epsilon, compose, composition_report
from rashomon_explorer.privacy.notions import gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import Approximate, BoundedRange, Gaussian, Laplace
from rashomon_explorer.privacy.tradeoff.composition import (
    Composition,
    compose_tradeoffs,
    connect_dots,
    masses,
)
from rashomon_explorer.privacy.tradeoff.curves import Piecewise
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled
from tests.patience import processor_time

ALPHAS = np.concatenate([[0.0], np.logspace(-12, 0, 400)])
EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.5, 6.0])


@pytest.mark.parametrize(
    ("mu", "count", "grid"),
    [
        (0.1, 100, 1e-3),
        (2.0, 3, 1e-2),
        *(pytest.param(*one, 1e-3, marks=pytest.mark.law) for one in ((0.5, 9), (0.05, 1000))),
    ],
)
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
    once = pld.from_gaussian_mechanism(1 / mu, sampling_prob=rate)
    theirs = once.self_compose(count)
    ours = Composition(((Subsampled(Gaussian(mu), rate), count),))
    for eps in (0.0, 0.1, 0.5):
        single = float(Subsampled(Gaussian(mu), rate).delta(eps))
        assert once.get_delta_for_epsilon(eps) == pytest.approx(single, rel=1e-3, abs=1e-9)
        assert ours.delta(eps) >= theirs.get_delta_for_epsilon(eps) - 1e-4
    assert ours.epsilon(1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=0.1)
    halved = Composition(((Subsampled(Gaussian(mu / 2), rate), count),))
    assert halved.epsilon(1e-5) < 0.8 * theirs.get_epsilon_for_delta(1e-5)


RATE, STEPS, DELTA = 0.01, 1000, 1e-5

PRV_SAMPLED = (1.81824, 1.82824, 1.83840)


@pytest.mark.parametrize(("relation", "known"), [("add_or_remove", 1.8282), ("replace", 2.8434)])
@pytest.mark.law
def test_a_thousand_sampled_gaussians_by_two_other_accountants(relation, known):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    event = dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(1.0))
    neighbours = f"{relation.upper()}_ONE"
    google = PLDAccountant(getattr(dp_accounting.NeighboringRelation, neighbours))
    google.compose(event, STEPS)
    ours = PoissonSampled(1.0, RATE, STEPS, relation).epsilon(DELTA)
    assert google.get_epsilon(DELTA) == pytest.approx(known, abs=1e-4)
    assert google.get_epsilon(DELTA) - 1e-4 <= ours
    # docs/composition.md: 1.828 and 2.843
    assert round(ours, 3) == round(known - 5e-5, 3)
    if relation == "add_or_remove":
        assert PRV_SAMPLED[0] <= ours <= PRV_SAMPLED[2]
        assert PRV_SAMPLED[1] == pytest.approx(ours, abs=1e-3)


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
    assert compose_tradeoffs([]) == Gaussian(0.0)
    one = Laplace(0.5)
    nested = compose_tradeoffs([(compose_tradeoffs([(one, 2), (Gaussian(1.0), 1)]), 2), (one, 1)])
    assert nested == Composition(((Gaussian(math.sqrt(2)), 1), (one, 5)))
    assert nested.rho == pytest.approx(1 + 5 * 0.125)
    assert compose_tradeoffs([(one, 1), (Gaussian(0.0), 3)]) == one
    curve = Piecewise(((0.0, 1.0), (0.1, 0.3), (1.0, 0.0)))
    assert Composition(((curve, 2),)).parts == ((curve.symmetrised(), 2),)


def test_loss_masses_sum_to_one_and_their_profile_is_no_lower():
    spacing, curve = 0.01, Laplace(0.5)
    probs, first, infinite = masses(
        connect_dots(np.asarray(curve.delta(np.arange(-100, 101) * spacing)), spacing)
    )
    assert probs.min() >= 0
    assert probs.sum() + infinite == pytest.approx(1.0, abs=1e-12)
    losses = (first + np.arange(len(probs))) * spacing
    for epsilon in (0.0, 0.105, 0.3, 0.6):
        gain = np.maximum(0.0, -np.expm1(epsilon - losses))
        assert gain @ probs + infinite >= curve.delta(epsilon) - 1e-12


def test_a_missing_or_another_dp_accounting_is_named(monkeypatch):
    attributes = {"_probs": [1.0], "_lower_loss": 0, "_infinity_mass": 0.0}
    for name in attributes:
        with pytest.raises(ImportError, match=rf"keeps no {name} in SimpleNamespace.*accounting\]"):
            masses(SimpleNamespace(**{k: v for k, v in attributes.items() if k != name}))
    for name in [name for name in sys.modules if name.split(".")[0] == "dp_accounting"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"rashomon-explorer\[accounting\]"):
        Composition(((Laplace(0.5), 2),)).epsilon(1e-6)
    rows = {row.method: row for row in composition_report([pure(0.1)] * 30, 1e-6)}
    assert "rashomon-explorer[accounting]" in rows["PLD"].why and rows["zCDP"].applies


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
ALONE = Guarantee("tradeoff", "a curve and nothing else", curve=Laplace(0.5))


def test_a_guarantee_uses_its_curve():
    assert SAMPLED.epsilon(1e-6) < gdp(SAMPLED.mu).epsilon(1e-6) / 5
    assert SAMPLED.delta(SAMPLED.epsilon(1e-6)) <= 1e-6
    assert np.all(SAMPLED.tradeoff(ALPHAS) >= Gaussian(SAMPLED.mu)(ALPHAS))
    assert ALONE.holds and ALONE.epsilon(0.0) == 0.5
    assert ALONE.delta(0.2) == Laplace(0.5).delta(0.2)
    assert np.all(ALONE.tradeoff(ALPHAS) == Laplace(0.5)(ALPHAS))
    assert str(ALONE).startswith("f-DP, a curve and nothing else")


def test_curves_compose_with_gaussians_and_are_dropped_beside_parts_without_mu():
    both = compose([SAMPLED, gdp(0.5), SAMPLED])
    assert both.curve == Composition(((Gaussian(0.5), 1), (Subsampled(Gaussian(1.0), 0.01), 20)))
    assert both.epsilon(1e-6) > max(SAMPLED.epsilon(1e-6), gdp(0.5).epsilon(1e-6))
    assert compose([SAMPLED, pure(0.1)]).curve is None
    assert compose([SAMPLED, pure(0.1)]).epsilon(1e-6) > gdp(SAMPLED.mu).epsilon(1e-6)
    assert not compose([ALONE, pure(0.1)]).holds
    # Adaptively chosen charges count no curve.
    assert adaptive_epsilon([SAMPLED], 1e-6) == pytest.approx(zcdp(5.0).epsilon(1e-6))
    assert adaptive_epsilon([ALONE], 1e-6) == math.inf
