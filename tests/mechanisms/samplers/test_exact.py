"""Exact draws, chains, grids and hit-and-run: parity with quadrature, and closed forms."""

from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer._utils import randomness
from rashomon_explorer._utils.randomness import IntegerLaw
from rashomon_explorer.exceptions import RadiusBindsWarning, SamplerError
from rashomon_explorer.mechanisms import ExactSampler
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler, _Walk, reaches_sphere
from rashomon_explorer.mechanisms.rejection import candidates, ellipsoid_minorant, envelope
from rashomon_explorer.mechanisms.rejection.candidates import Candidates
from rashomon_explorer.mechanisms.rejection.plane import plane_proposals
from rashomon_explorer.mechanisms.rejection.quadratic_minorant import least_bowl
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import LocalProblem
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import SmoothedHingeLoss, SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import RashomonSet
from tests.mechanisms.samplers.laws import (
    LEVEL,
    agreement,
    quadrature,
    small_problem,
    uniform_target,
)

EXPONENTIAL = "rashomon_explorer.mechanisms.exact"
LENS = Intersection(envelope.Shifted(Ball(1.0), (0.5, 0.0)), Ball(0.8))
LINE = Intersection(envelope.Shifted(Ball(0.7), (0.2,)), Ball(0.8))  # from −0.8 to 0.5
NARROW = SmoothedHingeLoss(0.3)
NEVER = {"bowl_pays": lambda *_: False, "envelope_pays": lambda *_: False}


class BowlOnly(Candidates):
    """Candidates that are proposed under a bowl, whether or not another law has less mass."""

    def __init__(self, target):
        with patch.multiple(candidates, **NEVER):
            super().__init__(target)
        self._proposal = least_bowl(target, plane_proposals(target)[0].plane)
        self._floors = [self._proposal.floor]


class EllipsoidOnly(Candidates):
    """Candidates under a bowl on an ellipsoid, whose losses are evaluated seven rows by seven."""

    def __init__(self, target):
        with patch.multiple(candidates, **NEVER):
            super().__init__(target)
        with patch.multiple(ellipsoid_minorant, _BLOCK_ROWS=7):
            self._near, self._blocks = ellipsoid_minorant.ellipsoid_proposal(target)
        self._proposal, self._floors = self._near, [self._near.floor]

    def take(self, size, rng):
        with patch.object(candidates, "envelope_pays_by_now", lambda *_: False):
            return super().take(size, rng)


class EnvelopeLater(EllipsoidOnly):
    """Candidates that meet an envelope after some hundred models."""

    def take(self, size, rng):
        if self._judged > 300 and self._sharper is None:
            self._add_envelope()
        return super().take(min(size, 100), rng)


def exact(target, n_draws=3000, seed=0, sampler=None):
    return collect(sampler or ExactSampler(), target, n_draws, np.random.default_rng(seed)).coef


def under_a_plane(target, n_draws=3000):
    with patch.multiple(candidates, **NEVER):
        return exact(target, n_draws)


def under_a_bowl(target, n_draws=3000):
    with patch(f"{EXPONENTIAL}.Candidates", BowlOnly):
        return exact(target, n_draws, seed=1)


def under_an_ellipsoid(target, n_draws=3000):
    with patch(f"{EXPONENTIAL}.Candidates", EllipsoidOnly), patch(f"{EXPONENTIAL}._MOST", 256):
        return exact(target, n_draws, seed=2)


def with_an_envelope_later(target, n_draws=3000):
    with patch(f"{EXPONENTIAL}.Candidates", EnvelopeLater):
        return exact(target, n_draws, seed=3)


def on_a_grid(target):
    fine = target.problem.domain.radius / (1024 if target.problem.p == 1 else 200)
    return exact(target, sampler=FiniteGridSampler(spacing=fine))


