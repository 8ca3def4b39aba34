"""Gradients that paths follow: lazy ones bit for bit, rounding, batches and smoothing priced."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from rashomon_explorer.mechanisms.certificates.sensitivity import (
    batch_sensitivity,
    data_lipschitz,
    gradient_sensitivity,
)
from rashomon_explorer.mechanisms.langevin.gradients import (
    Columns,
    FullDrift,
    SinglePrecision,
    Slack,
)
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.drifts import BatchDrift, GaussianDrift
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses.logistic import Softplus
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
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
    sampler = LangevinSampler(**{"n_steps": 150, "n_chains": 90, **settings})
    return np.array(list(sampler.states(target, np.random.default_rng(seed))))


class TestLazy:
    @crossed(
        {
            "threshold": ["hard", "smooth"],
            "precision": ["double", "single"],
            "loss": ["logistic", "squared", "smoothed_hinge", SoftmaxLoss(3)],
        }
    )
    def test_lazy_paths_are_the_plain_ones_to_the_last_bit(self, loss, precision, threshold):
        # From the middle of a small set, so that chains leave it and some steps are skipped.
        target = GibbsTarget(lending_like(loss), 300.0, 0.003, threshold)
        step = 0.3 * FullDrift(target).largest_step
        common = {"step_size": min(step, 1e-4), "precision": precision, "n_steps": 60}
        common["start"] = tuple(target.problem.minimum.theta)
        lazy = path(target, **common, lazy=True)
        plain = path(target, **common, lazy=False)
        np.testing.assert_array_equal(lazy, plain)

    def test_also_where_a_product_rounds_columns_by_their_places(self):
        """Nine features in float32: there OpenBLAS adds up some columns of a group otherwise."""
        target = GibbsTarget(lending_like(n=2512, p=9), 300.0, 0.01)
        start = tuple(target.problem.minimum.theta)
        step = 0.3 * FullDrift(target).largest_step
        common = {"step_size": step, "precision": "single", "n_steps": 80, "start": start}
        lazy, plain = (path(target, **common, lazy=lazy) for lazy in (True, False))
        np.testing.assert_array_equal(lazy, plain)

    def test_it_looks_at_few_chains_once_they_are_inside(self, monkeypatch):
        problem = lending_like(n=2000)
        target = GibbsTarget(problem, 2000.0, 0.05, "smooth")
        looked = []
        plain = Columns.value_and_gradient

        def counted(self, theta, numbers=None):
            looked.append(theta.shape[1])
            return plain(self, theta, numbers)

        monkeypatch.setattr(Columns, "value_and_gradient", counted)
        start = tuple(problem.minimum.theta)  # no private path: the test counts work
        states = path(target, step_size=2e-6, start=start)
        inside = (problem.value(states[-1]) <= problem.minimum.value + 0.05).mean()
        assert inside > 0.95
        assert sum(looked) < 0.25 * 150 * 90

    def test_a_bound_that_is_too_low_changes_the_path(self, monkeypatch):
        target = GibbsTarget(lending_like(), 300.0, 0.002, "hard")
        common = {"step_size": 1e-4, "start": tuple(target.problem.minimum.theta)}
        plain = path(target, **common, lazy=False)
        upper = Slack.upper
        monkeypatch.setattr(Slack, "upper", lambda self, theta: upper(self, theta) - 0.05)
        assert not np.array_equal(path(target, **common), plain)

    @given(seed=st.integers(0, 2**32 - 1), loss=st.sampled_from(["logistic", "smoothed_hinge"]))
    @settings(max_examples=40)
    def test_no_loss_exceeds_its_bound(self, seed, loss):
        rng = np.random.default_rng(seed)
        problem = lending_like(loss, n=50, seed=seed, ridge=float(rng.choice([0.0, 0.1])))
        theta = problem.domain.project(rng.standard_normal((problem.p, 60)) * 3)
        other = problem.domain.project(theta + rng.standard_normal(theta.shape))
        slack = Slack(problem.curvature_bound())
        value, gradient = problem.value_and_gradient(theta)
        slack.note(np.full(60, True), theta, value + 1e-12, gradient)
        assert (problem.value(other) <= slack.upper(other)).all()

    def test_a_loss_with_kinks_is_looked_at_every_time(self):
        target = GibbsTarget(lending_like("hinge", n=100), 50.0, 0.05)
        assert target.problem.curvature_bound() is None
        np.testing.assert_array_equal(
            path(target, step_size=1e-4, n_steps=20),
            path(target, step_size=1e-4, n_steps=20, lazy=False),
        )


class TestColumns:
    @given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 700))
    @settings(max_examples=25)
    def test_what_comes_out_for_a_model_knows_nothing_of_the_others(self, seed, count):
        rng = np.random.default_rng(seed)
        problem = lending_like(n=int(rng.integers(1, 3000)), p=int(rng.integers(1, 30)))
        dtype = rng.choice([np.float32, np.float64])
        columns = Columns(problem.evaluator(dtype).value_and_gradient, problem.n)
        theta = rng.standard_normal((problem.p, count))
        value, gradient = columns.value_and_gradient(theta)
        some = rng.permutation(count)[: max(1, count // 3)]
        few_values, few_gradients = columns.value_and_gradient(theta[:, some], some)
        np.testing.assert_array_equal(few_values, value[some])
        np.testing.assert_array_equal(few_gradients, gradient[:, some])

    def test_a_number_alone_decides_the_place(self):
        """A product that rounds every column of a group in another way, as some libraries do."""

        def rounded(stack):
            by_place = 1 + 1e-7 * np.arange(stack.shape[-1])
            return (stack**2).sum(axis=-2) * by_place, 2 * stack * by_place

        columns, rng = Columns(rounded, n_rows=3000), np.random.default_rng(0)
        theta = rng.standard_normal((3, 100))
        some = rng.permutation(100)[:40]
        whole = columns.value_and_gradient(theta)
        for few, one in zip(columns.value_and_gradient(theta[:, some], some), whole, strict=True):
            np.testing.assert_array_equal(few, one[..., some])
        # The control: side by side, without their numbers, they come out in other digits.
        assert not np.array_equal(columns.value_and_gradient(theta[:, some])[0], whole[0][some])

    def test_few_models_take_few_groups(self):
        sizes = []

        def counted(stack):
            sizes.append(len(stack))
            return stack.sum(axis=-2), stack

        columns = Columns(counted, n_rows=3000)
        theta = np.zeros((2, 640))
        columns.value_and_gradient(theta)
        assert sum(sizes) == 640 // columns.width == 20
        sizes.clear()
        some = np.random.default_rng(0).permutation(640)[:64]
        columns.value_and_gradient(theta[:, some], some)
        assert sum(sizes) <= 8

    def test_they_are_the_loss_and_its_gradient(self):
        problem = lending_like()
        theta = problem.domain.project(np.random.default_rng(0).standard_normal((problem.p, 100)))
        expected = problem.value_and_gradient(theta)
        for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 3e-6)):
            columns = Columns(problem.evaluator(dtype).value_and_gradient, problem.n)
            for one, other in zip(columns.value_and_gradient(theta), expected, strict=True):
                np.testing.assert_allclose(one, other, atol=tolerance)


def neighbours(seed, n, loss="logistic", **settings):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n)
    other_X, other_y = X.copy(), y.copy()
    place = int(rng.integers(n))
    X[place] *= 100
    other_X[place], other_y[place] = X[place] * rng.choice([-1.0, 1.0]), -y[place]
    common = {"loss": loss, "intercept": False, **settings}
    return Problem(X, y, **common), Problem(other_X, other_y, **common), rng


class TestSinglePrecision:
    @given(
        seed=st.integers(0, 2**32 - 1),
        n=st.sampled_from([1, 40, 900, 2500, 5000]),
        ridge=st.sampled_from([0.0, 3.0]),
    )
    @settings(max_examples=25)
    def test_its_sensitivity_covers_what_rounding_does_to_neighbours(self, seed, n, ridge):
        one, other, rng = neighbours(seed, n, ridge=ridge)
        theta = one.domain.project(rng.standard_normal((3, 64)) * 4)
        for shape in ("hard", SmoothThreshold(0.05)):
            drifts = [
                FullDrift(GibbsTarget(q, 1.0, 0.0 if shape == "hard" else 0.01, shape), "single")
                for q in (one, other)
            ]
            moved = np.subtract(*(drift.run(rng)(theta) for drift in drifts))
            assert np.linalg.norm(moved, axis=0).max() <= drifts[0].sensitivity(1)

    def test_it_costs_a_few_percent_of_sensitivity(self):
        target = GibbsTarget(lending_like(n=50_000), 100.0, 0.02, "smooth")
        ratio = FullDrift(target, "single").sensitivity(1) / FullDrift(target).sensitivity(1)
        assert 1 < ratio < 1.1

    def test_rows_of_other_blocks_give_the_same_sums(self):
        """What the bound rests on: only the replaced record's block is summed differently."""
        one, other, rng = neighbours(0, 5000)
        theta = one.domain.project(rng.standard_normal((3, 64)) * 4)
        exact = np.subtract(*(q.value_and_gradient(theta)[1] for q in (one, other)))
        single = np.subtract(
            *(q.evaluator(np.float32).value_and_gradient(theta)[1] for q in (one, other))
        )
        # Two independent roundings of 5,000 terms would be apart by about 1e-7.
        assert np.abs(exact - single).max() < 3e-8

    def test_no_record_decides_how_the_others_are_rounded(self):
        """One long row would change how many factors a logarithm takes, in every block."""
        X, y = np.full((2000, 2), 0.01), np.ones(2000)
        other = X.copy()
        other[0] = [1.0, 0.0]
        theta = np.full((2, 3), 5.0, np.float32)
        risks = [
            Problem(rows, y, radius=8.0, intercept=False)._objective.loss for rows in (X, other)
        ]
        bounded = [risk.within(8.0, np.float32) for risk in risks]
        assert len({risk._function(theta).group for risk in bounded}) == 1
        # The control: left to the rows themselves, they differ.
        plain = [replace(risk, function=Softplus()) for risk in bounded]
        assert len({risk._function(theta).group for risk in plain}) == 2
        evaluators = [Problem(rows, y, radius=8.0, intercept=False) for rows in (X, other)]
        assert {problem.evaluator(np.float32).loss.function for problem in evaluators} == {
            Softplus().within(8.0, np.float32)
        }

    @pytest.mark.parametrize(
        "posed",
        [{"row_norm": 1e40, "radius": 1e-40}, {"row_norm": 1e-40, "radius": 1e40}],
        ids=["rows", "models"],
    )
    def test_what_float32_cannot_hold_is_refused_before_a_row_is_read(self, posed):
        """A row or model of 1e40 is infinite there, and infinity less infinity is no gradient."""
        problem = Problem([[1e50], [0.5]], [1, -1], **posed)
        target = GibbsTarget(problem, 10.0, 0.02, "smooth")
        sampler = LangevinSampler(1e-4, 5, precision="single")
        with pytest.raises(ValueError, match="too large for single precision"):
            sampler.certificate(target)
        assert "minimum" not in vars(problem)

    def test_the_largest_loss_knows_the_targets(self):
        """At score 0 a squared error is half the target's square, and not at most 1."""
        X, y = np.full((50, 1), 0.1), np.full(50, 100.0)
        problem = Problem(X, y, loss=SquaredLoss(target_bound=100.0), radius=0.1)
        bound = SinglePrecision.of(problem)
        losses = problem.value(np.zeros((2, 1)))
        assert bound.value >= 2 * losses.max() / 50 * (50 * 2.0**-24)

    def test_only_the_path_is_certified(self):
        target = GibbsTarget(lending_like(n=100), 10.0, 0.02, "smooth")
        with pytest.raises(ValueError, match=r"only accounted for in the path: use .*double"):
            LangevinSampler(1e-4, 5, precision="single", shown="last").certificate(target)
        for other in ({"batch_size": 10}, {}):
            gaussian = GibbsTarget(target.problem, 10.0, 0.02, "gaussian")
            with pytest.raises(ValueError, match="single precision is not accounted for"):
                LangevinSampler(1e-4, 5, precision="single", **other).certificate(
                    target if other else gaussian
                )


