"""Exact draws: parity with quadrature, closed forms, and envelopes that must be caught."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from rashomon_explorer.exceptions import EnvelopeError, SamplerError
from rashomon_explorer.mechanisms.base import collect, to_public_grid
from rashomon_explorer.mechanisms.rejection.envelope import Envelope
from rashomon_explorer.mechanisms.rejection.proposals import (
    RadialProposal,
    UniformProposal,
    tightest_proposal,
)
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import (
    ks_against_quadrature,
    line_law,
    polar_grid,
    small_problem,
)

LEVEL = 1e-3  # seeds are fixed: a test that passes keeps passing, whatever the level

CASES = [
    pytest.param("logistic", 4.0, 1.0, id="logistic-inside"),
    pytest.param("logistic", 0.7, 4.0, id="logistic-sphere"),
    pytest.param("squared", 3.0, 0.5, id="squared-inside"),
    pytest.param("squared", 0.3, 1.5, id="squared-sphere"),
]


def exact(target, n_draws, seed=0):
    return collect(ExactSampler(), target, n_draws, np.random.default_rng(seed))


@pytest.mark.parametrize(("loss", "radius", "scale"), CASES)
@pytest.mark.parametrize(("beta", "psi"), [(0.5, 0.0), (60.0, 0.02), (400.0, 0.02), (400.0, 0.0)])
def test_one_parameter_parity_with_quadrature(loss, radius, scale, beta, psi):
    target = GibbsTarget(small_problem(1, loss, radius, scale=scale), beta, psi)
    draws = exact(target, 3000).coef[:, 0]
    assert ks_against_quadrature(draws, *line_law(target)) > LEVEL


@pytest.mark.parametrize(("loss", "radius", "scale"), CASES)
@pytest.mark.parametrize(("beta", "psi"), [(1.0, 0.0), (120.0, 0.02)])
def test_two_parameter_parity_with_quadrature(loss, radius, scale, beta, psi):
    target = GibbsTarget(small_problem(2, loss, radius, scale=scale), beta, psi)
    draws = exact(target, 3000)
    places, probabilities = polar_grid(target)
    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        along = ks_against_quadrature(draws.coef @ direction, direction @ places, probabilities)
        assert along > LEVEL
    hit = probabilities[target.excess(places) <= psi].sum()
    drawn = np.mean(draws.losses - target.problem.minimum.value <= psi)
    assert drawn == pytest.approx(hit, abs=4 * np.sqrt(0.25 / 3000))


def test_a_law_that_is_not_the_target_is_told_apart():
    problem = small_problem(1, radius=4.0)
    draws = exact(GibbsTarget(problem, 60.0, 0.02), 3000).coef[:, 0]
    hotter = line_law(GibbsTarget(problem, 40.0, 0.02))
    unthresholded = line_law(GibbsTarget(problem, 60.0, 0.0))
    assert ks_against_quadrature(draws, *hotter) < LEVEL
    assert ks_against_quadrature(draws, *unthresholded) < LEVEL


def test_squared_loss_without_a_threshold_is_gaussian():
    problem = small_problem(3, "squared", radius=40.0, n=400)
    target = GibbsTarget(problem, beta=300.0, psi=0.0)
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    white = (exact(target, 4000).coef - problem.minimum.theta) @ vectors
    white *= np.sqrt(eigenvalues * 300.0)
    for column in white.T:
        assert kstest(column, "norm").pvalue > LEVEL


def test_inside_a_quadratic_rashomon_set_draws_are_uniform():
    problem = small_problem(4, "squared", radius=40.0, n=400)
    target = GibbsTarget(problem, beta=3000.0, psi=0.02)
    draws = exact(target, 4000)
    inside = draws.losses - problem.minimum.value <= 0.02
    share = (draws.losses[inside] - problem.minimum.value) / 0.02
    assert kstest(share ** (4 / 2), "uniform").pvalue > LEVEL
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    white = (draws.coef[inside] - problem.minimum.theta) @ (vectors * np.sqrt(eigenvalues))
    white /= np.linalg.norm(white, axis=1, keepdims=True)
    cosine = white[:, 0]  # on S³: density ∝ √(1 − c²)
    cdf = 0.5 + (cosine * np.sqrt(1 - cosine**2) + np.arcsin(cosine)) / np.pi
    assert kstest(cdf, "uniform").pvalue > LEVEL


@pytest.mark.parametrize("hypothetical", ["ball", "least", "padded"])
def test_the_law_does_not_depend_on_the_proposal(hypothetical, monkeypatch):
    target = GibbsTarget(small_problem(1, radius=2.0), 20.0, 0.01)

    def chosen(target, envelope):
        return {
            "ball": lambda: UniformProposal(target),
            "least": lambda: RadialProposal(target, envelope, envelope.least_pad),
            "padded": lambda: RadialProposal(target, envelope, 0.3),
        }[hypothetical]()

    monkeypatch.setattr(
        "rashomon_explorer.mechanisms.rejection.candidates.tightest_proposal", chosen
    )
    draws = exact(target, 3000).coef[:, 0]
    assert ks_against_quadrature(draws, *line_law(target)) > LEVEL


def test_a_spoiled_envelope_is_caught(monkeypatch):
    honest = Envelope.sharper_floor
    monkeypatch.setattr(Envelope, "sharper_floor", lambda self, theta: 1.3 * honest(self, theta))
    target = GibbsTarget(small_problem(2, radius=4.0), 60.0, 0.02)
    with pytest.raises(EnvelopeError, match="below its certified bound"):
        exact(target, 500)


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared"]),
    p=st.integers(1, 6),
    radius=st.floats(0.1, 20.0),
    beta=st.floats(0.01, 1e5),
    ridge=st.sampled_from([0.0, 0.05]),
)
@settings(max_examples=60)
def test_the_envelope_stays_below_the_loss_and_above_its_radial_part(
    seed, loss, p, radius, beta, ridge
):
    problem = small_problem(p, loss, radius, n=25, seed=seed, scale=3.0, ridge=ridge)
    target = GibbsTarget(problem, beta, 0.01)
    envelope = Envelope.of(target)
    rng = np.random.default_rng(seed)
    theta = problem.domain.project(
        problem.minimum.theta[:, None] + rng.standard_normal((p, 200)) * radius * rng.random(200)
    )
    excess = np.maximum(target.excess(theta), 0.0)
    assert (envelope.sharper_floor(theta) <= excess).all()
    h = theta - envelope.centre[:, None]
    for pad in (envelope.least_pad, envelope.least_pad + 0.01, envelope.least_pad + 3.0):
        floor = envelope.floor(theta, pad)
        assert (floor <= excess).all()
        radius_of = np.sqrt(
            np.einsum("ij,i->j", (envelope.vectors.T @ h) ** 2, envelope.curvature + pad)
        )
        assert (envelope.radial(radius_of, pad) <= floor + 1e-12).all()
        assert radius_of.max() <= envelope.furthest(pad) * (1 + 1e-9)


@pytest.mark.parametrize("p", [2, 12])
def test_flat_directions_and_hot_temperatures_are_drawn_from(p):
    rng = np.random.default_rng(3)
    X = np.zeros((50, p))
    X[:, 0] = rng.uniform(-1, 1, 50)
    y = np.where(rng.random(50) < 0.5, 1, -1)
    target = GibbsTarget(Problem(X, y, radius=2.0, intercept=False), beta=5.0, psi=0.01)
    draws = exact(target, 2000).coef
    flat = draws[:, 1]
    assert abs(flat.mean()) < 5 * flat.std() / np.sqrt(2000)
    assert np.linalg.norm(draws, axis=1).max() <= 2.0 + 1e-6


def test_the_tightest_proposal_has_the_least_mass():
    target = GibbsTarget(small_problem(3, radius=0.7, scale=4.0), 50.0, 0.01)
    envelope = Envelope.of(target)
    chosen = tightest_proposal(target, envelope)
    assert chosen.log_mass <= UniformProposal(target).log_mass
    assert chosen.log_mass <= RadialProposal(target, envelope, envelope.least_pad).log_mass


@pytest.mark.parametrize(
    ("patience", "most_work", "least", "refused"),
    [(10_000, 10**12, 50_000, 10_000), (10**9, 4 * 20_000, 0, 20_000), (10**9, 0, 30_000, 30_000)],
)
def test_hopeless_rejection_gives_up_in_words(monkeypatch, patience, most_work, least, refused):
    exact_module = "rashomon_explorer.mechanisms.samplers.exponential"
    monkeypatch.setattr(
        f"{exact_module}._thin",
        lambda target, losses, floor, rng: np.zeros(len(losses), dtype=bool),
    )
    # Two parameters: a proposal counts as four pieces of work.
    monkeypatch.setattr(f"{exact_module}._MOST_WORK", most_work)
    monkeypatch.setattr(f"{exact_module}._LEAST_PATIENCE", least)
    target = GibbsTarget(small_problem(2), 60.0, 0.02)
    with pytest.raises(SamplerError, match=r"infeasible here\. Use fewer columns") as caught:
        collect(ExactSampler(patience=patience), target, 5, np.random.default_rng(0))
    said = int(str(caught.value).split()[2].replace(",", ""))
    assert said == refused  # the public limit, not the number that was reached


def test_draws_lie_on_the_public_grid_and_repeat_with_the_seed():
    target = GibbsTarget(small_problem(2), 60.0, 0.02)
    draws = exact(target, 50, seed=7)
    assert (draws.coef * 2**20 == np.round(draws.coef * 2**20)).all()
    assert (draws.coef == exact(target, 50, seed=7).coef).all()
    assert (draws.coef != exact(target, 50, seed=8).coef).any()
    assert abs(to_public_grid(np.array([np.pi])) - np.pi)[0] <= 2**-21


def test_a_small_number_below_zero_and_one_above_are_the_same_output():
    found = to_public_grid(np.array([-(2.0**-22), -0.0, 0.0, 2.0**-22]))
    assert found.tobytes() == np.zeros(4).tobytes()
    assert np.round(-(2.0**-22) * 2.0**20).tobytes() != np.zeros(1).tobytes()  # the control


def test_a_report_can_stop_the_draws():
    target = GibbsTarget(small_problem(2), 60.0, 0.02)
    seen = []

    def report(draws):
        seen.append(len(draws.losses))
        return True

    draws = collect(ExactSampler(), target, 10**6, np.random.default_rng(0), report)
    assert seen == [len(draws.coef)]


@pytest.mark.parametrize(("loss", "radius", "scale"), CASES)
def test_smooth_thresholds_are_drawn_from_exactly_too(loss, radius, scale):
    target = GibbsTarget(small_problem(1, loss, radius, scale=scale), 150.0, 0.02, "smooth")
    draws = exact(target, 3000).coef[:, 0]
    assert ks_against_quadrature(draws, *line_law(target)) > LEVEL


@crossed(
    {
        "loss": ["logistic", "squared"],
        "radius": [1e-3, 1.0, 1e3, 1e5],
    }
)
def test_rounding_grows_with_the_losses_and_is_allowed_for(loss, radius):
    problem = small_problem(3, loss, radius, n=500, scale=2.0)
    for eta in (0.05, 5.0, 500.0):
        target = GibbsTarget(problem, eta / problem.constants.charged_oscillation, 0.02)
        try:
            draws = exact(target, 200)
        except SamplerError as error:
            assert "infeasible here" in str(error) and radius > 100
        else:
            assert np.linalg.norm(draws.coef, axis=1).max() <= radius * (1 + 1e-6) + 1e-5