SAMPLERS = [exact, under_a_plane, under_a_bowl, on_a_grid, under_an_ellipsoid]
SAMPLERS += [with_an_envelope_later]
CURVED = [under_an_ellipsoid, with_an_envelope_later]
LAWS = [
    (0.5, 0.0, "hard"), (60.0, 0.05, "smooth"), (200.0, 0.02, "hard"), (60.0, 0.03, "hard"),
    (400.0, 0.0, "hard"),
]  # fmt: skip
ON_BOTH = {"domain": LENS, "truth": (3.0, 5.0)}
PROBLEMS = {
    "line-inside": {"p": 1, "radius": 4.0},
    "line-sphere": {"p": 1, "loss": "squared", "radius": 0.3, "scale": 1.5},
    "line-cut": {"p": 1, "domain": LINE, "truth": (5.0,)},
    "disc-inside": {"p": 2, "loss": "squared", "radius": 3.0, "scale": 0.5},
    "disc-sphere": {"p": 2, "radius": 0.7, "scale": 4.0},
    "disc-ridge": {"p": 2, "radius": 2.0, "ridge": 0.3},
    "line-smoothed": {"p": 1, "loss": NARROW, "scale": 1.5, "n": 120},
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
    """Bowls are for several parameters; few proposals lie in a lens."""
    if sampler is on_a_grid:
        return LAWS[:-1]  # the points of a grid show in the coldest
    far = sampler in (under_a_plane, under_a_bowl) and "domain" in settings
    line = sampler in (under_a_bowl, *CURVED) and settings["p"] == 1
    kinked = sampler in CURVED and settings.get("loss") in ("hinge", "absolute")
    if far or line or kinked:
        return []
    return LAWS[2:4] if sampler is with_an_envelope_later else LAWS


def parity_cases():
    """Every sampler on every problem; one law each in the fast suite, all of them as laws."""
    for i, sampler in enumerate(SAMPLERS):
        for j, (name, settings) in enumerate(PROBLEMS.items()):
            laws = laws_of(sampler, settings)
            for k, law in enumerate(laws):
                fast = k == (i + j) % len(laws) and (i == 0 or (i + j) % 6 == 0)
                marks = [] if fast else [pytest.mark.law]
                yield pytest.param(sampler, settings, law, marks=marks, id=f"{i}-{name}-{k}")


@pytest.mark.parametrize(("sampler", "settings", "law"), parity_cases())
def test_draws_have_the_law_of_quadrature(sampler, settings, law):
    target = GibbsTarget(small_problem(**settings), *law)
    draws = sampler(target)
    places, probabilities = quadrature(target)
    assert agreement(draws, (places, probabilities)) > LEVEL
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


def test_another_law_is_told_apart():
    problem = small_problem(2, radius=4.0)
    samples = [sampler(GibbsTarget(problem, 60.0, 0.02)) for sampler in SAMPLERS]
    for wrong in ((40.0, 0.02, "hard"), (60.0, 0.0, "hard"), (60.0, 0.06, "smooth")):
        law = quadrature(GibbsTarget(problem, *wrong))
        assert max(agreement(draws, law) for draws in samples) < LEVEL


def test_squared_loss_without_a_threshold_is_gaussian():
    problem = small_problem(3, "squared", radius=40.0, n=400)
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    draws = exact(GibbsTarget(problem, beta=300.0, psi=0.0))
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
    monkeypatch.setattr(
        Candidates, "judge", lambda self, theta, *_, **__: (theta[:, :0], theta[0, :0])
    )
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


@dataclass
class Landscape:
    """Two wells of different depth: no convex solver finds the deeper one from everywhere."""

    p: int = 1
    tilt: float = 0.05
    domain: Ball = field(default_factory=lambda: Ball(2.0))

    def value(self, theta):
        return ((theta**2 - 1) ** 2 - self.tilt * theta).sum(axis=0)


def drawn_on_grid(target, n_draws, seed=0, **settings):
    sampler = FiniteGridSampler(**settings)
    return collect(sampler, target, n_draws, np.random.default_rng(seed))


def log_weights(law):
    return np.log(law.mantissas) - np.log(2) * law.depths


def log_width(first, second):
    """Width of the range of the log ratio; the unit of the weights cancels."""
    ratio = first - second
    return ratio.max() - ratio.min()


def test_every_place_belongs_to_a_point_in_proportion_to_its_weight(monkeypatch):
    monkeypatch.setattr(randomness, "_BITS", 3)
    monkeypatch.setattr(randomness, "_DEEPEST", 4)
    law = IntegerLaw(np.array([0.7, 0.0, 3.0, 0.1, 9.0, 1.4, 0.0]))
    owned = np.bincount([law.at(place) for place in range(law.total)])
    assert owned.tolist() == (law.mantissas << (law.depths.max() - law.depths)).tolist()
    assert law.at(law.total - 1) == 4  # the capped point is still there


def test_weights_are_right_to_forty_bits_down_to_the_cap():
    energies = np.linspace(0.0, 400.0, 100_001)
    law = IntegerLaw(energies)
    logs = log_weights(law)
    capped = np.minimum(energies, 255 * np.log(2))
    assert np.abs(logs - logs[0] + capped).max() < 2.0**-38
    assert (law.mantissas < 2**40).all()
    assert (law.mantissas >= 1).all()


def test_a_function_with_two_minima_is_drawn_from_both_wells():
    target = GibbsTarget(Landscape(), beta=40.0, psi=0.01)
    points = FiniteGridSampler().points(1, Ball(2.0))
    energy = 40.0 * np.maximum(
        Landscape().value(points) - Landscape().value(points).min() - 0.01, 0
    )
    right = np.exp(-energy)[points[0] > 0].sum() / np.exp(-energy).sum()
    drawn = (drawn_on_grid(target, 5000).coef[:, 0] > 0).mean()
    assert 0.7 < right < 0.999
    assert drawn == pytest.approx(right, abs=4 * np.sqrt(0.25 / 5000))


class Ring(Ball):
    """A region with a hole."""

    def contains(self, theta):
        return super().contains(theta) & (np.einsum("ij,ij->j", theta, theta) >= 1.0)


def test_a_region_with_a_hole_is_a_region():
    target = GibbsTarget(Landscape(p=2, domain=Ring(2.0)), beta=1.0, psi=0.0)
    lengths = np.linalg.norm(drawn_on_grid(target, 500).coef, axis=1)
    assert 1.0 <= lengths.min() < 1.1 < lengths.max() <= 2.0


def test_no_minimum_is_asked_of_the_problem(monkeypatch):
    def refuse(*_):
        raise AssertionError("the grid has its own minimum")

    monkeypatch.setattr("rashomon_explorer.problem.problem.minimise", refuse)
    assert len(drawn_on_grid(GibbsTarget(small_problem(3), 10.0, 0.02), 5).coef) == 5


def test_functions_without_shape_keep_the_price_too():
    rng = np.random.default_rng(0)
    for psi in (0.0, 0.3, 2.0):
        for _ in range(50):
            first = rng.normal(size=200) * 3
            second = first + rng.uniform(0.0, 0.1, size=200) + rng.normal()
            laws = []
            for losses in (first, second):
                energy = 20.0 * np.maximum(losses - losses.min() - psi, 0.0)
                laws.append(log_weights(IntegerLaw(energy)))  # many lie beyond the cap of 177
            assert log_width(*laws) <= 20.0 * 0.1 + 2.0**-37


def test_the_grid_is_public_symmetric_and_inside():
    points = FiniteGridSampler(spacing=0.1).points(2, Ball(0.3))
    assert (np.abs(points).max(axis=1) > 0.29).all()  # 0.3/0.1 is an ulp below 3
    assert {tuple(point) for point in points.T} == {tuple(-point) for point in points.T}
    sizes = [FiniteGridSampler().points(p, Ball(4.0)).shape[1] for p in (1, 2, 3)]
    assert sizes == [2049, 12853, 17077]


class Broken(Landscape):
    def value(self, theta):
        return np.where(theta[0] > 1.0, np.nan, 0.0)


@pytest.mark.parametrize(
    ("problem", "settings", "message"),
    [
        (small_problem(4), {}, "at most 3 parameters, got 4"),
        (small_problem(2), {"spacing": 0.01, "most_points": 1000},
         r"more than most_points=1,000: use a spacing of 0\.\d+"),
        (Landscape(p=2, domain=Ring(2.0)), {"spacing": 5.0}, "no multiple of spacing 5 lies in"),
        (Broken(), {}, "is nan: it must be finite"),
        (small_problem(2), {"spacing": -1.0}, r"spacing must be finite and > 0, got -1\.0"),
        (small_problem(2), {"most_points": 2**23}, "most_points must be in"),
    ],
)  # fmt: skip
def test_a_grid_that_cannot_be_made_says_why(problem, settings, message):
    with pytest.raises((SamplerError, ValueError), match=message):
        drawn_on_grid(GibbsTarget(problem, 10.0, 0.0), 1, **settings)


def test_evaluation_comes_in_short_empty_batches_and_counts_its_looks():
    target = GibbsTarget(small_problem(2, n=50_000), 10.0, 0.0)
    batches = FiniteGridSampler(spacing=0.2).batches(target, np.random.default_rng(0))
    seen, points = 0, FiniteGridSampler(spacing=0.2).points(2, target.problem.domain).shape[1]
    while (batch := next(batches)).theta.shape[1] == 0:
        assert batch.evaluated <= 2**22 // 50_000
        seen += batch.evaluated
    assert seen == points
    assert batch.evaluated == 0


def walk(target, n_draws, seed=0):
    # Long strides: the tests below compare with laws of independent draws.
    sampler = HitAndRunSampler(n_chains=100, burn_in=60, thin=20)
    return collect(sampler, target, n_draws, np.random.default_rng(seed))


def test_on_an_ellipsoid_the_radius_and_direction_are_uniform():
    problem = small_problem(4, "squared", radius=40.0, n=400)
    target = GibbsTarget(problem, beta=1.0, psi=0.02)
    first = next(HitAndRunSampler(n_chains=4).batches(target, np.random.default_rng(0)))
    assert first.theta.shape == (4, 0)  # while it warms up, so that Stop is heard
    draws = walk(target, 4000)
    share = (draws.losses - problem.minimum.value) / 0.02
    assert share.max() <= 1
    assert kstest(share ** (4 / 2), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("radius", "scale"), [(4.0, 1.0), (0.7, 4.0)])
@pytest.mark.law
def test_two_parameter_parity_with_quadrature(radius, scale):
    problem = small_problem(2, radius=radius, scale=scale)
    draws = walk(GibbsTarget(problem, beta=1.0, psi=0.02), 3000)
    assert agreement(draws.coef, uniform_target(problem, 0.02)) > LEVEL


@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_with_many_parameters_lines_end_just_outside_the_set(ridge):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 80)) / 9, rng.choice([-1, 1], 300)
    problem = Problem(x, y, radius=40.0, row_norm=2.0, ridge=ridge)
    walk = _Walk(GibbsTarget(problem, beta=1.0, psi=0.02), n_chains=8)
    for _ in range(3):
        walk.move(20, rng)
        direction, move = (block[0] for block in walk.directions(1, rng))
        for ends in walk._shortened(walk._by_line, move, walk._chord(direction, move)):
            beyond = problem.value(walk.theta + ends * move) - problem.minimum.value
            assert (beyond > 0.02 - 1e-9).all() and (beyond < 0.03).all()


