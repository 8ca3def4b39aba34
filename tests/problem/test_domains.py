"""Every domain, by the definitions of what it offers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.problem.domains import Ball, Intersection

P = 3
MADE = {
    "ball": [Ball(1.3)],
    "intersection": [
        Intersection(Shifted(Ball(1.0), (0.5, 0.0, 0.2)), Ball(0.8)),
        Intersection(Shifted(Ball(1.5), (0.0, 1.0, -0.6)), Ball(1.1)),
        Intersection(Shifted(Ball(0.5), (0.1, 0.0, 0.2)), Ball(9.0)),
        Intersection(Shifted(Ball(9.0), (0.1, 0.0, 0.2)), Ball(0.5)),
        Intersection(Ball(2.0), Ball(1.0)),
    ],
}
CASES = [
    pytest.param(domain, id=f"{name}-{number}")
    for name, domains in MADE.items()
    for number, domain in enumerate(domains)
]
SEEDS = st.integers(0, 2**32 - 1)


def blocks(seed, spread=2.0, size=40):
    """Random columns of very different lengths."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((P, size)) * spread * 10 ** rng.uniform(-2, 1, size)


def members(domain, seed, size=40):
    return domain.uniform(P, size, np.random.default_rng(seed))


def is_contained(domain, theta):
    """Membership from the definition, with room for rounding."""
    slack = 1e-12
    if isinstance(domain, Ball):
        return np.linalg.norm(theta, axis=0) <= domain.radius + slack
    if isinstance(domain, Shifted):
        return is_contained(domain.body, theta + np.array(domain.centre)[:, None])
    return is_contained(domain.body, theta) & is_contained(domain.ball, theta)


@pytest.mark.parametrize("domain", CASES)
@given(seed=SEEDS)
@settings(max_examples=30)
def test_projection_obeys_the_variational_inequality(domain, seed):
    points = blocks(seed)
    nearest = domain.project(points)
    assert is_contained(domain, nearest).all()
    residual = points - nearest
    size = 1 + np.abs(points).max(axis=0)
    for other in members(domain, seed).T:
        assert (np.sum(residual * (other[:, None] - nearest), axis=0) <= 1e-9 * size).all()
    np.testing.assert_allclose(domain.project(nearest), nearest, atol=1e-12)


@pytest.mark.parametrize("domain", CASES)
@given(seed=SEEDS)
@settings(max_examples=15)
def test_the_support_is_attained_and_never_exceeded(domain, seed):
    grid = np.array(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1.0])).reshape(P, -1)
    directions = np.hstack([blocks(seed), grid[:, grid.any(axis=0)]])
    assert domain.support(np.zeros((P, 1)))[0] == pytest.approx(0, abs=1e-7)
    support, furthest = domain.support(directions), domain.extreme(directions)
    size = np.linalg.norm(directions, axis=0)
    assert is_contained(domain, furthest).all()
    np.testing.assert_allclose(
        np.sum(directions * furthest, axis=0) / size, support / size, atol=1e-7
    )
    for other in np.hstack([members(domain, seed), domain.project(100 * directions)]).T:
        assert (other @ directions <= support + 1e-12 * size).all()


@pytest.mark.parametrize("domain", CASES)
@given(seed=SEEDS)
@settings(max_examples=30)
def test_a_chord_ends_on_the_boundary(domain, seed):
    theta, direction = members(domain, seed), blocks(seed + 1)
    low, high = domain.chord(theta, direction)
    assert (low <= 0).all() and (high >= 0).all()
    length = high - low
    for end, outwards in ((low, -1), (high, 1)):
        assert is_contained(domain, theta + end * direction).all()
        beyond = theta + (end + outwards * (1e-6 * length + 1e-9)) * direction
        assert not domain.contains(beyond).any()


@pytest.mark.parametrize("domain", CASES)
def test_sizes_hold_every_member(domain):
    theta = members(domain, 1, 4000)
    corners = domain.extreme(blocks(2, size=4000))
    theta = np.hstack([theta, corners])
    norm = np.linalg.norm(theta, axis=0)
    assert domain.contains(members(domain, 3)).all()
    assert 0.9 * domain.radius <= norm.max() <= domain.radius * (1 + 1e-9)
    apart = np.linalg.norm(theta[:, :, None] - corners[:, None, :50], axis=0).max()
    assert apart <= domain.diameter * (1 + 1e-9)
    if not isinstance(domain, Intersection):
        assert apart >= 0.9 * domain.diameter
    assert domain.reach(0.5) == pytest.approx(0.5 * domain.radius)
    assert domain.dimension in (None, P)


@pytest.mark.parametrize("domain", CASES)
def test_draws_are_uniform_by_their_places(domain):
    """Against points of the cube around the domain that happen to lie in it."""
    rng = np.random.default_rng(5)
    cube = rng.uniform(-domain.radius, domain.radius, (P, 200_000))
    peers, draws = cube[:, domain.contains(cube)], members(domain, 6, 4000)
    for direction in (*np.eye(P), np.array([1.0, -1.0, 0.5])):
        assert kstest(direction @ draws, direction @ peers).pvalue > 1e-3
        assert kstest(direction @ (0.8 * draws), direction @ peers).pvalue < 1e-3
    volume = (2 * domain.radius) ** P * peers.shape[1] / cube.shape[1]
    bound = np.exp(domain.log_volume_bound(P))
    assert volume <= 1.03 * bound
    if not isinstance(domain, Intersection):
        assert volume == pytest.approx(bound, rel=0.05)


@pytest.mark.parametrize("domain", MADE["intersection"][:3])
def test_the_projection_on_an_intersection_agrees_with_a_general_solver(domain):
    theta = blocks(8, size=6) + 0.3
    centre = np.array(domain.body.centre)
    inequalities = [
        {"type": "ineq", "fun": lambda x: domain.ball.radius**2 - x @ x},
        {"type": "ineq", "fun": lambda x: domain.body.body.radius**2 - (x + centre) @ (x + centre)},
    ]
    for point, nearest in zip(theta.T, domain.project(theta).T, strict=True):
        found = minimize(
            lambda x, point=point: np.sum((x - point) ** 2) / 2,
            np.zeros(P),
            method="SLSQP",
            constraints=inequalities,
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found.x, nearest, atol=1e-5)


def test_one_parameter_works_everywhere():
    rng = np.random.default_rng(9)
    for domain in (Ball(2.0), Intersection(Shifted(Ball(3.0), (0.5,)), Ball(2.0))):
        np.testing.assert_allclose(domain.project(np.array([[-5.0, 1.0]])), [[-2.0, 1.0]])
        assert kstest(domain.uniform(1, 2000, rng)[0], "uniform", args=(-2, 4)).pvalue > 1e-3


def test_a_hopeless_intersection_says_so(monkeypatch):
    monkeypatch.setattr("rashomon_explorer.problem.domains._MOST_REFUSED", 60)
    monkeypatch.setattr("rashomon_explorer.problem.domains._CHUNK", 16)
    p = 4000
    apart = Intersection(Shifted(Ball(1.0), (1.0, *(0.0,) * (p - 1))), Ball(1.0))
    with pytest.raises(SamplerError, match=r"none of 64 uniform draws.*use only one of the two"):
        apart.uniform(p, 1, np.random.default_rng(0))
