"""Exact draws on an ellipsoid: their law by quadrature, and what neighbours can tell from them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import plan_ellipsoid_exact
from rashomon_explorer.mechanisms.ellipsoid.sampler import EllipsoidExactSampler
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.samplers.feasibility import feasibility_suggestions, preflight
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed


def problem_of(d=1, n=60, ridge=0.0, radius=3.0, seed=0, **settings):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    labels = np.sign(rows[:, 0] + 0.4 * rng.standard_normal(n))
    settings = {"intercept": False, "ridge": ridge, "radius": radius, **settings}
    return Problem(rows, labels, **settings)


def planned_for(problem, psi=0.05, **changes):
    public = {"radius": problem.domain.radius, "row_norm": problem.row_bound}
    public |= {"epsilon": 8.0, "delta": 1e-3, "ridge": problem.ridge, "loss": problem.loss}
    with suppress_weak_warnings():
        return plan_ellipsoid_exact(problem.n, problem.p, psi, **{**public, **changes})


def draws_on(region, target, planned, count, monkeypatch, seed=0):
    monkeypatch.setattr(EllipsoidExactSampler, "released", lambda self, *_: iter([region]))
    return collect(EllipsoidExactSampler(planned), target, count, np.random.default_rng(seed))


def density(target, points):
    """Density at points (p, K) of the law on the ball, up to a constant; from the definition."""
    excess = target.problem.value(points) - target.problem.minimum.value
    return np.exp(-target.beta * np.maximum(excess - target.psi, 0.0))


@pytest.mark.parametrize(("centre", "level"), [(0.5, 0.8), (2.5, 0.5), (1.6, 0.02)])
def test_on_an_interval_draws_have_the_law_of_quadrature(centre, level, monkeypatch) -> None:
    """The best model inside, the ball cutting, and an ellipsoid beside the set."""
    problem = problem_of()
    region = CutEllipsoid(np.array([centre]), np.eye(1), level, 3.0, np.array([centre]))
    target = GibbsTarget(problem, 60.0, 0.02)
    found = draws_on(region, target, planned_for(problem), 3_000, monkeypatch).coef[:, 0]
    reach = math.sqrt(2 * level)
    grid = np.linspace(centre - reach, min(3.0, centre + reach), 20_001)
    mass = np.concatenate([[0.0], np.cumsum(density(target, ((grid[1:] + grid[:-1]) / 2)[None]))])
    assert kstest(found, lambda x: np.interp(x, grid, mass / mass[-1])).pvalue > 1e-3
    flat = kstest(found, lambda x: np.interp(x, grid, np.linspace(0, 1, len(grid)))).pvalue
    assert flat < 1e-6 or mass[-1] > 0.97 * (len(grid) - 1)


@pytest.mark.parametrize("held", [False, True])
def test_in_the_plane_draws_have_the_law_of_quadrature(held, monkeypatch) -> None:
    problem = problem_of(d=2, radius=1.2 if held else 4.0, ridge=0.02)
    centre = problem.minimum.theta + np.array([0.1, 0.2]) * (not held)
    region = CutEllipsoid.under(
        centre, problem.minimum.multiplier, problem.hessian(centre), 0.06, problem.domain.radius
    )
    target = GibbsTarget(problem, 120.0, 0.02)
    found = draws_on(region, target, planned_for(problem), 4_000, monkeypatch).coef
    axes = [np.linspace(*ends, 601) for ends in zip(*region.ranges(np.eye(2)), strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(2, -1)
    weight = np.where(region.contains(points), density(target, points), 0.0)
    weight /= weight.sum()
    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        assert kstest(found @ direction, _weighted(direction @ points, weight)).pvalue > 1e-3


def _weighted(places, weight):
    """Distribution function of weighted places."""
    order = np.argsort(places)
    known = np.cumsum(weight[order])
    return lambda x: np.interp(x, places[order], known)


def test_hits_are_uniform_on_the_part_of_the_set_that_lies_in_the_ellipsoid(monkeypatch) -> None:
    problem = problem_of(d=2, ridge=0.02)
    centre = problem.minimum.theta + np.array([0.3, 0.0])
    region = CutEllipsoid(centre, problem.hessian(centre), 0.03, 3.0, centre)
    target = GibbsTarget(problem, 200.0, 0.02)
    found = draws_on(region, target, planned_for(problem), 3_000, monkeypatch)
    hits = found.coef[found.losses <= problem.minimum.value + 0.02]
    near = region.uniform(40_000, np.random.default_rng(1))
    near = near[:, problem.value(near) <= problem.minimum.value + 0.02]
    for direction in ([1.0, 0.0], [0.0, 1.0]):
        assert kstest(hits @ direction, np.sort(direction @ near)).pvalue > 1e-3


def neighbours(rng, radius):
    """Two problems that differ in one record, of rows as long as they may be."""
    rows = np.array([[1.0], [-1.0], [1.0]]) * rng.choice([1.0, 0.3], (3, 1))
    labels = rng.choice([-1.0, 1.0], 3)
    settings = {"radius": radius, "intercept": False}
    other = labels * [-1, 1, 1], rows * [[1.0], [1.0], [1.0]]
    return Problem(rows, labels, **settings), Problem(other[1], other[0], **settings)


def log_densities(pair, beta, psi, grid):
    """Log densities (2, K) of one draw given the interval that the grid fills."""
    found = []
    for problem in pair:
        excess = problem.value(grid[None]) - problem.minimum.value
        energy = beta * np.maximum(excess - psi, 0.0)
        found.append(-energy - logsumexp(-energy))
    return np.array(found)


@crossed(
    {
        "ends": [(-2.0, 2.0), (0.5, 2.0), (-2.0, -1.9)],
        "psi": [0.0, 0.1, 0.5],
    }
)
def test_no_neighbour_tells_more_of_a_draw_than_its_bounded_range(ends, psi) -> None:
    """The exact audit: log ratios over the whole interval, for every interval."""
    rng, widest = np.random.default_rng(0), 0.0
    grid = np.linspace(*ends, 2_001)
    for _ in range(60):
        pair = neighbours(rng, 2.0)
        eta = 1.5
        ratio = np.subtract(
            *log_densities(pair, eta / pair[0].constants.charged_oscillation, psi, grid)
        )
        widest = max(widest, float(np.ptp(ratio)) / eta)
    assert widest <= 1 + 1e-9
    if ends == (-2.0, 2.0) and psi == 0:
        assert widest > 0.99  # so that half of the oscillation is refuted


def test_the_range_on_the_ellipsoid_alone_would_be_too_small_a_price() -> None:
    """Negative control: min L is the ball's, and moves by more than losses do on the ellipsoid."""
    rng, most = np.random.default_rng(0), 0.0
    for _ in range(50):
        pair = neighbours(rng, 2.0)
        start = rng.uniform(-2, 1.9)
        grid = np.linspace(start, start + 0.1, 201)[None]
        first, second = (one.value(grid) for one in pair)
        over = [np.maximum(one.value(grid) - one.minimum.value - 0.1, 0.0) for one in pair]
        moved = np.ptp(over[0] - over[1])
        assert moved <= pair[0].constants.charged_oscillation
        most = max(most, moved / np.ptp(first - second))
    assert most > 1.5


