"""Exact draws on intersections and neighbourhoods, by their laws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.rejection.envelope import (
    Envelope,
    Neighbourhood,
    Shifted,
    Tangent,
    parts,
)
from rashomon_explorer.mechanisms.rejection.proposals import (
    Face,
    FaceProposal,
    RadialProposal,
    UniformProposal,
    tightest_proposal,
)
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import LocalProblem
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import ks_against_quadrature

LEVEL = 1e-3


def is_steep(tangent):
    """Whether the slope is more than a solver's rounding."""
    return np.linalg.norm(tangent.pull) > 1e-2


def posed(domain, truth, loss="logistic", n=60, seed=0, ridge=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(truth)))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    score = X @ np.array(truth)
    if loss == "squared":
        y = np.clip(score + 0.2 * rng.standard_normal(n), -1, 1)
    else:
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
        y = (y + 1) / 2 if isinstance(loss, SoftmaxLoss) else y
    setting = {"loss": loss, "domain": domain, "intercept": False, "ridge": ridge}
    return Problem(X, y, **setting)


def exact(target, n_draws=3000, seed=0):
    return collect(ExactSampler(), target, n_draws, np.random.default_rng(seed))


def cells(target):
    """A point anywhere in each cell that matters, and its probability (p = 2).

    Not the middles, so that edges and flat pieces make no steps.
    """
    rng = np.random.default_rng(1)
    domain = target.problem.domain
    high, low = domain.support(np.eye(2)), -domain.support(-np.eye(2))
    for points in (100, 180):
        width = (high - low) / points
        corners = np.indices((points, points)).reshape(2, -1)
        theta = low[:, None] + (corners + rng.random(corners.shape)) * width[:, None]
        theta = theta[:, domain.contains(theta)]
        density = np.exp(target.log_density(theta))
        matters = theta[:, density > 1e-6 * density.max()]
        low = np.maximum(low, matters.min(axis=1) - width)
        high = np.minimum(high, matters.max(axis=1) + width)
    return theta, density / density.sum()


def check_law(draws, law, directions=((1.0, 0.0), (0.0, 1.0), (0.6, -0.8), (0.6, 0.8))):
    """Compare with the law that :func:`cells` gives."""
    places, probabilities = law
    for direction in directions:
        along = ks_against_quadrature(draws @ direction, direction @ places, probabilities)
        assert along > LEVEL


LENS = Intersection(Shifted(Ball(1.0), (0.5, 0.0)), Ball(0.8))
LINE = Intersection(Shifted(Ball(0.7), (0.2,)), Ball(0.8))  # from −0.8 to 0.5
CASES = [
    pytest.param(LENS, (0.1, 0.1), id="inside"),
    pytest.param(LENS, (5.0, 0.2), id="on-the-body"),
    pytest.param(LENS, (-5.0, 0.2), id="on-the-ball"),
    pytest.param(LENS, (3.0, 5.0), id="on-both"),
    pytest.param(Intersection(Ball(2.0), Ball(0.7)), (3.0, 3.0), id="one-ball-in-another"),
]


@crossed(
    {
        "domain, truth": CASES,
        "loss, beta, psi": [
            ("logistic", 5.0, 0.0),
            ("logistic", 400.0, 0.02),
            ("squared", 150.0, 0.0),
        ],
    }
)
def test_two_parameter_parity_with_quadrature(domain, truth, loss, beta, psi):
    target = GibbsTarget(posed(domain, truth, loss), beta, psi)
    draws = exact(target)
    assert domain.contains(draws.coef.T * (1 - 1e-5)).all()
    check_law(draws.coef, cells(target))


@crossed(
    {
        "truth": [0.2, 5.0, -5.0],
        "domain": [LINE, Ball(0.8)],
        "beta, psi": [(5.0, 0.0), (400.0, 0.0), (400.0, 0.02)],
    }
)
def test_one_parameter_parity_with_quadrature(domain, truth, beta, psi):
    target = GibbsTarget(posed(domain, (truth,)), beta, psi)
    low, high = -domain.support(np.array([[-1.0]]))[0], domain.support(np.array([[1.0]]))[0]
    places = np.linspace(low, high, 20_001)
    density = np.exp(target.log_density(places[None, :] * (1 - 1e-12)))
    draws = exact(target).coef[:, 0]
    assert ks_against_quadrature(draws, places, density / density.sum()) > LEVEL


@crossed(
    {
        "loss": [SoftmaxLoss(2), "smoothed_hinge"],
        "domain, truth": [(LENS, (3.0, 5.0)), (LENS, (6.0, 0.2))],
    }
)
def test_other_losses_have_their_law_on_corners_too(loss, domain, truth):
    target = GibbsTarget(posed(domain, truth, loss, n=20), 200.0, 0.01)
    check_law(exact(target).coef, cells(target))


