"""Proposals under a bowl: masses and laws by quadrature, kinks and thresholds included."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest

from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.rejection import candidates
from rashomon_explorer.mechanisms.rejection import quadratic_minorant as bowls
from rashomon_explorer.mechanisms.rejection.candidates import (
    Candidates,
    acceptance_share,
    bowl_pays,
)
from rashomon_explorer.mechanisms.rejection.envelope import Neighbourhood, Shifted
from rashomon_explorer.mechanisms.rejection.plane import plane_proposals
from rashomon_explorer.mechanisms.rejection.quadratic_minorant import (
    BowlProposal,
    CutNormal,
    Rest,
    least_bowl,
)
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import ks_against_quadrature, polar_grid, small_problem
from tests.mechanisms.samplers.test_plane import LOSSES, posed

LEVEL = 1e-3
LENS = Intersection(Shifted(Ball(1.5), (0.9, 0.0)), Ball(1.2))


def plane_of(target):
    return plane_proposals(target)[0].plane


class BowlOnly(Candidates):
    """Candidates that are proposed under a bowl, whether or not another law has less mass."""

    def __init__(self, target):
        never = {"bowl_pays": lambda *_: False, "envelope_pays": lambda *_: False}
        with patch.multiple(candidates, **never):
            super().__init__(target)
        self._proposal = least_bowl(target, plane_of(target))
        self._floors = [self._proposal.floor]


def exact(target, n_draws=3000, seed=1):
    with patch("rashomon_explorer.mechanisms.samplers.exponential.Candidates", BowlOnly):
        return collect(ExactSampler(), target, n_draws, np.random.default_rng(seed)).coef


def weight_by_quadrature(rest, used):
    """Integral of exp(−½·precision·‖s‖²) over the ball of what room is left."""
    edge = np.sqrt(rest.square - used)
    area = 2 * np.pi ** (rest.d / 2) / float(np.exp(_log_gamma(rest.d / 2)))
    return (
        area * quad(lambda s: s ** (rest.d - 1) * np.exp(-rest.precision * s * s / 2), 0, edge)[0]
    )


def _log_gamma(a):
    from scipy.special import gammaln

    return gammaln(a)


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("precision", [0.0, 0.3, 40.0])
def test_what_the_rest_weighs_and_how_fast_that_falls(d, precision):
    rest = Rest(d, precision, square=4.0)
    used = np.array([0.0, 0.5, 2.0, 3.9])
    known = [np.log(weight_by_quadrature(rest, one)) for one in used]
    assert rest.log_weight(used) == pytest.approx(known, abs=1e-8)
    step = 1e-6
    slopes = (rest.log_weight(used + step) - rest.log_weight(used)) / step
    assert rest.steepness(used) == pytest.approx(-2 * slopes, rel=1e-3, abs=1e-4)
    # Concave in what is used, or the tangents would not lie above.
    values = rest.log_weight(np.linspace(0, 3.999, 400))
    assert (np.diff(values, 2) <= 1e-9).all()


CORNERS = [
    ([0.0], [0.0], 1, 0.0, 1.0),
    ([3.0], [0.0], 1, 0.0, 2.0),
    ([200.0], [0.0], 2, 0.0, 2.0),  # all at the sphere
    ([1.0], [5000.0], 2, 0.0, 2.0),  # all near a slice through the centre
    ([3.0, -1.0], [10.0, 0.5], 3, 0.5, 1.5),
    ([0.0, 40.0], [1e6, 80.0], 6, 80.0, 1.0),  # the ball hardly cuts
    ([30.0], [1e-9], 40, 1e-9, 4.0),
]


@pytest.mark.parametrize(("pull", "precision", "d", "rest", "radius"), CORNERS)
def test_cut_normal_laws_and_their_masses(pull, precision, d, rest, radius):
    """The last coordinate's marginal by quadrature: the others only take room."""
    pull, precision = np.array(pull), np.array(precision)
    law = CutNormal(pull, precision, d, rest, radius)
    rng = np.random.default_rng(0)
    t, length = zip(*(law.sample(4000, rng) for _ in range(12)), strict=True)
    t, length = np.hstack(t), np.hstack(length)
    assert (np.sum(t**2, axis=0) + length**2 <= radius**2 * (1 + 1e-12)).all()
    kept = t.shape[1] / 48_000
    weight = Rest(d, rest, radius**2)
    if len(pull) == 1:
        places = np.append(np.linspace(-radius, radius, 4001), _around(law.middle[0], radius))
        places = np.unique(np.clip(places, -radius, radius))
        logs = weight.log_weight(places**2) - pull[0] * places - precision[0] * places**2 / 2
        density = np.exp(logs - logs.max())
        mass = np.trapezoid(density, places)
        assert np.log(kept) + law.log_mass == pytest.approx(np.log(mass) + logs.max(), abs=0.05)
        cumulative = np.append(0, np.cumsum(np.diff(places) * (density[1:] + density[:-1]) / 2))
        few = t[0, :3000]
        assert kstest(few, lambda x: np.interp(x, places, cumulative / mass)).pvalue > LEVEL
    # Beside t the squared length has the law that its weight says.
    few = slice(3000)
    square = np.sum(t[:, few] ** 2, axis=0)
    beside = weight.log_weight(square)
    inner = weight.log_weight(radius**2 - length[few] ** 2)
    assert kstest(np.exp(inner - beside), "uniform").pvalue > LEVEL