@pytest.mark.parametrize("radius", [0.5, 2.0, 3.0, 4.0, 12.0])
@pytest.mark.parametrize("psi", [0.002, 0.1])
def test_the_sphere_is_reached_where_a_fine_grid_of_it_says_so(radius, psi):
    problem = small_problem(2, radius=radius, scale=2.0)
    target = GibbsTarget(problem, beta=1.0, psi=psi)
    turn = np.linspace(0, 2 * np.pi, 4000)
    edge = radius * np.stack([np.cos(turn), np.sin(turn)])
    reached = bool((problem.value(edge) <= problem.minimum.value + psi).any())
    draws = collect(HitAndRunSampler(), target, 64, np.random.default_rng(0)).coef
    assert reaches_sphere(target, draws) == reached


def test_a_direction_that_changes_no_score_reaches_the_sphere_unheard():
    rng = np.random.default_rng(0)
    column = rng.uniform(-0.5, 0.5, 300)
    twice, y = np.column_stack([column, column]), np.where(column > rng.normal(size=300), 1, -1)
    target = GibbsTarget(Problem(twice, y, radius=50.0), beta=1.0, psi=0.02)
    draws = collect(HitAndRunSampler(), target, 64, np.random.default_rng(0)).coef
    assert np.linalg.norm(draws, axis=1).max() > 40  # (1, −1) is free
    assert not reaches_sphere(target, draws)
    apart = np.column_stack([column, np.abs(column)])  # the control: nothing is free, and ψ is wide
    assert reaches_sphere(GibbsTarget(Problem(apart, y, radius=2.0), 1.0, 0.02), draws[:0])


