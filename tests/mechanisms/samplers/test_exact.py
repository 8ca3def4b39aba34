"""Exact draws and chains: parity with quadrature, closed forms, and when they give up."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.rejection import candidates, envelope
from rashomon_explorer.mechanisms.rejection.candidates import Candidates
from rashomon_explorer.mechanisms.rejection.plane import plane_proposals
from rashomon_explorer.mechanisms.rejection.quadratic_minorant import least_bowl
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import LocalProblem
from rashomon_explorer.papers.mala import MalaSampler
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from tests.mechanisms.samplers.laws import LEVEL, agreement, quadrature, small_problem

EXPONENTIAL = "rashomon_explorer.mechanisms.samplers.exponential"
LENS = Intersection(envelope.Shifted(Ball(1.0), (0.5, 0.0)), Ball(0.8))
LINE = Intersection(envelope.Shifted(Ball(0.7), (0.2,)), Ball(0.8))  # from −0.8 to 0.5
NEVER = {"bowl_pays": lambda *_: False, "envelope_pays": lambda *_: False}


class BowlOnly(Candidates):
    """Candidates that are proposed under a bowl, whether or not another law has less mass."""

    def __init__(self, target):
        with patch.multiple(candidates, **NEVER):
            super().__init__(target)
        self._proposal = least_bowl(target, plane_proposals(target)[0].plane)
        self._floors = [self._proposal.floor]


def exact(target, n_draws=3000, seed=0, sampler=None):
    return collect(sampler or ExactSampler(), target, n_draws, np.random.default_rng(seed)).coef


def under_a_plane(target, n_draws=3000):
    with patch.multiple(candidates, **NEVER):
        return exact(target, n_draws)


def under_a_bowl(target, n_draws=3000):
    with patch(f"{EXPONENTIAL}.Candidates", BowlOnly):
        return exact(target, n_draws, seed=1)


def on_a_grid(target):
    fine = target.problem.domain.radius / (1024 if target.problem.p == 1 else 200)
    return exact(target, sampler=FiniteGridSampler(spacing=fine))


def by_mala(target):
    # Long strides: chains are compared with laws of independent draws.
    return exact(target, sampler=MalaSampler(n_chains=250, thin=25))


SAMPLERS = [exact, under_a_plane, under_a_bowl, on_a_grid, by_mala]
LAWS = [
    (0.5, 0.0, "hard"),
    (60.0, 0.05, "smooth"),
    (200.0, 0.02, "hard"),
    (60.0, 0.03, "hard"),
    (400.0, 0.0, "hard"),
]
ON_BOTH = {"domain": LENS, "truth": (3.0, 5.0)}
PROBLEMS = {
    "line-inside": {"p": 1, "radius": 4.0},
    "line-sphere": {"p": 1, "loss": "squared", "radius": 0.3, "scale": 1.5},
    "line-cut": {"p": 1, "domain": LINE, "truth": (5.0,)},
    "disc-inside": {"p": 2, "loss": "squared", "radius": 3.0, "scale": 0.5},
    "disc-sphere": {"p": 2, "radius": 0.7, "scale": 4.0},
    "disc-ridge": {"p": 2, "radius": 2.0, "ridge": 0.3},
    "line-smoothed": {"p": 1, "loss": SmoothedHingeLoss(0.3), "scale": 1.5, "n": 120},
    "disc-classes": {"p": 2, "loss": SoftmaxLoss(3), "scale": 1.5, "n": 40},
    "line-hinge": {"p": 1, "loss": "hinge", "scale": 1.5},
    "disc-hinge": {"p": 2, "loss": "hinge", "scale": 1.5, "ridge": 0.1},
    "disc-absolute": {"p": 2, "loss": "absolute", "scale": 1.5},
    "disc-smoothed": {"p": 2, "loss": "smoothed_hinge", "radius": 0.5, "scale": 3.0},
    "lens-inside": {"p": 2, "domain": LENS, "truth": (0.1, 0.1), "loss": "squared"},
    "lens-body": {"p": 2, "domain": LENS, "truth": (5.0, 0.2)},
    "lens-ball": {"p": 2, "domain": LENS, "truth": (-5.0, 0.2)},
    "lens-both": {"p": 2, **ON_BOTH},
    "lens-softmax": {"p": 2, **ON_BOTH, "loss": SoftmaxLoss(2), "n": 20},
    "lens-smoothed": {"p": 2, "domain": LENS, "truth": (6.0, 0.2), "loss": "smoothed_hinge"},
}


def laws_of(sampler, settings):
    """No gradient at a kink; bowls are for several parameters; few proposals lie in a lens."""
    if sampler is on_a_grid:
        return LAWS[:-1]  # the points of a grid show in the coldest
    kinked = sampler is by_mala and settings.get("loss") in ("hinge", "absolute")
    far = sampler in (under_a_plane, under_a_bowl) and "domain" in settings
    line = sampler is under_a_bowl and settings["p"] == 1
    return [] if kinked or far or line else LAWS


def parity_cases():
    """Every sampler on every problem; one law each in the fast suite, all of them as laws."""
    for i, sampler in enumerate(SAMPLERS):
        for j, (name, settings) in enumerate(PROBLEMS.items()):
            laws = laws_of(sampler, settings)
            for k, law in enumerate(laws):
                fast = k == (i + j) % len(laws) and (i < 3 or j % 3 == 0)
                marks = [] if fast else [pytest.mark.law]
                yield pytest.param(sampler, settings, law, marks=marks, id=f"{i}-{name}-{k}")


@pytest.mark.parametrize(("sampler", "settings", "law"), parity_cases())
def test_draws_have_the_law_of_quadrature(sampler, settings, law):
    target = GibbsTarget(small_problem(**settings), *law)
    draws = sampler(target)
    assert agreement(draws, target) > LEVEL
    places, probabilities = quadrature(target)
    hit = probabilities[target.excess(places) <= target.psi].sum()
    drawn = np.mean(target.excess(draws.T) <= target.psi + 1e-5 * (target.psi > 0))
    assert drawn == pytest.approx(hit, abs=4 * np.sqrt(0.25 / 3000))


@pytest.mark.parametrize("middle", [(0.5, 0.1), pytest.param((0.3, -0.6), marks=pytest.mark.law)])
@pytest.mark.parametrize(
    ("sampler", "domain"),
    [
        (exact, Ball(0.8)),
        (under_a_plane, Ball(0.8)),
        (under_a_bowl, Ball(0.8)),
        pytest.param(exact, LENS, marks=pytest.mark.law),
        (under_a_plane, LENS),
    ],
)
def test_neighbourhoods_have_their_law(sampler, domain, middle):
    middle = 0.999 * domain.project(np.array(middle)[:, None])[:, 0]
    wide = small_problem(2, domain=domain, truth=(3.0, 1.0))
    near = envelope.Neighbourhood.of(domain, middle, distance=0.35)
    target = GibbsTarget(LocalProblem(wide, near), 150.0, 0.0)
    assert agreement(sampler(target), target) > LEVEL


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "other", [(40.0, 0.02, "hard"), (60.0, 0.0, "hard"), (60.0, 0.06, "smooth")]
)
def test_another_law_is_told_apart(sampler, other):
    problem = small_problem(2, radius=4.0)
    draws = sampler(GibbsTarget(problem, 60.0, 0.02))
    assert agreement(draws, GibbsTarget(problem, *other)) < LEVEL


@pytest.mark.parametrize("sampler", [exact, by_mala])
def test_squared_loss_without_a_threshold_is_gaussian(sampler):
    problem = small_problem(3, "squared", radius=40.0, n=400)
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    draws = sampler(GibbsTarget(problem, beta=300.0, psi=0.0))
    white = (draws - problem.minimum.theta) @ vectors * np.sqrt(eigenvalues * 300.0)
    for column in white.T:
        assert kstest(column, "norm").pvalue > LEVEL


def test_inside_a_quadratic_rashomon_set_draws_are_uniform():
    problem = small_problem(4, "squared", radius=40.0, n=400)
    draws = exact(GibbsTarget(problem, beta=3000.0, psi=0.02), 4000)
    excess = problem.value(draws.T) - problem.minimum.value
    inside = excess <= 0.02
    assert kstest((excess[inside] / 0.02) ** (4 / 2), "uniform").pvalue > LEVEL
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    white = (draws[inside] - problem.minimum.theta) @ (vectors * np.sqrt(eigenvalues))
    cosine = white[:, 0] / np.linalg.norm(white, axis=1)  # on S³: density ∝ √(1 − c²)
    cdf = 0.5 + (cosine * np.sqrt(1 - cosine**2) + np.arcsin(cosine)) / np.pi
    assert kstest(cdf, "uniform").pvalue > LEVEL


def test_a_minimum_short_of_its_face_loses_no_model():
    """Depths count from the face, so that models between the minimum found and it are drawn."""
    problem = small_problem(1, domain=LINE, truth=(5.0,), n=400)
    found = problem.minimum
    theta = found.theta - 1e-3
    value = float(problem.value(theta[:, None])[0])
    problem.__dict__["minimum"] = replace(found, theta=theta, value=value)
    target = GibbsTarget(problem, 3e4, 0.0)
    places = np.linspace(0.49, 0.5, 20_001)
    density = np.exp(target.log_density(places[None, :]))
    draws = exact(target, 2000)
    assert agreement(draws, (places[None, :], density / density.sum())) > LEVEL
    assert np.mean(draws > theta[0]) > 0.5


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("radius", [1e-3, pytest.param(1.0, marks=pytest.mark.law), 1e5])
def test_rounding_grows_with_the_losses_and_is_allowed_for(loss, radius):
    problem = small_problem(3, loss, radius, n=500, scale=2.0)
    for eta in (0.05, 5.0, 500.0):
        target = GibbsTarget(problem, eta / problem.constants.charged_oscillation, 0.02)
        try:
            draws = exact(target, 200)
        except SamplerError as error:
            assert "infeasible here" in str(error) and radius > 100
        else:
            assert np.linalg.norm(draws, axis=1).max() <= radius * (1 + 1e-6) + 1e-5


@pytest.mark.parametrize(
    ("patience", "most_work", "least", "limit"),
    [(10_000, 10**12, 50_000, 10_000), (10**9, 4 * 20_000, 0, 20_000), (10**9, 0, 30_000, 30_000)],
)
def test_hopeless_rejection_gives_up_in_words(monkeypatch, patience, most_work, least, limit):
    monkeypatch.setattr(f"{EXPONENTIAL}._thin", lambda target, losses, *_: losses < -np.inf)
    # Two parameters: a proposal counts as four pieces of work.
    monkeypatch.setattr(f"{EXPONENTIAL}._MOST_WORK", most_work)
    monkeypatch.setattr(f"{EXPONENTIAL}._LEAST_PATIENCE", least)
    target = GibbsTarget(small_problem(2), 60.0, 0.02)
    with pytest.raises(SamplerError, match=r"infeasible here\. Use fewer columns") as caught:
        exact(target, 5, sampler=ExactSampler(patience=patience))
    stated = int(str(caught.value).split()[2].replace(",", ""))
    assert stated == limit  # the public limit, not the number that was reached


def test_a_report_can_stop_the_draws():
    seen = []
    target = GibbsTarget(small_problem(2), 60.0, 0.02)

    def report(draws):
        seen.append(len(draws.losses))
        return True

    draws = collect(ExactSampler(), target, 10**6, np.random.default_rng(0), report)
    assert seen == [len(draws.coef)]