class TestBatches:
    @given(
        seed=st.integers(0, 2**32 - 1),
        n=st.integers(2, 40),
        psi=st.sampled_from([0.0, 0.02]),
        width=st.sampled_from([0.0, 0.05, 1.0]),
        ridge=st.sampled_from([0.0, 3.0]),
        data=st.data(),
    )
    @settings(max_examples=80)
    def test_a_path_never_moves_more_than_its_sensitivity(self, seed, n, psi, width, ridge, data):
        one, other, rng = neighbours(seed, n, ridge=ridge)
        size = data.draw(st.integers(1, n))
        shape = SmoothThreshold(width) if width else "hard"
        runs, steps = [], int(rng.integers(1, 3 * n))
        for problem in (one, other):
            drift = BatchDrift(GibbsTarget(problem, 1.0, psi, shape), size)
            runs.append(drift.run(np.random.default_rng(seed)))
        total = np.zeros(20)
        for _ in range(steps):
            theta = one.domain.project(rng.standard_normal((3, 20)) * 4)
            total += ((runs[0](theta) - runs[1](theta)) ** 2).sum(axis=0)
        assert np.sqrt(total.max() / steps) <= drift.sensitivity(steps) * (1 + 1e-9)

    def test_half_of_it_would_be_caught(self):
        worst = 0.0
        for seed in range(40):
            one, other, rng = neighbours(seed, 20)
            runs = [
                BatchDrift(GibbsTarget(q, 1.0, 0.0), 5).run(np.random.default_rng(1))
                for q in (one, other)
            ]
            theta = one.domain.project(rng.standard_normal((3, 400)) * 4)
            total = sum(((runs[0](theta) - runs[1](theta)) ** 2).sum(axis=0) for _ in range(4))
            worst = max(worst, np.sqrt(total.max() / 4))
        drift = BatchDrift(GibbsTarget(one, 1.0, 0.0), 5)
        assert 0.5 < worst / drift.sensitivity(4) <= 1

    def test_one_batch_of_all_rows_is_the_full_gradient(self):
        target = GibbsTarget(lending_like(n=60), 1.0, 0.02, "smooth")
        theta = np.random.default_rng(0).standard_normal((5, 7))
        batch = BatchDrift(target, 60).run(np.random.default_rng(0))(theta)
        np.testing.assert_allclose(batch, target.gradient(theta), rtol=1e-10)

    def test_a_pass_of_batches_has_the_mean_of_the_full_gradient(self):
        target = GibbsTarget(lending_like(n=60), 1.0, 0.0)
        theta = np.random.default_rng(0).standard_normal((5, 7))
        run = BatchDrift(target, 10).run(np.random.default_rng(0))
        mean = np.mean([run(theta) for _ in range(6)], axis=0)
        np.testing.assert_allclose(mean, target.gradient(theta), rtol=1e-9)

    def test_the_chain_of_batches_finds_the_law(self):
        problem = small_problem(1, "squared", radius=50.0, n=300)
        target = GibbsTarget(problem, 50.0, 0.0)
        states = path(target, step_size=2e-3, n_steps=1500, n_chains=2000, batch_size=100)[-1, 0]
        curvature = float(problem.hessian(problem.minimum.theta)[0, 0])
        deviation = 1 / np.sqrt(50.0 * curvature)
        assert states.mean() == pytest.approx(problem.minimum.theta[0], abs=0.15 * deviation)
        assert states.std() == pytest.approx(deviation, rel=0.1)

    def test_sizes_and_certificates_that_do_not_exist_are_refused(self):
        target = GibbsTarget(lending_like(n=60), 1.0, 0.0)
        for size in (0, 61):
            with pytest.raises(ValueError, match="batch_size must be from 1 to the number of rows"):
                LangevinSampler(1e-3, 5, batch_size=size).certificate(target)
        beyond = GibbsTarget(target.problem, 1.0, 0.02, "smooth")
        with pytest.raises(ValueError, match="has a certificate at ψ = 0 only"):
            LangevinSampler(1e-3, 5, batch_size=6, shown="last").certificate(beyond)
        with pytest.raises(ValueError, match="n_batches must be from 1"):
            batch_sensitivity(target.problem.constants, 0.0, width=0.0, n_batches=0, n_steps=1)
        with pytest.raises(ValueError, match="n_steps must be a whole number, at least 1"):
            batch_sensitivity(target.problem.constants, 0.0, width=0.0, n_batches=2, n_steps=0)


