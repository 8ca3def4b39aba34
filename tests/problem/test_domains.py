"""Every domain of the registry, by the definitions of what it offers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.domains import DOMAINS, Ball, Box, Intersection, L1Ball, Simplex

P = 3
LOW, HIGH = (-0.5, 0.0, -2.0), (1.0, 1.5, 0.5)
MADE = {
    "ball": [Ball(1.3)],
    "box": [Box(LOW, HIGH), Box.cube(0.7, P)],
    "l1_ball": [L1Ball(1.4)],
    "simplex": [Simplex(1.2)],
    "intersection": [
        Intersection(Box(LOW, HIGH), Ball(1.2)),
        Intersection(L1Ball(1.5), Ball(1.0)),
        Intersection(Simplex(1.5), Ball(1.1)),
        Intersection(Box.cube(0.5, P), Ball(9.0)),
        Intersection(Box.cube(9.0, P), Ball(0.5)),
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
    if isinstance(domain, Box):
        low, high = np.array(domain.low)[:, None], np.array(domain.high)[:, None]
        return ((theta >= low - slack) & (theta <= high + slack)).all(axis=0)
    if isinstance(domain, L1Ball):
        return np.abs(theta).sum(axis=0) <= domain.radius + slack
    if isinstance(domain, Simplex):
        return (theta >= -slack).all(axis=0) & (theta.sum(axis=0) <= domain.scale + slack)
    return is_contained(domain.body, theta) & is_contained(domain.ball, theta)


def test_every_domain_of_the_registry_is_tested():
    assert set(MADE) == set(DOMAINS)
    assert all(type(domain) is DOMAINS[name] for name, made in MADE.items() for domain in made)


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
    directions = blocks(seed)
    support, furthest = domain.support(directions), domain.extreme(directions)
    size = np.linalg.norm(directions, axis=0)
    assert is_contained(domain, furthest).all()
    np.testing.assert_allclose(
        np.sum(directions * furthest, axis=0) / size, support / size, atol=1e-7
    )
    for other in np.hstack([members(domain, seed), domain.project(100 * directions)]).T:
        assert (other @ directions <= support + 1e-12 * size).all()


@pytest.mark.parametrize("domain", CASES)
def test_the_support_along_axes_and_diagonals_too(domain):
    """Where many points of a polytope are furthest."""
    grid = np.array(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1.0])).reshape(P, -1)
    support, furthest = domain.support(grid), domain.extreme(grid)
    assert is_contained(domain, furthest).all()
    np.testing.assert_allclose(np.sum(grid * furthest, axis=0), support, atol=1e-7)
    assert (grid.T @ members(domain, 0, 500) <= support[:, None] + 1e-12).all()


@pytest.mark.parametrize("domain", CASES)
@given(seed=SEEDS)
@settings(max_examples=30)
def test_the_gauge_is_at_most_one_exactly_in_the_domain(domain, seed):
    theta = blocks(seed)
    gauge = domain.gauge(theta)
    clear = np.abs(gauge - 1) > 1e-9
    assert ((gauge <= 1) == domain.contains(theta))[clear].all()
    np.testing.assert_allclose(domain.gauge(3 * theta), 3 * gauge, rtol=1e-12)
    assert (domain.gauge(np.zeros((P, 1))) == 0).all()
    finite = np.isfinite(gauge) & (gauge > 0)
    np.testing.assert_allclose(domain.gauge(theta[:, finite] / gauge[finite]), 1, rtol=1e-9)


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
    assert domain.radius == domain.radius_bound
    assert 0.9 * domain.radius <= norm.max() <= domain.radius * (1 + 1e-9)
    apart = np.linalg.norm(theta[:, :, None] - corners[:, None, :50], axis=0).max()
    assert apart <= domain.diameter * (1 + 1e-9)
    if not isinstance(domain, Intersection):
        assert apart >= 0.9 * domain.diameter
    assert domain.reach(0.5) == pytest.approx(0.5 * domain.radius)
    assert domain.dimension in (None, P)


@pytest.mark.parametrize("domain", CASES)
def test_draws_are_uniform_by_their_gauge(domain):
    """For every convex set that holds 0, gauge^p of a uniform point is uniform on [0, 1]."""
    gauge = domain.gauge(members(domain, 4, 4000))
    assert kstest(gauge**P, "uniform").pvalue > 1e-3
    assert kstest(gauge ** (P - 1), "uniform").pvalue < 1e-3


@pytest.mark.parametrize("domain", CASES)
def test_draws_are_uniform_by_their_places(domain):
    """Against points of the cube around the domain that happen to lie in it."""
    rng = np.random.default_rng(5)
    cube = rng.uniform(-domain.radius, domain.radius, (P, 200_000))
    peers, draws = cube[:, domain.contains(cube)], members(domain, 6, 4000)
    for direction in (*np.eye(P), np.array([1.0, -1.0, 0.5])):
        assert kstest(direction @ draws, direction @ peers).pvalue > 1e-3
    volume = (2 * domain.radius) ** P * peers.shape[1] / cube.shape[1]
    bound = np.exp(domain.log_volume_bound(P))
    assert volume <= 1.03 * bound
    if not isinstance(domain, Intersection):
        assert volume == pytest.approx(bound, rel=0.05)


def test_marginals_of_the_simplex_are_dirichlets():
    draws = Simplex(2.0).uniform(4, 4000, np.random.default_rng(7)) / 2.0
    for entry in draws:
        assert kstest(entry, "beta", args=(1, 4)).pvalue > 1e-3
    assert kstest(draws.sum(axis=0), "beta", args=(4, 1)).pvalue > 1e-3


@pytest.mark.parametrize("domain", MADE["intersection"][:3])
def test_the_projection_on_an_intersection_agrees_with_a_general_solver(domain):
    theta = blocks(8, size=6) + 0.3
    inequalities = [{"type": "ineq", "fun": lambda x: domain.ball.radius**2 - x @ x}]
    bounds = None
    if isinstance(domain.body, Box):
        bounds = list(zip(domain.body.low, domain.body.high, strict=True))
    elif isinstance(domain.body, Simplex):
        bounds = [(0, None)] * P
        inequalities.append({"type": "ineq", "fun": lambda x: domain.body.scale - x.sum()})
    else:
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(P, -1)
        inequalities.append({"type": "ineq", "fun": lambda x: domain.body.radius - x @ signs})
    for point, nearest in zip(theta.T, domain.project(theta).T, strict=True):
        found = minimize(
            lambda x, point=point: np.sum((x - point) ** 2) / 2,
            np.zeros(P),
            method="SLSQP",
            bounds=bounds,
            constraints=inequalities,
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found.x, nearest, atol=1e-5)


def test_one_parameter_works_everywhere():
    rng = np.random.default_rng(9)
    for domain in (Ball(2.0), Box.cube(2.0, 1), L1Ball(2.0), Intersection(L1Ball(3.0), Ball(2.0))):
        np.testing.assert_allclose(domain.project(np.array([[-5.0, 1.0]])), [[-2.0, 1.0]])
        assert kstest(domain.uniform(1, 2000, rng)[0], "uniform", args=(-2, 4)).pvalue > 1e-3


def test_a_hopeless_intersection_says_so(monkeypatch):
    monkeypatch.setattr("rashomon_explorer.problem.domains.ball._MOST_REFUSED", 60)
    monkeypatch.setattr("rashomon_explorer.problem.domains.ball._CHUNK", 16)
    p = 4000
    shells = Intersection(L1Ball(np.sqrt(p)), Ball(1.32))  # of equal volume, and yet apart
    with pytest.raises(SamplerError, match=r"none of 64 uniform draws.*use one of the two"):
        shells.uniform(p, 1, np.random.default_rng(0))


@pytest.mark.parametrize("size", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("make", [Ball, L1Ball, Simplex])
def test_a_domain_without_inside_is_refused(make, size):
    with pytest.raises(ValueError, match=f"must be finite and > 0, got {size}"):
        make(size)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ((), (), "one number a parameter, got 0 and 0"),
        ((-1.0,), (1.0, 1.0), "one number a parameter, got 1 and 2"),
        ((-1.0, 0.5), (1.0, 1.0), r"interval 1 must be finite, hold 0.*\[0.5, 1.0\]"),
        ((-1.0, 0.0), (1.0, 0.0), r"interval 1 .* have an inside"),
        ((-1.0, -np.inf), (1.0, 0.0), "interval 1 must be finite"),
        ((-1.0, np.nan), (1.0, 0.0), "interval 1 must be finite"),
    ],
)
def test_a_bad_box_is_refused_by_its_interval(low, high, message):
    with pytest.raises(ValueError, match=message):
        Box(low, high)


def test_a_box_refuses_models_of_another_length():
    with pytest.raises(ValueError, match="3 intervals, got models of length 2"):
        Box.cube(1.0, 3).project(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="3 intervals, got models of length 5"):
        Box.cube(1.0, 3).uniform(5, 1, np.random.default_rng(0))
