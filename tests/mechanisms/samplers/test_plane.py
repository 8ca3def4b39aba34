"""Proposals under a plane: bounds, masses and laws by quadrature, losses with kinks included."""

from unittest.mock import patch

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, truncexpon, truncnorm

from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.rejection import candidates
from rashomon_explorer.mechanisms.rejection.candidates import acceptance_share, envelope_pays
from rashomon_explorer.mechanisms.rejection.envelope import Neighbourhood, Shifted
from rashomon_explorer.mechanisms.rejection.plane import (
    LineLaw,
    Plane,
    PlaneProposal,
    cut_chi_square,
    least_plane,
    log_chi_square_below,
    plane_proposals,
)
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import (
    ks_against_quadrature,
    line_law,
    polar_grid,
    small_problem,
)

LEVEL = 1e-3

LOSSES = ["logistic", "squared", "hinge", "smoothed_hinge", "absolute"]


def posed(p, loss="logistic", radius=2.0, n=60, seed=0, ridge=0.0, domain=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    score = X @ np.full(p, 1.5 / np.sqrt(p))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
    if loss in ("squared", "absolute"):
        y = np.clip(score + 0.2 * rng.standard_normal(n), -1, 1)
    setting = {"loss": loss, "intercept": False, "ridge": ridge}
    return Problem(X, y, radius=radius, domain=domain, **setting)


def exact(target, n_draws=3000, seed=0):
    """Draws that were proposed under a plane, whether or not another law would have paid."""
    never = {"bowl_pays": lambda *_: False, "envelope_pays": lambda *_: False}
    with patch.multiple(candidates, **never):
        return collect(ExactSampler(), target, n_draws, np.random.default_rng(seed)).coef


@pytest.mark.parametrize(
    ("log_density", "low", "high", "law", "mass"),
    [
        (lambda t: -(t**2) / 2, -1.0, 3.0, truncnorm(-1, 3), None),
        (lambda t: -50 * t, 0.0, 2.0, truncexpon(b=100, scale=0.02), (1 - np.exp(-100)) / 50),
        (lambda t: 1e6 * t, 0.0, 1.0, None, None),
    ],
)
def test_a_line_law_is_sampled_exactly_and_its_mass_lies_just_above(
    log_density, low, high, law, mass
):
    line = LineLaw(log_density, low, high)
    peak = max(float(log_density(np.array([t]))[0]) for t in (low, 0.0 if low < 0 else low, high))
    true = mass or quad(
        lambda t: np.exp(log_density(np.array([t]))[0] - peak), low, high, points=[high - 1e-5]
    )[0] * np.exp(min(peak, 0.0))
    above = line.log_mass - max(peak, 0.0) - np.log(true)
    assert 0 <= above < 0.02
    draws = line.sample(4000, np.random.default_rng(0))
    assert low <= draws.min() and draws.max() <= high
    if law is not None:
        assert kstest(draws, law.cdf).pvalue > LEVEL
        assert line.mean == pytest.approx(law.mean(), abs=1e-3)


def test_a_density_that_is_not_concave_is_caught():
    wavy = LineLaw(lambda t: 3 * np.sin(2000 * t), 0.0, 1.0)
    with pytest.raises(EnvelopeError, match="not concave"):
        wavy.sample(4000, np.random.default_rng(0))


@pytest.mark.parametrize("degrees", [1, 2, 30, 700])
def test_the_chi_square_that_is_cut(degrees):
    x = degrees * np.array([1e-3, 0.3, 0.79, 0.81, 1.0, 3.0])
    logs = [mpmath.log(mpmath.gammainc(degrees / 2, 0, cut / 2, regularized=True)) for cut in x]
    known = np.array(logs, dtype=float)
    assert log_chi_square_below(degrees, x) == pytest.approx(known, rel=1e-9, abs=1e-12)
    assert (np.diff(log_chi_square_below(degrees, degrees * np.geomspace(1e-4, 4, 500))) >= 0).all()
    for cut, log in zip(x, known, strict=True):
        values = cut_chi_square(degrees, np.full(4000, cut), np.random.default_rng(1))
        share = np.exp(log_chi_square_below(degrees, values) - log)
        assert kstest(share, "uniform").pvalue > LEVEL
    assert cut_chi_square(3, np.zeros(2), np.random.default_rng(0)).tolist() == [0.0, 0.0]


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(LOSSES),
    p=st.integers(1, 6),
    radius=st.floats(0.1, 20.0),
    ridge=st.sampled_from([0.0, 0.05, 3.0]),
)
@settings(max_examples=50)
def test_planes_lie_below_the_loss(seed, loss, p, radius, ridge):
    problem, rng = posed(p, loss, radius, n=20, seed=seed, ridge=ridge), np.random.default_rng(seed)
    theta = problem.domain.uniform(p, 200, rng)
    excess = np.maximum(problem.value(theta) - problem.minimum.value, 0.0)
    for kept in {0.0, ridge}:
        one, other = (Plane.at(problem, theta[:, k], kept) for k in (0, 1))
        for plane in (one, other, one.towards(other, rng.random())):
            assert (plane.floor(theta) <= excess).all()


def test_more_ridge_than_there_is_would_lift_a_plane_above_the_loss():
    problem = posed(2, "hinge", radius=5.0, ridge=0.1)
    theta = problem.domain.uniform(2, 500, np.random.default_rng(0))
    excess = problem.value(theta) - problem.minimum.value
    for kept, lies_below in ((0.1, True), (0.2, False)):
        floors = [Plane.at(problem, theta[:, k], kept).floor(theta) for k in range(20)]
        assert (np.max(floors, axis=0) <= excess).all() == lies_below