class TestRidge:
    """It pulls neighbours the same way: what a record moves is the same without it."""

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    @pytest.mark.parametrize("batch_size", [None, 4])
    def test_what_a_record_moves_is_priced_without_it(self, loss, batch_size):
        worst, settings = 0.0, {"loss": loss, "radius": 0.3, "ridge": 20.0}
        for seed in range(20):
            one, other, rng = neighbours(seed, 12, **settings)
            drifts = [self.drift(problem, batch_size) for problem in (one, other)]
            runs = [drift.run(np.random.default_rng(seed)) for drift in drifts]
            theta = one.domain.project(rng.standard_normal((3, 200)))
            steps = 1 if batch_size is None else 3
            total = sum(((runs[0](theta) - runs[1](theta)) ** 2).sum(axis=0) for _ in range(steps))
            worst = max(worst, np.sqrt(total.max() / steps))
        claimed = drifts[0].sensitivity(steps)
        assert claimed / 2 < worst <= claimed * (1 + 1e-9)  # half of it would be caught
        assert claimed < self.with_ridge(one, batch_size) / 3

    @given(seed=st.integers(0, 2**32 - 1), width=st.sampled_from([0.0, 0.01, 0.3]))
    @settings(max_examples=40)
    def test_beyond_a_threshold_its_own_gradient_still_counts(self, seed, width):
        one, other, rng = neighbours(seed, 12, radius=0.3, ridge=20.0)
        shape = SmoothThreshold(width) if width else "hard"
        drifts = [FullDrift(GibbsTarget(q, 1.0, 0.05, shape)) for q in (one, other)]
        theta = one.domain.project(rng.standard_normal((3, 300)) * rng.random(300))
        moved = np.subtract(*(drift.run(rng)(theta) for drift in drifts))
        assert np.linalg.norm(moved, axis=0).max() <= drifts[0].sensitivity(1) * (1 + 1e-9)

    def test_a_threshold_priced_without_it_is_caught(self):
        """The control: two neighbours at the edge, one beyond it, differ by the ridge's pull."""
        one, other, _ = neighbours(0, 12, radius=0.3, ridge=20.0)
        drifts = [FullDrift(GibbsTarget(q, 1.0, 0.05, "hard")) for q in (one, other)]
        line = np.linspace(0, 1, 20_001)
        theta = one.minimum.theta[:, None] * (1 - line) + np.array([[0.3], [0.0], [0.0]]) * line
        moved = np.subtract(*(drift.run(np.random.default_rng(0))(theta) for drift in drifts))
        largest = np.linalg.norm(moved, axis=0).max()
        free = data_lipschitz(one.constants, one.domain)
        assert free < largest <= drifts[0].sensitivity(1)

    @staticmethod
    def drift(problem, batch_size):
        target = GibbsTarget(problem, 1.0, 0.0)
        return FullDrift(target) if batch_size is None else BatchDrift(target, batch_size)

    @staticmethod
    def with_ridge(problem, batch_size):
        if batch_size is None:
            return gradient_sensitivity(problem.constants, 0.0, width=0.0)
        return batch_sensitivity(problem.constants, 0.0, width=0.0, n_batches=3, n_steps=3)