def drawn(**settings):
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (300, 3))
    y = X[:, 0] + 0.3 * rng.logistic(size=300) > 0
    asked = {"mechanism": "hit_and_run", "n_draws": 40, "random_state": 0, "psi": 0.02, **settings}
    return RashomonClassifier(**asked).fit(X, y).rashomon_set_


def test_a_fits_draws_depend_on_no_budget():
    first = drawn(epsilon=0.1, delta=0.0)
    for other in (drawn(epsilon=30.0, delta=1e-6), drawn(epsilon=1.0, delta=1e-3)):
        np.testing.assert_array_equal(first.coef, other.coef)
        assert first.plan.radius == other.plan.radius == 64.0
    more = drawn(n_draws=400)
    assert (more.least, more.plan.radius) == (first.least, 64.0)
    np.testing.assert_array_equal(more.coef[:32], first.coef[:32])


@pytest.mark.filterwarnings("always::rashomon_explorer.exceptions.RadiusBindsWarning")
def test_a_fit_says_when_its_radius_binds(tmp_path, recwarn):
    free = drawn()
    assert not recwarn and free.notes == () and not free.reaches_sphere
    with pytest.warns(RadiusBindsWarning, match=r"reaches the sphere ‖θ‖ = 1: .*ridge= > 0"):
        bound = drawn(radius=1.0)
    assert bound.notes[0].startswith("the radius binds") and bound.least > free.least
    bound.save(tmp_path / "set.npz")
    assert RashomonSet.load(tmp_path / "set.npz").notes == bound.notes
    drawn(radius=8.0, ridge=0.1)
    assert len(recwarn) == 0  # pytest.warns took the one that there was
