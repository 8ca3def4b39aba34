"""Gradients that paths follow: lazy ones bit for bit, and what a record moves of each kind."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms import LangevinSampler
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.mechanisms.langevin import gradients
from rashomon_explorer.mechanisms.langevin.gradients import ClippedDrift, Columns, FullDrift
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.drifts import BatchDrift, GaussianDrift
from rashomon_explorer.problem.losses import SoftmaxLoss
from rashomon_explorer.problem.losses.logistic import Softplus
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import GaussianThreshold, SmoothThreshold
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import small_problem


def lending_like(loss="logistic", n=700, p=4, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) / np.sqrt(p)
    score = X @ np.ones(p) + 0.5 * rng.standard_normal(n)
    if isinstance(loss, SoftmaxLoss):
        return Problem(X, np.digitize(score, [-0.5, 0.5]).astype(float), loss=loss, **settings)
    y = np.sign(score) if loss != "squared" else np.clip(score, -1, 1)
    return Problem(X, y, loss=loss, **settings)


def path(target, *, seed=3, **settings):
    sampler = LangevinSampler(**{"n_steps": 60, "n_chains": 90, **settings})
    return np.array(list(sampler.states(target, np.random.default_rng(seed))))


def from_the_middle(target, **settings):
    """A path from the middle of a small set, so that chains leave it and some steps are skipped."""
    step = min(0.3 * FullDrift(target).largest_step, 1e-4)
    start = tuple(target.problem.minimum.theta)  # no private path
    return path(target, step_size=step, start=start, **settings)


@crossed(
    {
        "threshold": ["hard", "smooth"],
        "precision": ["double", "single"],
        # Nine features in float32: there OpenBLAS adds up some columns of a group otherwise.
        "loss, shape": [("logistic", {"n": 2512, "p": 9}), ("squared", {}), ("hinge", {"n": 100}),
                        ("smoothed_hinge", {}), (SoftmaxLoss(3), {}), ("logistic", {})],
    }
)  # fmt: skip
def test_lazy_paths_are_the_plain_ones_to_the_last_bit(threshold, precision, loss, shape):
    target = GibbsTarget(lending_like(loss, **shape), 300.0, 0.003, threshold)
    lazy, plain = (
        from_the_middle(target, precision=precision, lazy=lazy) for lazy in (True, False)
    )
    np.testing.assert_array_equal(lazy, plain)
    assert (target.problem.curvature_bound() is None) == (loss == "hinge")


def test_few_chains_are_evaluated_once_they_are_inside_and_too_low_a_bound_is_noticed(monkeypatch):
    problem, seen, plain = lending_like(n=2000), [], Columns.value_and_gradient
    target = GibbsTarget(problem, 2000.0, 0.05, "smooth")

    def counted(self, theta, numbers=None):
        seen.append(theta.shape[1])
        return plain(self, theta, numbers)

    monkeypatch.setattr(Columns, "value_and_gradient", counted)
    states = path(target, step_size=2e-6, start=tuple(problem.minimum.theta), n_steps=150)
    assert (problem.value(states[-1]) <= problem.minimum.value + 0.05).mean() > 0.95
    assert sum(seen) < 0.25 * 150 * 90
    target, upper = GibbsTarget(lending_like(), 300.0, 0.002, "hard"), gradients.Slack.upper
    known = from_the_middle(target, lazy=False)
    monkeypatch.setattr(gradients.Slack, "upper", lambda self, theta: upper(self, theta) - 0.05)
    assert not np.array_equal(from_the_middle(target), known)


RIDGED = {"radius": 0.3, "ridge": 20.0}
KINDS = {
    "full": FullDrift,
    "single": lambda target: FullDrift(target, "single"),
    "batches": lambda target: BatchDrift(target, max(1, target.problem.n // 3)),
    "gaussian": GaussianDrift,
    "clipped": lambda target: ClippedDrift(target, 0.5),
}


def neighbours(seed, n, loss="logistic", **settings):
    """Two problems that differ in one extreme record."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n)
    other_X, other_y = X.copy(), y.copy()
    place = int(rng.integers(n))
    X[place] *= 100
    other_X[place], other_y[place] = X[place] * rng.choice([-1.0, 1.0]), -y[place]
    common = {"loss": loss, "intercept": False, **settings}
    return Problem(X, y, **common), Problem(other_X, other_y, **common), rng