@crossed(
    {
        "ridge": [0.0, 0.1],
        "loss": LOSSES,
        "beta, psi, threshold": [(6.0, 0.0, "hard"), (60.0, 0.05, "hard"), (60.0, 0.05, "smooth")],
    }
)
def test_one_parameter_parity_with_quadrature(loss, ridge, beta, psi, threshold):
    target = GibbsTarget(posed(1, loss, ridge=ridge), beta, psi, threshold)
    assert ks_against_quadrature(exact(target)[:, 0], *line_law(target)) > LEVEL


@crossed(
    {
        "ridge": [0.0, 0.3],
        "loss": ["logistic", "hinge", "absolute"],
        "beta, psi": [(8.0, 0.0), (60.0, 0.03)],
    }
)
def test_two_parameter_parity_with_quadrature(loss, ridge, beta, psi):
    target = GibbsTarget(posed(2, loss, ridge=ridge), beta, psi)
    draws = exact(target)
    places, probabilities = polar_grid(target)
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(draws @ direction, direction @ places, probabilities)
        assert along > LEVEL


def test_a_law_at_another_temperature_is_told_apart():
    problem = posed(1, "hinge")
    draws = exact(GibbsTarget(problem, 30.0, 0.02))[:, 0]
    assert ks_against_quadrature(draws, *line_law(GibbsTarget(problem, 20.0, 0.02))) < LEVEL


def test_on_an_interval_draws_are_those_of_the_ball_around_it_that_lie_inside():
    target = GibbsTarget(
        posed(1, domain=Intersection(Shifted(Ball(0.7), (-0.2,)), Ball(1.0))), 10.0, 0.01
    )
    places = np.linspace(-0.5, 0.9, 20_001)
    density = np.exp(target.log_density(places[None, :] * (1 - 1e-12)))
    assert ks_against_quadrature(exact(target)[:, 0], places, density / density.sum()) > LEVEL


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_near_a_model_the_ball_around_it_is_used(ridge):
    domain = Neighbourhood.of(Ball(2.0), np.array([1.2, 0.4]), 0.3)
    target = GibbsTarget(posed(2, "hinge", n=20, domain=domain, ridge=ridge), 80.0, 0.0)
    draws = exact(target)
    places = domain.middle[:, None] + Ball(0.3).uniform(2, 200_000, np.random.default_rng(1))
    places = places[:, domain.contains(places)]
    density = np.exp(target.log_density(places))
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(
            draws @ direction, direction @ places, density / density.sum()
        )
        assert along > LEVEL


@pytest.mark.parametrize(("p", "ridge"), [(1, 0.0), (1, 0.4), (2, 0.0), (2, 0.4), (3, 0.4)])
@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_masses_are_what_the_proposals_weigh(p, ridge, psi):
    target = GibbsTarget(posed(p, ridge=ridge), 15.0, psi)
    rng = np.random.default_rng(0)
    for proposal in plane_proposals(target):
        theta = target.problem.domain.uniform(p, 400_000, rng)
        weights = np.exp(-proposal._energy(theta) + 20)
        volume = target.problem.domain.log_volume_bound(p)
        log_mass = volume + np.log(weights.mean()) - 20
        noise = weights.std() / weights.mean() / np.sqrt(weights.size)
        assert proposal.log_mass == pytest.approx(log_mass, abs=5 * noise + 0.01)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_no_tangent_leaves_much_less_mass_than_the_plane_that_is_found(loss, ridge):
    target = GibbsTarget(posed(5, loss, ridge=ridge), 40.0, 0.0)
    found = PlaneProposal(target, least_plane(target, ridge)).log_mass
    tangents = target.problem.domain.uniform(5, 300, np.random.default_rng(0)).T * 0.8
    masses = [
        PlaneProposal(target, Plane.at(target.problem, theta, ridge), 128).log_mass
        for theta in tangents
    ]
    assert found < min(masses) + 0.1


def test_a_plane_above_the_loss_is_caught(monkeypatch):
    honest = Plane.at

    def too_high(problem, theta, ridge):
        plane = honest(problem, theta, ridge)
        return Plane(plane.slope, plane.height + 0.05, plane.ridge)

    monkeypatch.setattr(Plane, "at", too_high)
    with pytest.raises(EnvelopeError, match="below its certified bound"):
        exact(GibbsTarget(posed(2), 20.0, 0.0))


def test_many_columns_and_few_rows_are_drawn_from_at_once():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 40)) / np.sqrt(40)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    for loss in ("logistic", "hinge"):
        problem = Problem(X, y, loss=loss)
        target = GibbsTarget(problem, 4.0 / problem.constants.charged_oscillation, 0.02)
        drawn = collect(ExactSampler(), target, 20, rng)
        assert drawn.coef.shape == (20, 41) and drawn.acceptance > 1e-3


def test_an_envelope_is_made_where_it_pays():
    def pays(target):
        plane = min(plane_proposals(target), key=lambda one: one.log_mass)
        return envelope_pays(target, acceptance_share(target, plane))

    assert pays(GibbsTarget(small_problem(2, radius=4.0, n=500), 5000.0, 0.01))
    assert not pays(GibbsTarget(posed(30, n=200), 20.0, 0.01))
    assert not pays(GibbsTarget(posed(2, "hinge", n=500), 5000.0, 0.01))
