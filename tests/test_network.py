"""Networks: clipped gradients by brute force, and a path that learns what no line can."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rashomon_explorer.problem.network as network_module
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.langevin.gradients.network import NetworkDrift
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.problem.network import NetworkTarget


def network(n=30, d=3, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    return NetworkTarget(X, y, **{"beta": 10.0, "hidden": 4, **settings}), X, y


def numeric_gradient(f, theta, step=1e-6):
    gradient = np.empty_like(theta)
    for j in range(len(theta)):
        away = np.zeros_like(theta)
        away[j] = step
        gradient[j] = (f(theta + away) - f(theta - away)) / (2 * step)
    return gradient


def test_the_gradient_is_the_mean_of_clipped_gradients_of_records():
    clip = 0.4
    target, X, y = network(n=12, clip=clip, ridge=0.1)
    theta = np.random.default_rng(1).standard_normal((target.p, 3))
    found = target.gradient(theta)
    for k in range(3):
        total = np.zeros(target.p)
        for x, label in zip(X, y, strict=True):
            one = NetworkTarget([x], [label], beta=1.0, hidden=4)
            gradient = numeric_gradient(lambda t: one.value(t[:, None])[0], theta[:, k])  # noqa: B023
            total += gradient * min(1.0, clip / np.linalg.norm(gradient))
        np.testing.assert_allclose(found[:, k], total / 12 + 0.1 * theta[:, k], atol=1e-6)


def test_without_clipping_it_is_the_gradient_of_the_loss():
    target, _, _ = network(clip=1e9, ridge=0.2)
    theta = np.random.default_rng(1).standard_normal(target.p)
    expected = numeric_gradient(lambda t: target.value(t[:, None])[0], theta)
    np.testing.assert_allclose(target.gradient(theta[:, None])[:, 0], expected, atol=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 20),
    scale=st.floats(0.01, 100.0),
    data=st.data(),
)
@settings(max_examples=50)
def test_a_path_never_moves_more_than_its_sensitivity(seed, n, scale, data):
    target, X, y = network(n, seed=seed, clip=0.3, ridge=0.1)
    rng = np.random.default_rng(seed)
    place = int(rng.integers(n))
    X[place], y[place] = scale * rng.standard_normal(3), -y[place]
    other = NetworkTarget(X, y, beta=10.0, hidden=4, clip=0.3, ridge=0.1)
    size = data.draw(st.none() | st.integers(1, n))
    drifts = [NetworkDrift(one, size) for one in (target, other)]
    runs = [drift.run(np.random.default_rng(seed)) for drift in drifts]
    steps = int(rng.integers(1, 2 * n + 1))
    total = np.zeros(8)
    for _ in range(steps):
        theta = rng.standard_normal((target.p, 8)) * 3
        total += ((runs[0](theta) - runs[1](theta)) ** 2).sum(axis=0)
    worst = np.sqrt(total.max() / steps) / 10.0
    assert worst <= drifts[0].sensitivity(steps) * (1 + 1e-9)


EXTREMES = (1e160, 1e308, 1.7e308, 5e-324, -1e308)


def extreme_neighbours(dtype=np.float64, n=5):
    """Pairs of tables that differ in one row, whose entries are at an end of the doubles."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 3)).astype(dtype), rng.choice([-1.0, 1.0], n)
    for first in EXTREMES:
        for second in (first, -first, 1.0, 0.0):
            with np.errstate(over="ignore"):
                row = np.array([first, second, -first]).astype(dtype)
            if np.isfinite(row).all():
                other = X.copy()
                other[0] = row
                yield X, other, y, np.where(np.arange(n) == 0, -y, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("row_norm", [1.0, 1e-12, 1e6])
def test_no_row_moves_a_path_by_more_than_its_sensitivity(dtype, row_norm):
    settings = {"beta": 1.0, "hidden": 4, "clip": 0.3, "row_norm": row_norm}
    theta = np.random.default_rng(1).standard_normal((21, 40)) * np.logspace(-3, 3, 40)
    for X, other, y, flipped in extreme_neighbours(dtype):
        one = NetworkTarget(X, y, **settings)
        for labels in (y, flipped):
            two = NetworkTarget(other, labels, **settings)
            moved = np.linalg.norm(one.gradient(theta) - two.gradient(theta), axis=0)
            assert (moved <= NetworkDrift(one).sensitivity(1) * (1 + 1e-9)).all()  # NaN is not
            assert np.isfinite(two.value(theta)).all()


def test_rows_that_are_not_shortened_would_be_caught(monkeypatch):
    """What the gradient was before: the square of 1e160 is infinite, and infinity times 0 NaN."""
    monkeypatch.setattr(network_module, "clip_rows", lambda rows, row_norm: (rows, 0.0))
    monkeypatch.setattr(network_module.np, "isfinite", lambda x: np.ones(np.shape(x), dtype=bool))
    _, other, y, _ = next(extreme_neighbours())
    theta = np.random.default_rng(1).standard_normal((21, 40))
    target = NetworkTarget(other, y, beta=1.0, hidden=4, clip=0.3)
    assert np.isnan(target.gradient(theta)).any()


def test_a_gradient_that_is_not_finite_counts_as_0(monkeypatch):
    """Either of the two defences is enough."""
    theta = np.random.default_rng(1).standard_normal((21, 40))
    monkeypatch.setattr(network_module, "clip_rows", lambda rows, row_norm: (rows, 0.0))
    for X, other, y, _ in extreme_neighbours():
        one, two = (NetworkTarget(rows, y, beta=1.0, hidden=4, clip=0.3) for rows in (X, other))
        moved = np.linalg.norm(one.gradient(theta) - two.gradient(theta), axis=0)
        assert (moved <= NetworkDrift(one).sensitivity(1) * (1 + 1e-9)).all()


def test_a_path_over_a_huge_row_stays_finite_and_close_to_its_direction():
    X, y = np.array([[0.1, 0.2], [0.3, -0.1]]), [1, -1]
    huge, unit = X.copy(), X.copy()
    huge[0], unit[0] = [1e308, -1e308], [0.5**0.5, -(0.5**0.5)]
    sampler = LangevinSampler(1e-3, 5, n_chains=4)
    paths = [
        [batch.theta for batch in sampler.batches(target, np.random.default_rng(1))][-1]
        for target in (NetworkTarget(rows, y, beta=1.0, hidden=3) for rows in (huge, unit))
    ]
    np.testing.assert_allclose(*paths, rtol=1e-12)


def test_half_the_sensitivity_would_be_caught():
    worst = 0.0
    for seed in range(50):
        target, X, y = network(10, seed=seed, clip=0.3)
        X[0], y[0] = -X[0], -y[0]
        other = NetworkTarget(X, y, beta=10.0, hidden=4, clip=0.3)
        theta = np.random.default_rng(seed).standard_normal((target.p, 50)) * 3
        moved = np.linalg.norm(target.gradient(theta) - other.gradient(theta), axis=0)
        worst = max(worst, moved.max() / NetworkDrift(target).sensitivity(1))
    assert 0.5 < worst <= 1


@pytest.mark.parametrize(
    ("n", "epsilon"), [(5_000, 1.7), pytest.param(20_000, 0.4, marks=pytest.mark.law)]
)
@pytest.mark.law
def test_a_private_path_learns_exclusive_or(n, epsilon):
    """No line does better than chance; privacy needs no convexity, and learning survives it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.sign(X[:, 0] * X[:, 1])
    target = NetworkTarget(X, y, beta=1_000.0, hidden=6, clip=1.0, radius=30.0)
    start = tuple(np.random.default_rng(1).standard_normal(target.p))  # no row has touched it
    sampler = LangevinSampler(2e-3, 250, n_chains=4, thin=250, start=start)
    (batch,) = sampler.batches(target, np.random.default_rng(2))
    predicted = np.sign(target.scores(X[:2000], batch.theta))
    accuracy = (predicted == y[:2000]).mean(axis=1)
    assert np.median(accuracy) > 0.8
    # One chain's whole path: (ε, δ) that means something.
    one = LangevinSampler(2e-3, 250, n_chains=1).certificate(target)
    assert one.notion == "gdp"
    assert one.epsilon(1e-6) < epsilon
    assert sampler.certificate(target).mu == pytest.approx(2 * one.mu)


def test_batches_of_a_network_cost_more_for_each_pass():
    target, _, _ = network(n=100)
    passes = [
        LangevinSampler(1e-3, 5 * (100 // size), n_chains=1, batch_size=size).certificate(target)
        for size in (100, 10)
    ]
    # The same time in ten times the steps: five steps of ten times the sensitivity.
    assert passes[1].mu == pytest.approx(10 * passes[0].mu)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[np.nan]], [1], "X must be a table of finite numbers"),
        ([1.0, 2.0], [1, -1], "X must be a table"),
        (np.empty((0, 2)), [], "X must be a table"),
        ([[1.0]], [0], "y must hold one label a row"),
        ([[1.0]], [1, -1], "y must hold one label a row"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(X, y, message):
    with pytest.raises(DataError, match=message):
        NetworkTarget(X, y, beta=1.0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"beta": 0.0}, "beta must be finite and > 0"),
        ({"clip": -1.0}, "clip must be finite and > 0"),
        ({"radius": np.inf}, "radius must be finite and > 0"),
        ({"row_norm": 0.0}, "row_norm must be finite and > 0"),
        ({"radius": 1e101}, "radius must be at most 1e"),
        ({"ridge": -0.1}, "ridge must be finite and >= 0"),
        ({"hidden": 0}, "hidden must be a whole number, at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        network(**setting)


def test_what_a_network_cannot_have_is_said():
    target, _, _ = network()
    with pytest.raises(ValueError, match="no largest stable step is known"):
        LangevinSampler.for_budget(target, epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="last state has no certificate"):
        LangevinSampler(1e-3, 5, shown="last").certificate(target)
    with pytest.raises(ValueError, match="batch_size must be from 1"):
        LangevinSampler(1e-3, 5, batch_size=31).certificate(target)
    with pytest.raises(ValueError, match="single precision is not priced for networks"):
        LangevinSampler(1e-3, 5, precision="single").certificate(target)
    with pytest.raises(ValueError, match="theta must hold one network a column"):
        target.value(np.zeros(3))