def moved(kind, pair, psi, width, rng, models=200):
    """Root mean square distance of two runs' gradients, at the worst model, and what is charged."""
    smooth = SmoothThreshold(width) if width else "hard"
    shape = GaussianThreshold(scale=2.0, n_samples=3) if kind == "gaussian" else smooth
    drifts = [KINDS[kind](GibbsTarget(one, 1.0, psi, shape)) for one in pair]
    runs = [drift.run(np.random.default_rng(0)) for drift in drifts]
    steps = int(rng.integers(1, 8)) if kind == "batches" else 1
    total = np.zeros(models)
    for _ in range(steps):
        theta = rng.standard_normal((3, models)) * rng.random(models) * 4
        theta = pair[0].domain.project(theta)
        total += ((runs[0](theta) - runs[1](theta)) ** 2).sum(axis=0)
    return np.sqrt(total.max() / steps), drifts[0].sensitivity(steps)


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 2, 12, 40, 900, 2500]),
    loss=st.sampled_from(["logistic", "squared"]),
    posed=st.sampled_from([{}, {"radius": 1.0}, {"ridge": 4.0, "radius": 3.0}, RIDGED]),
    psi=st.sampled_from([0.0, 0.01, 0.1]),
    width=st.sampled_from([0.0, 0.005, 0.05, 1.0]),
)
@settings(max_examples=60)
def test_no_record_moves_a_run_by_more_than_its_sensitivity(kind, seed, n, loss, posed, psi, width):
    if kind == "gaussian":  # needs a loss that is Lipschitz everywhere
        loss, posed = "logistic", {"radius": 0.5}
    one, other, rng = neighbours(seed, n, loss, **posed)
    found, charged = moved(kind, (one, other), psi, width, rng)
    assert found <= charged * (1 + 1e-9)


@pytest.mark.parametrize(
    ("kind", "psi", "width", "posed", "share"),
    [
        ("full", 0.01, 0.05, {"n": 2}, 0.25),
        ("batches", 0.0, 0.0, {}, 0.5),
        ("clipped", 0.0, 0.0, {}, 0.5),
        # A ridge pulls neighbours the same way: its slope is three times the loss's here.
        ("full", 0.0, 0.0, RIDGED, 0.5),
        ("batches", 0.0, 0.0, RIDGED, 0.5),
        ("full", 0.0, 0.0, {**RIDGED, "loss": "squared"}, 0.5),
    ],
)
def test_a_part_of_the_sensitivity_would_be_caught(kind, psi, width, posed, share):
    def part(seed):
        one, other, rng = neighbours(seed, **{"n": 12, **posed})
        found, charged = moved(kind, (one, other), psi, width, rng, models=400)
        return found / charged

    assert share < max(map(part, range(40))) <= 1 + 1e-9


def test_a_threshold_priced_without_the_ridge_is_caught():
    """The control: two neighbours at the edge, one beyond it, differ by the ridge's pull."""
    one, other, _ = neighbours(0, 12, **RIDGED)
    drifts = [FullDrift(GibbsTarget(q, 1.0, 0.05, "hard")) for q in (one, other)]
    line = np.linspace(0, 1, 20_001)
    theta = one.minimum.theta[:, None] * (1 - line) + np.array([[0.3], [0.0], [0.0]]) * line
    apart = np.subtract(*(drift.run(np.random.default_rng(0))(theta) for drift in drifts))
    largest = np.linalg.norm(apart, axis=0).max()
    assert data_lipschitz(one.constants, one.domain) < largest <= drifts[0].sensitivity(1)


def test_single_precision_costs_a_few_percent_and_rounds_only_the_records_block():
    target = GibbsTarget(lending_like(n=50_000), 100.0, 0.02, "smooth")
    ratio = FullDrift(target, "single").sensitivity(1) / FullDrift(target).sensitivity(1)
    assert 1 < ratio < 1.1
    one, other, rng = neighbours(0, 5000)
    theta = one.domain.project(rng.standard_normal((3, 64)) * 4)
    exact, single = (
        np.subtract(*(q.evaluator(kind).value_and_gradient(theta)[1] for q in (one, other)))
        for kind in (np.float64, np.float32)
    )
    # Two independent roundings of 5,000 terms would be apart by about 1e-7.
    assert np.abs(exact - single).max() < 3e-8


def test_no_record_decides_how_the_others_are_rounded():
    """One long row would change how many factors a logarithm takes, in every block."""
    X, y = np.full((2000, 2), 0.01), np.ones(2000)
    other = X.copy()
    other[0] = [1.0, 0.0]
    theta = np.full((2, 3), 5.0, np.float32)
    problems = [Problem(rows, y, radius=8.0, intercept=False) for rows in (X, other)]
    bounded = [problem._objective.loss.within(8.0, np.float32) for problem in problems]
    assert len({risk._function(theta).group for risk in bounded}) == 1
    # The control: left to the rows themselves, they differ.
    plain = [replace(problem._objective.loss, function=Softplus()) for problem in problems]
    assert len({risk._function(theta).group for risk in plain}) == 2
    assert {problem.evaluator(np.float32).loss.function for problem in problems} == {
        Softplus().within(8.0, np.float32)
    }