def smoothed_energy(problem, psi, scale, places):
    """E max{L(θ + λξ), min L + ψ} − (min L + ψ) on a grid of one parameter, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    points = (places[:, None] + scale * nodes).ravel()[None, :]
    excess = problem.value(points).reshape(len(places), -1) - problem.minimum.value
    return np.maximum(excess - psi, 0) @ weights / weights.sum()


class TestGaussian:
    def test_its_gradient_is_that_of_the_smoothed_threshold(self):
        problem = small_problem(1, radius=4.0)
        target = GibbsTarget(problem, 1.0, 0.05, GaussianThreshold(scale=0.3, n_samples=40_000))
        places = np.linspace(-3, 3, 13)
        gradient = GaussianDrift(target).run(np.random.default_rng(0))(places[None, :])[0]
        low, high = (smoothed_energy(problem, 0.05, 0.3, places + h) for h in (-1e-3, 1e-3))
        np.testing.assert_allclose(gradient, (high - low) / 2e-3, atol=0.01)

    def test_it_is_near_the_threshold_it_smooths(self):
        problem = small_problem(1, radius=4.0)
        scale = GaussianDrift(GibbsTarget(problem, 1.0, 0.05, "gaussian")).scale
        assert scale == pytest.approx(np.sqrt(0.05 / problem.M))
        places = np.linspace(-4, 4, 200)
        hard = np.maximum(problem.value(places[None, :]) - problem.minimum.value - 0.05, 0)
        gap = np.abs(smoothed_energy(problem, 0.05, scale, places) - hard)
        assert gap.max() <= 0.05 + problem.M * scale**2 / 2

    @pytest.mark.law
    def test_chains_follow_its_law(self):
        problem, scale = small_problem(1, radius=4.0, n=24), 0.2
        target = GibbsTarget(problem, 60.0, 0.02, GaussianThreshold(scale, n_samples=8))
        start = tuple(problem.minimum.theta)  # no private path, and no burn-in
        draws = path(target, step_size=1e-3, n_steps=500, n_chains=1000, start=start)[-1, 0]
        places = np.linspace(-4, 4, 4001)

        def distance(psi):
            density = np.exp(-60.0 * smoothed_energy(problem, psi, scale, places))
            cumulative = np.cumsum(density) / density.sum()
            return kstest(draws, lambda x: np.interp(x, places, cumulative)).statistic

        # Steps and Monte Carlo gradients have a bias of their own.
        assert distance(0.02) < 0.07 < distance(0.04)

    @given(seed=st.integers(0, 2**32 - 1), psi=st.sampled_from([0.0, 0.02]))
    @settings(max_examples=30)
    def test_its_sensitivity_holds_beyond_the_domain(self, seed, psi):
        one, other, rng = neighbours(seed, 12, radius=0.5)
        shape = GaussianThreshold(scale=2.0, n_samples=3)
        drifts = [GaussianDrift(GibbsTarget(q, 1.0, psi, shape)) for q in (one, other)]
        theta = one.domain.project(rng.standard_normal((3, 200)))
        moved = np.subtract(*(d.run(np.random.default_rng(seed))(theta) for d in drifts))
        assert np.linalg.norm(moved, axis=0).max() <= drifts[0].sensitivity(1) * (1 + 1e-9)
        # The domain's own constant is too small out there.
        assert drifts[0].sensitivity(1) >= gradient_sensitivity(one.constants, psi, width=0.0)

    @pytest.mark.parametrize(
        ("problem", "psi", "message"),
        [
            (lending_like("squared", n=20), 0.02, "Lipschitz everywhere"),
            (lending_like(n=20, ridge=0.1), 0.02, "without a ridge"),
            (lending_like(n=20), 0.0, "scale must be given"),
            (lending_like("hinge", n=20), 0.02, "scale must be given"),
        ],
    )
    def test_losses_it_cannot_smooth_are_refused(self, problem, psi, message):
        with pytest.raises(ValueError, match=message):
            LangevinSampler(1e-4, 5).certificate(GibbsTarget(problem, 1.0, psi, "gaussian"))

    def test_it_takes_all_rows_and_its_last_state_has_no_certificate(self):
        target = GibbsTarget(lending_like(n=20), 1.0, 0.02, "gaussian")
        with pytest.raises(ValueError, match="leave batch_size out"):
            LangevinSampler(1e-4, 5, batch_size=2).certificate(target)
        with pytest.raises(ValueError, match="steps do not contract"):
            LangevinSampler(1e-4, 5, shown="last").certificate(target)


def test_paths_run_on_other_domains():
    problem = lending_like(n=80, domain=Intersection(Ball(1.0), Ball(0.3)))
    target = GibbsTarget(problem, 50.0, 0.01, "smooth")
    states = path(target, step_size=1e-4, n_steps=40, n_chains=10)
    assert np.linalg.norm(states, axis=1).max() <= 0.3 + 1e-12
