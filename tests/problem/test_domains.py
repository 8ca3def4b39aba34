"""Every domain, by the definitions of what it offers; an ellipsoid cut by a ball."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import NonlinearConstraint, minimize
from scipy.stats import kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.problem.domains import Ball, CutEllipsoid, Intersection

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


def region(p, seed=0, radius=1.0, level=0.1, out=False):
    """Around a model of length .8, or around one outside the ball under a multiplier."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((p, p))
    matrix = root @ root.T / p + 0.3 * np.eye(p)
    theta = rng.standard_normal(p)
    theta *= (1.0 if out else 0.8) * radius / np.linalg.norm(theta)
    return CutEllipsoid.under(theta, 0.2 if out else 0.0, matrix, level, radius)


def test_an_uncut_ellipsoid_has_uniform_heights_to_the_power_of_half_p():
    body = region(5, radius=50.0, level=0.02)
    theta = body.uniform(4000, np.random.default_rng(1))
    share = (body.height(theta) / body.level) ** (body.p / 2)
    assert stats.kstest(share, "uniform").pvalue > 0.01
    whitened = np.linalg.cholesky(body.matrix).T @ (theta - body.centre[:, None])
    assert np.abs(whitened.mean(axis=1)).max() < 4 * np.sqrt(2 * body.level / 7 / 4000)


@pytest.mark.parametrize("out", [False, True])
def test_a_cut_one_is_uniform_by_its_area(out):
    """A grid of the plane tells the mean and the spread."""
    body = region(2, seed=3, out=out)
    axis = np.linspace(-1, 1, 801)
    grid = np.stack(np.meshgrid(axis, axis)).reshape(2, -1)
    held = grid[:, body.contains(grid)]
    theta = body.uniform(6000, np.random.default_rng(2))
    assert body.contains(theta).all()
    assert np.abs(theta.mean(axis=1) - held.mean(axis=1)).max() < 5 * held.std() / np.sqrt(6000)
    assert np.abs(np.cov(theta) - np.cov(held)).max() < 0.1 * np.cov(held).max()


def test_walks_have_the_law_of_points_that_are_kept():
    """The control is a walk of two steps, which is still near its start."""
    body = region(4, seed=5, level=0.3)
    rng = np.random.default_rng(0)
    exact = body.uniform(3000, rng)
    ends = [part for _ in range(3) for part in body._walks(1000, rng)]
    walked = np.concatenate(ends, axis=1)
    assert body.contains(walked).all() and walked.shape == exact.shape
    for direction in np.eye(4):
        assert stats.ks_2samp(direction @ exact, direction @ walked).pvalue > 1e-3
    assert stats.ks_2samp(body.height(exact), body.height(walked)).pvalue > 1e-3


def test_walks_come_where_hardly_a_point_of_the_ellipsoid_is_in_the_ball():
    body = region(40, seed=1, level=2.0)
    points = body._uniform_in_ellipsoid(2000, np.random.default_rng(0))
    assert (np.linalg.norm(points, axis=0) <= 1).mean() < 0.02
    theta = body.uniform(30, np.random.default_rng(0))
    assert theta.shape == (40, 30) and body.contains(theta).all()
    assert len(np.unique(theta[0])) == 30


@pytest.mark.parametrize("out", [False, True])
def test_ranges_are_those_of_a_convex_programme(out):
    body = region(4, seed=2, level=0.2, out=out)
    directions = np.random.default_rng(4).standard_normal((6, 4))
    low, high = body.ranges(directions)
    kept = [
        NonlinearConstraint(lambda x: float(body.height(x[:, None])[0]), -np.inf, body.level),
        NonlinearConstraint(lambda x: float(x @ x), -np.inf, 1.0),
    ]
    for sign, ends in ((-1, high), (1, low)):
        for direction, end in zip(directions, ends, strict=True):
            best = minimize(lambda x, a=direction, s=sign: s * a @ x, body.start, constraints=kept)
            assert sign * best.fun == pytest.approx(end, abs=2e-4)
    theta = body.uniform(2000, np.random.default_rng(0))
    assert (directions @ theta <= high[:, None] + 1e-12).all()
    assert (directions @ theta >= low[:, None] - 1e-12).all()


def test_ranges_where_the_ball_does_not_cut_are_the_closed_form():
    body = region(3, radius=50.0, level=0.02)
    spread = np.sqrt(2 * body.level * np.diag(np.linalg.inv(body.matrix)))
    low, high = body.ranges(np.eye(3))
    assert high == pytest.approx(body.centre + spread) and low == pytest.approx(
        body.centre - spread
    )


def test_a_multiplier_makes_the_set_that_of_the_quadratic_loss():
    body = region(3, seed=6, out=True)
    rng = np.random.default_rng(0)
    theta = body.start[:, None] + 0.2 * rng.standard_normal((3, 500))
    step = theta - body.start[:, None]
    loss = np.einsum("ij,ij->j", step, body.matrix @ step) / 2 - 0.2 * body.start @ step
    inside = (loss <= 0.1) & (np.linalg.norm(theta, axis=0) <= 1)
    assert (body.contains(theta) == inside).all() and 0 < inside.mean() < 1


def test_without_width_every_model_is_the_start():
    body = CutEllipsoid.under(np.array([0.6, 0.8]), 0.5, np.eye(2), 0.0, 1.0)
    assert (body.uniform(3, np.random.default_rng(0)).T == [0.6, 0.8]).all()
    assert body.ranges(np.eye(2))[0] == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"level": -1.0}, "level must be"),
        ({"radius": 0.0}, "radius must be"),
        ({"matrix": np.eye(3)}, "shapes"),
        ({"matrix": -np.eye(2)}, "positive definite"),
        ({"start": np.array([0.9, 0.9])}, "start must be"),
    ],
)
def test_what_is_no_ellipsoid_is_refused(changes, match):
    usual = {"centre": np.zeros(2), "matrix": np.eye(2), "start": np.zeros(2)}
    with pytest.raises(ValueError, match=match):
        CutEllipsoid(**{**usual, "level": 0.5, "radius": 1.0, **changes})