def _around(middle, radius):
    return middle + radius * np.concatenate(
        [-np.geomspace(1, 1e-6, 400), np.geomspace(1e-6, 1, 400)]
    )


def test_the_mass_of_two_coordinates_by_quadrature():
    law = CutNormal(np.array([3.0, -1.0]), np.array([10.0, 0.5]), 3, 0.5, 1.5)
    side = np.linspace(-1.5, 1.5, 1201)
    x, y = np.meshgrid(side, side)
    used = x**2 + y**2
    inside = used < 1.5**2
    logs = Rest(3, 0.5, 1.5**2).log_weight(np.where(inside, used, 0.0))
    density = inside * np.exp(logs - 3 * x + y - 5 * x**2 - 0.25 * y**2)
    mass = density.sum() * (side[1] - side[0]) ** 2
    t, _ = law.sample(200_000, np.random.default_rng(0))
    assert np.log(t.shape[1] / 200_000) + law.log_mass == pytest.approx(np.log(mass), abs=0.02)
    assert t[0].mean() == pytest.approx((density * x).sum() / density.sum(), abs=0.01)
    assert t[1].mean() == pytest.approx((density * y).sum() / density.sum(), abs=0.01)


def test_a_weight_that_is_not_concave_is_caught(monkeypatch):
    honest = Rest.log_weight
    monkeypatch.setattr(Rest, "log_weight", lambda self, used: honest(self, used) + 3 * used**2)
    with pytest.raises(EnvelopeError, match="above its tangent"):
        CutNormal(np.ones(1), np.zeros(1), 2, 0.0, 2.0).sample(1000, np.random.default_rng(0))


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(LOSSES),
    p=st.integers(2, 6),
    radius=st.floats(0.1, 20.0),
    ridge=st.sampled_from([0.0, 0.05, 3.0]),
    beta=st.sampled_from([1e-3, 5.0, 200.0, 1e6]),
    psi=st.sampled_from([0.0, 0.02, 5.0]),
    threshold=st.sampled_from(["hard", "smooth"]),
)
@settings(max_examples=20)
def test_proposals_lie_above_the_target_everywhere(
    seed, loss, p, radius, ridge, beta, psi, threshold
):
    """Brute force: the floor below the loss, and the proposal's density above the floor's."""
    problem, rng = posed(p, loss, radius, n=20, seed=seed, ridge=ridge), np.random.default_rng(seed)
    target = GibbsTarget(problem, beta, psi, threshold if psi else "hard")
    theta = problem.domain.uniform(p, 300, rng)
    theta[:, :100] *= radius * (1 - 1e-12) / np.linalg.norm(theta[:, :100], axis=0)
    excess = np.maximum(problem.value(theta) - problem.minimum.value, 0.0)
    proposal = least_bowl(target, plane_of(target))
    floor = proposal.floor(theta)
    assert (floor <= excess).all()
    t = proposal._basis.T @ theta
    length = np.linalg.norm(theta - proposal._basis @ t, axis=0)
    energy = proposal._energy(t, length)
    assert (energy <= target.energy(floor) * (1 + 1e-9) + 1e-9 * (1 + beta)).all()


@crossed(
    {
        "ridge": [0.0, 0.3],
        "loss": LOSSES,
        "beta, psi, threshold": [(8.0, 0.0, "hard"), (60.0, 0.03, "hard"), (60.0, 0.05, "smooth")],
    }
)
def test_two_parameter_parity_with_quadrature(loss, ridge, beta, psi, threshold):
    target = GibbsTarget(posed(2, loss, ridge=ridge), beta, psi, threshold)
    draws = exact(target)
    places, probabilities = polar_grid(target)
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(draws @ direction, direction @ places, probabilities)
        assert along > LEVEL