def test_draws_lie_on_the_ellipsoid_that_is_released_with_them() -> None:
    problem = problem_of(d=3, n=4_000, ridge=0.05)
    planned = planned_for(problem, n_draws=200)
    target = GibbsTarget.of(problem, planned)
    assert target.beta == planned.beta and target.psi == planned.psi
    found = collect(EllipsoidExactSampler(planned), target, 200, np.random.default_rng(0))
    assert found.region.contains(found.coef.T).mean() > 0.99  # but for the grid they are put on
    assert found.region.level == pytest.approx(planned.margin * planned.psi)
    assert np.mean(found.losses <= problem.minimum.value + planned.psi) >= planned.hit_rate_bound


def test_a_promised_hit_rate_is_kept() -> None:
    problem = problem_of(d=2, n=2_000, radius=2.0)
    planned = planned_for(problem, psi=0.15, epsilon=20.0, n_draws=5)
    assert planned.has_hit_rate
    rates = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        target = GibbsTarget.of(problem, planned)
        draws = collect(EllipsoidExactSampler(planned), target, 60, rng)
        rates.append(np.mean(draws.losses <= problem.minimum.value + planned.psi))
    assert np.mean(rates) >= planned.hit_rate_bound


def test_without_width_every_draw_is_the_centre() -> None:
    problem = problem_of(d=2, n=500)
    planned = planned_for(problem, psi=0.0, n_draws=5)
    target = GibbsTarget.of(problem, planned)
    found = collect(EllipsoidExactSampler(planned), target, 5, np.random.default_rng(0))
    assert (found.coef == found.region.start).all()


def test_giving_up_is_an_error_that_names_what_always_answers(monkeypatch) -> None:
    problem = problem_of()
    far = CutEllipsoid(np.array([-2.9]), np.eye(1), 1e-4, 3.0, np.array([-2.9]))
    planned = planned_for(problem)
    monkeypatch.setattr(EllipsoidExactSampler, "released", lambda self, *_: iter([far]))
    sampler = EllipsoidExactSampler(planned, patience=2_000)
    target = GibbsTarget(problem, 1e4, 0.01)
    with pytest.raises(SamplerError, match=r'mechanism="ellipsoid", which never gives up'):
        collect(sampler, target, 1, np.random.default_rng(0))
    both = sampler, replace(sampler, patience=None)
    assumed = [one.guarantee(planned).assumptions[-1] for one in both]
    assert "did not give up (after 2,000 proposals" in assumed[0]
    assert "never give up" in assumed[1]


def test_another_plan_or_no_patience_is_refused() -> None:
    one = plan(100, 3, 0.02, radius=4.0, row_norm=1.0, epsilon=50.0)
    with pytest.raises(TypeError, match="plan_ellipsoid_exact"):
        EllipsoidExactSampler(one)
    with pytest.raises(ValueError, match="patience"):
        EllipsoidExactSampler(planned_for(problem_of()), patience=0)


def test_what_is_foretold_is_of_the_ellipsoid_and_not_of_the_ball() -> None:
    rows = {"radius": 4.0, "row_norm": 2**0.5, "ridge": 0.01, "epsilon": 4.0, "delta": 1e-6}
    planned = plan_ellipsoid_exact(50_000, 40, 0.02, **rows, n_draws=20)
    found = preflight(planned)
    assert found.likely and found.n_draws == 20 and found.proposals_each < 10
    assert feasibility_suggestions(planned) == ""
    cold = replace(planned, beta=1e9, margin=50.0)
    assert not preflight(cold).likely
    assert "never gives up" in feasibility_suggestions(cold)