def test_a_law_at_another_temperature_is_told_apart():
    problem = posed(LENS, (3.0, 5.0))
    draws = exact(GibbsTarget(problem, 60.0, 0.0)).coef
    with pytest.raises(AssertionError):
        check_law(draws, cells(GibbsTarget(problem, 45.0, 0.0)))


@pytest.mark.parametrize(("domain", "truth"), CASES[1:4])
@pytest.mark.law
def test_the_law_does_not_depend_on_the_proposal(domain, truth, monkeypatch):
    target = GibbsTarget(posed(domain, truth), 60.0, 0.005)
    envelope = Envelope.of(target)
    pad = envelope.least_pad
    possible = [UniformProposal(target), RadialProposal(target, envelope, pad)]
    if is_steep(envelope.tangent):
        face = Face.of(target.problem, envelope.tangent)
        possible.append(FaceProposal(target, envelope, face, pad + 0.1))
    law = cells(target)
    for proposal in possible:
        monkeypatch.setattr(
            "rashomon_explorer.mechanisms.rejection.candidates.tightest_proposal",
            lambda target, envelope, proposal=proposal: proposal,
        )
        draws = exact(target, 2000).coef
        check_law(draws, law, directions=((0.6, -0.8), (0.8, 0.6)))


def test_each_way_to_bind_has_its_proposal():
    def chosen(truth):
        target = GibbsTarget(posed(LENS, truth, n=400), 4000.0, 0.0)
        return tightest_proposal(target, Envelope.of(target))

    assert isinstance(chosen((0.1, 0.1)), RadialProposal)
    assert isinstance(chosen((9.0, 0.2)), FaceProposal)
    ball = Envelope.of(GibbsTarget(posed(LENS, (-5.0, 0.2)), 60.0, 0.0))
    assert ball.multiplier > 0
    hot = GibbsTarget(posed(LENS, (0.1, 0.1)), 0.01, 0.0)
    assert isinstance(tightest_proposal(hot, Envelope.of(hot)), UniformProposal)


DOMAINS = {
    "lens": lambda p, size: Intersection(
        Shifted(Ball(size), (size / 2, *(0.0,) * (p - 1))), Ball(0.8 * size)
    ),
    "one_in_another": lambda p, size: Intersection(Ball(2 * size), Ball(size)),
    "two_balls": lambda p, size: Neighbourhood.of(
        Ball(size), np.full(p, 0.6 * size / np.sqrt(p)), 0.5 * size
    ),
}


ANY = given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared", SoftmaxLoss(2), "smoothed_hinge"]),
    name=st.sampled_from(sorted(DOMAINS)),
    p=st.integers(1, 5),
    size=st.floats(0.2, 5.0),
    beta=st.floats(0.01, 1e4),
    scale=st.floats(0.0, 8.0),
)


@pytest.mark.law
@ANY
@settings(max_examples=300, deadline=None)
def test_envelope_and_faces_of_twenty_times_as_many_problems_do(
    seed, loss, name, p, size, beta, scale
):
    stays_below(seed, loss, name, p, size, beta, scale)


@ANY
@settings(max_examples=15, deadline=None)
def test_envelope_and_faces_stay_below_the_loss(seed, loss, name, p, size, beta, scale):
    stays_below(seed, loss, name, p, size, beta, scale)


def stays_below(seed, loss, name, p, size, beta, scale):
    rng = np.random.default_rng(seed)
    domain = DOMAINS[name](p, size)
    wide = domain.domain if isinstance(domain, Neighbourhood) else domain
    problem = posed(wide, rng.standard_normal(p) * scale, loss, n=25, seed=seed)
    if isinstance(domain, Neighbourhood):
        problem = LocalProblem(problem, domain)
    target = GibbsTarget(problem, beta, 0.01)
    envelope = Envelope.of(target)
    spread = rng.standard_normal((p, 200)) * size * rng.random(200)
    theta = domain.project(problem.minimum.theta[:, None] + spread)
    theta = theta[:, domain.contains(theta)]
    excess = np.maximum(target.excess(theta), 0.0)
    assert (envelope.sharper_floor(theta) <= excess).all()
    assert (envelope.floor(theta, envelope.least_pad + 0.3) <= excess).all()
    assert problem.minimum.gap <= problem.constants.gap_tolerance
    pull = envelope.tangent.pull @ (theta - envelope.centre[:, None])
    rounding = 1e-12 * (1 + problem.L * size)
    assert (pull >= -envelope.tangent.gap - rounding).all()
    if is_steep(envelope.tangent):
        face = Face.of(problem, envelope.tangent)
        depth = face.pull @ theta + face.offset
        assert (depth >= -rounding).all()
        assert (depth <= pull + face.gap + rounding).all()
        assert depth.max() <= face.deepest + rounding