@pytest.mark.parametrize(
    ("loss", "beta", "psi", "radius"),
    [
        ("logistic", 0.01, 0.0, 2.0),  # hardly any loss
        ("hinge", 0.01, 0.0, 2.0),
        ("logistic", 3000.0, 0.0, 2.0),  # next to the minimum
        ("smoothed_hinge", 300.0, 0.0, 2.0),
        ("logistic", 40.0, 0.5, 2.0),  # nearly uniform
        ("hinge", 40.0, 0.5, 2.0),
        ("logistic", 2e4, 0.001, 0.3),  # a minimum on the sphere
        ("absolute", 10.0, 0.0, 0.3),
        ("logistic", 40.0, 0.0, 30.0),  # a sphere far away
    ],
)
def test_corners_of_the_law(loss, beta, psi, radius):
    target = GibbsTarget(posed(2, loss, radius=radius), beta, psi)
    draws = exact(target)
    places, probabilities = polar_grid(target)
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(draws @ direction, direction @ places, probabilities)
        assert along > LEVEL


def test_a_law_at_another_temperature_is_told_apart():
    problem = posed(2, "hinge")
    draws = exact(GibbsTarget(problem, 40.0, 0.0))
    places, probabilities = polar_grid(GibbsTarget(problem, 28.0, 0.0))
    along = [
        ks_against_quadrature(draws @ one, one @ places, probabilities)
        for one in (np.array([1.0, 0.0]), np.array([0.7, 0.7]))
    ]
    assert min(along) < LEVEL


@pytest.mark.parametrize(
    "domain",
    [LENS, Neighbourhood.of(Ball(2.0), np.array([1.2, 0.4]), 0.3)],
)
def test_on_other_domains_draws_are_those_of_the_ball_around_them(domain):
    target = GibbsTarget(posed(2, "hinge", n=20, domain=domain), 20.0, 0.01)
    draws = exact(target)
    radius, centre = bowls.ball_around(domain, 2)
    places = centre[:, None] + Ball(radius).uniform(2, 300_000, np.random.default_rng(1))
    places = places[:, domain.contains(places)]
    density = np.exp(target.log_density(places))
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(
            draws @ direction, direction @ places, density / density.sum()
        )
        assert along > LEVEL


@pytest.mark.parametrize("threshold", ["hard", "smooth"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999, 1.0])
def test_a_share_of_the_slope_lies_below_the_threshold(threshold, share):
    target = GibbsTarget(posed(2), 10.0, 0.05, threshold)
    losses = np.append(np.linspace(0, 0.2, 2001), 3.0)
    room = target.energy(losses) / 10.0 - share * losses + bowls._constant_of(target, share)
    assert -1e-12 < room.min() < 1e-6


def test_a_bowl_above_the_loss_is_caught(monkeypatch):
    honest = bowls._below

    def too_high(problem, risk, mean, covariance):
        return honest(problem, risk, mean, covariance).plus(0.05, 0.0)

    monkeypatch.setattr(bowls, "_below", too_high)
    with pytest.raises(EnvelopeError, match="below its certified bound"):
        exact(GibbsTarget(posed(2), 20.0, 0.0))


def test_a_proposal_that_is_above_its_own_floor_is_caught(monkeypatch):
    honest = BowlProposal._energy
    monkeypatch.setattr(BowlProposal, "_energy", lambda *args: honest(*args) + 0.5)
    with pytest.raises(EnvelopeError, match="above the certified one"):
        exact(GibbsTarget(posed(2), 20.0, 0.0))


def test_a_bowl_keeps_more_than_a_plane_and_is_made_where_it_pays():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 40)) / np.sqrt(40)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    problem = Problem(X, y, radius=15.0)
    target = GibbsTarget(problem, 4.0 / problem.constants.charged_oscillation, 0.0)
    plane = plane_proposals(target)[0]
    kept = acceptance_share(target, plane)
    assert bowl_pays(target, kept) and not bowl_pays(target, 0.2)
    found = least_bowl(target, plane.plane)
    assert acceptance_share(target, found) > 3 * kept
    assert isinstance(Candidates(target)._proposal, BowlProposal)
    assert not bowl_pays(GibbsTarget(small_problem(1), 10.0, 0.0), 0.0)
