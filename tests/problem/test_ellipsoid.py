"""An ellipsoid cut by a ball: its law by closed forms, its extremes by brute force."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import NonlinearConstraint, minimize

from rashomon_explorer.problem.domains import CutEllipsoid


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
    points = body._of_ellipsoid(2000, np.random.default_rng(0))
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