@pytest.mark.parametrize("truth", [(6.0, 0.2), (3.0, 5.0)])
def test_a_face_places_models_at_their_depths(truth):
    problem = posed(LENS, truth, n=300)
    tangent = Tangent.of(problem)
    face = Face.of(problem, tangent)
    assert is_steep(tangent)
    depth = np.random.default_rng(0).standard_exponential(50)
    linear = tangent.pull @ (face.place(depth) - problem.minimum.theta[:, None])
    np.testing.assert_allclose(depth, linear + face.gap, atol=1e-9)


@pytest.mark.parametrize(("domain", "truth"), [(LENS, (3.0, 5.0)), (LENS, (6.0, 0.2))])
def test_a_spoiled_envelope_is_caught(domain, truth, monkeypatch):
    honest = Envelope.sharper_floor
    monkeypatch.setattr(Envelope, "sharper_floor", lambda self, theta: 1.3 * honest(self, theta))
    with pytest.raises(EnvelopeError, match="below its certified bound"):
        exact(GibbsTarget(posed(domain, truth), 60.0, 0.02), 500)


def test_a_proposal_below_the_certified_law_is_caught(monkeypatch):
    honest = Envelope.radial
    monkeypatch.setattr(Envelope, "radial", lambda self, *args: 1.3 * honest(self, *args))
    with pytest.raises(EnvelopeError, match="above the certified one"):
        exact(GibbsTarget(posed(LENS, (3.0, 5.0)), 60.0, 0.02), 500)


def test_a_minimum_short_of_its_face_loses_no_model():
    """Depths count from the face, so that models between the minimum found and it are drawn."""
    problem = posed(LINE, (5.0,), n=400)
    found = problem.minimum
    theta = found.theta - 1e-3
    value = float(problem.value(theta[:, None])[0])
    problem.__dict__["minimum"] = replace(found, theta=theta, value=value)
    target = GibbsTarget(problem, 3e4, 0.0)
    draws = exact(target, 2000).coef[:, 0]
    places = np.linspace(0.49, 0.5, 20_001)
    density = np.exp(target.log_density(places[None, :]))
    assert ks_against_quadrature(draws, places, density / density.sum()) > LEVEL
    assert np.mean(draws > theta[0]) > 0.5


@crossed(
    {
        "middle": [(0.0, 0.0), (0.5, 0.1), (0.3, -0.6)],
        "domain": [Ball(0.8), LENS],
    }
)
def test_neighbourhoods_have_their_law(domain, middle):
    middle = 0.999 * domain.project(np.array(middle)[:, None])[:, 0]
    wide = posed(domain, (3.0, 1.0))
    near = Neighbourhood.of(domain, middle, distance=0.35)
    target = GibbsTarget(LocalProblem(wide, near), 150.0, 0.0)
    check_law(exact(target).coef, cells(target))


def test_a_neighbourhood_projects_supports_and_measures():
    near = Neighbourhood.of(Ball(1.0), np.array([0.6, 0.75]), distance=0.4)
    rng = np.random.default_rng(0)
    theta = near.project(rng.standard_normal((2, 500)) * 2)
    assert near.contains(0.6 * (theta - near.middle[:, None]) + near.middle[:, None]).all()
    assert (np.linalg.norm(theta - near.middle[:, None], axis=0) <= 0.4 + 1e-12).all()
    direction = rng.standard_normal((2, 40))
    assert (near.support(direction)[:, None] >= direction.T @ theta - 1e-12).all()
    reached = np.einsum("ij,ij->j", near.extreme(direction), direction)
    np.testing.assert_allclose(reached, near.support(direction), rtol=1e-7)
    low, high = near.chord(np.repeat(near.middle[:, None], 40, axis=1), direction)
    ends = near.middle[:, None] + direction * high * (1 - 1e-9)
    assert (low < 0).all() and near.contains(ends).all()
    assert near.contains(near.uniform(2, 50, rng)).all()
    assert np.linalg.norm(theta, axis=0).max() <= near.radius + 1e-12 and near.diameter == 0.8
    assert [type(part) for part, _ in parts(near)] == [Ball, Ball]
    with pytest.raises(ValueError, match="must be a model of the domain"):
        Neighbourhood.of(Ball(1.0), np.array([1.2, 0.0]), distance=0.1)