@pytest.mark.parametrize("large", ["row_norm", "radius"])
def test_what_float32_cannot_hold_is_refused_before_a_row_is_read(large):
    """A row or model of 1e40 is infinite there, and infinity less infinity is no gradient."""
    sizes = {"row_norm": 1e-40, "radius": 1e-40, large: 1e40}
    problem = Problem([[1e50], [0.5]], [1, -1], **sizes)
    target = GibbsTarget(problem, 10.0, 0.02, "smooth")
    with pytest.raises(ValueError, match="too large for single precision"):
        LangevinSampler(1e-4, 5, precision="single").certificate(target)
    assert "minimum" not in vars(problem)


@pytest.mark.parametrize(
    ("size", "psi", "threshold"), [(60, 0.02, "smooth"), (60, 0.0, "hard"), (10, 0.0, "hard")]
)
def test_a_pass_of_batches_has_the_mean_of_the_full_gradient(size, psi, threshold):
    target = GibbsTarget(lending_like(n=60), 1.0, psi, threshold)
    theta = np.random.default_rng(0).standard_normal((5, 7))
    run = BatchDrift(target, size).run(np.random.default_rng(0))
    mean = np.mean([run(theta) for _ in range(60 // size)], axis=0)
    np.testing.assert_allclose(mean, target.gradient(theta), rtol=1e-9)
    assert BatchDrift(target, 13).n_batches == 4  # of at least so many rows


def smoothed_energy(problem, psi, scale, places):
    """E max{L(θ + λξ), min L + ψ} − (min L + ψ) on a grid of one parameter, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    points = (places[:, None] + scale * nodes).ravel()[None, :]
    excess = problem.value(points).reshape(len(places), -1) - problem.minimum.value
    return np.maximum(excess - psi, 0) @ weights / weights.sum()


def test_its_gradient_is_that_of_the_smoothed_threshold():
    problem = small_problem(1, radius=4.0)
    target = GibbsTarget(problem, 1.0, 0.05, GaussianThreshold(scale=0.3, n_samples=20_000))
    places = np.linspace(-3, 3, 7)
    gradient = GaussianDrift(target).run(np.random.default_rng(0))(places[None, :])[0]
    low, high = (smoothed_energy(problem, 0.05, 0.3, places + h) for h in (-1e-3, 1e-3))
    np.testing.assert_allclose(gradient, (high - low) / 2e-3, atol=0.01)
    scale = GaussianDrift(GibbsTarget(problem, 1.0, 0.05, "gaussian")).scale
    assert scale == pytest.approx(np.sqrt(0.05 / problem.M))
    places = np.linspace(-4, 4, 200)
    hard = np.maximum(problem.value(places[None, :]) - problem.minimum.value - 0.05, 0)
    gap = np.abs(smoothed_energy(problem, 0.05, scale, places) - hard)
    assert gap.max() <= 0.05 + problem.M * scale**2 / 2  # near the threshold that it smooths


SINGLE, LAST = {"precision": "single"}, {"shown": "last"}
REFUSED = [  # the sampler, the problem, ψ and threshold, and the message
    ({**SINGLE, **LAST}, {}, 0.02, "smooth", r"only accounted for in the path: use .*double"),
    ({**SINGLE, "batch_size": 10}, {}, 0.02, "smooth", "single precision is not accounted for"),
    (SINGLE, {}, 0.02, "gaussian", "single precision is not accounted for"),
    ({"batch_size": 0}, {}, 0.0, "hard", "batch_size must be from 1 to the number of rows"),
    ({"batch_size": 21}, {}, 0.0, "hard", "batch_size must be from 1 to the number of rows"),
    ({"batch_size": 6, **LAST}, {}, 0.02, "smooth", "has a certificate at ψ = 0 only"),
    ({}, {"loss": "squared"}, 0.02, "gaussian", "Lipschitz everywhere"),
    ({}, {"ridge": 0.1}, 0.02, "gaussian", "without a ridge"),
    ({}, {}, 0.0, "gaussian", "scale must be given"),
    ({}, {"loss": "hinge"}, 0.02, "gaussian", "scale must be given"),
    ({"batch_size": 2}, {}, 0.02, "gaussian", "leave batch_size out"),
    (LAST, {}, 0.02, "gaussian", "steps do not contract"),
    (LAST, {}, 0.02, "hard", "a hard threshold or a loss with kinks"),
    ({**LAST, "step_size": 10.0}, {}, 0.02, "smooth", "step_size must be at most"),
]


@pytest.mark.parametrize(("sampler", "posed", "psi", "threshold", "message"), REFUSED)
def test_only_the_path_is_certified(sampler, posed, psi, threshold, message):
    """Of gradients that jump, rounding and batches with a threshold; some have no certificate."""
    target = GibbsTarget(lending_like(n=20, **posed), 1.0, psi, threshold)
    chains = LangevinSampler(**{"step_size": 1e-4, "n_steps": 5, **sampler})
    for run in (
        chains.certificate,
        lambda one: next(chains.batches(one, np.random.default_rng(0))),
    ):
        with pytest.raises(ValueError, match=message):
            run(target)
