"""What a plan promises holds of the worst landscapes there can be, and is attained."""

import numpy as np
import pytest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.landscape import GeneralisedTarget, pair_sensitivity
from rashomon_explorer.mechanisms.penalties.penalty_set import validation_rows
from rashomon_explorer.mechanisms.penalties.plan import TuningPlan, grid_points, plan_tuning


def planned(epsilon: float = 1.0, n: int = 30_000, d: int = 1, **options) -> TuningPlan:
    known = PenaltyConstants("logistic", 1.5, 0.02, 2.0, 2 * n // 3, n // 3, margin_bound=4.0)
    return plan_tuning(known, d, epsilon=epsilon, **options)


def law(plan: TuningPlan, values: np.ndarray) -> np.ndarray:
    weights = np.exp(-plan.beta * np.maximum(values - values.min() - plan.psi, 0))
    return np.asarray(weights / weights.sum())


def spikes(plan: TuningPlan, height: float) -> np.ndarray:
    """One best point, and all others equally bad."""
    return np.append(0.0, np.full(plan.n_points - 1, height))


@pytest.mark.parametrize("psi", [0.0, 0.05])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_promises_hold_of_one_good_point_among_many(psi: float, epsilon: float) -> None:
    plan = planned(epsilon, psi=psi)
    for height in np.linspace(1e-3, plan.loss_range, 200):
        values = spikes(plan, height)
        drawn = law(plan, values)
        assert drawn @ values <= plan.excess_bound * (1 + 1e-9)
        beyond = drawn[values > plan.excess_within(0.9)].sum()
        assert beyond <= 0.1 + 1e-9
        assert np.abs(drawn - 1 / plan.n_points).sum() / 2 <= plan.from_uniform + 1e-12


@pytest.mark.parametrize("best", [0, 16, 32])
@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_promises_hold_of_generalised_scores(best: int, psi: float) -> None:
    plan = planned(3.0, psi=psi, mechanism="generalised")
    known = plan.constants
    pairs = pair_sensitivity(known, np.geomspace(known.low, known.high, plan.n_points))
    target = GeneralisedTarget(None, plan.eta, pairs, psi)
    for height in np.linspace(1e-3, plan.loss_range, 50):
        values = np.roll(spikes(plan, height), best)
        weights = np.exp(-target.energy(values))
        drawn = weights / weights.sum()
        assert drawn @ values <= plan.excess_bound * (1 + 1e-9)
        assert drawn[values > plan.excess_within(0.9)].sum() <= 0.1 + 1e-9
        assert np.abs(drawn - 1 / plan.n_points).sum() / 2 <= plan.from_uniform + 1e-12


def test_the_tail_is_attained_by_one_good_point() -> None:
    """All other points at the promised excess: a tenth of the draws, but for the best's share."""
    plan = planned(300.0)
    excess = plan.excess_within(0.9)
    values = spikes(plan, excess)
    assert excess < plan.loss_range
    assert law(plan, values)[1:].sum() == pytest.approx(0.1 / 1.1, rel=1e-9)


def test_the_mean_is_that_of_the_tail() -> None:
    plan = planned(300.0)
    u = np.linspace(0, 1, 2_000_001)
    tail = np.minimum(1.0, (plan.n_points - 1) * np.exp(-plan.beta * u))
    assert np.trapezoid(tail, u) == pytest.approx(plan.excess_bound, rel=1e-5)


def test_the_distance_from_uniform_is_attained_by_two_levels() -> None:
    plan = planned(0.05)
    rest = np.exp(-plan.beta * plan.loss_range)
    share = np.linspace(1e-3, 1, 4000, endpoint=False)
    apart = share * (1 - share) * (1 - rest) / (share + (1 - share) * rest)
    assert apart.max() == pytest.approx(plan.from_uniform, rel=1e-4)


@pytest.mark.parametrize(("n", "epsilon"), [(2, 1), (1, 2)])
def test_rows_and_price_buy_the_same(n: int, epsilon: int) -> None:
    one, other = planned(1.0), planned(float(epsilon), n=30_000 * n)
    assert other.beta == pytest.approx(2 * one.beta, rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 10, 101])
@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.99])
def test_a_split_leaves_rows_on_both_sides_evenly(n: int, fraction: float) -> None:
    held_out = validation_rows(n, fraction)
    many = held_out.sum()
    assert 1 <= many <= n - 1 and abs(many - fraction * n) <= max(1, 0.5)
    for end in range(1, n + 1):
        assert abs(held_out[:end].sum() - many * end / n) <= 1


def test_one_row_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="n_samples=1: tuning needs at least 2 rows"):
        validation_rows(1, 0.3)


@pytest.mark.parametrize(("d", "points"), [(1, 33), (2, 17**2), (3, 9**3)])
def test_grids_end_at_the_bounds(d: int, points: int) -> None:
    plan = planned(d=d)
    assert plan.n_points == points == grid_points(plan.constants, d, plan.spacing)


def test_grids_that_are_too_fine_or_have_one_point_are_refused() -> None:
    for spacing in (1.00001, 1e9):
        with pytest.raises(SamplerError, match="points of 1 penalties"):
            planned(spacing=spacing)
    with pytest.raises(SamplerError, match="compares all pairs of at most 2,000 points"):
        planned(spacing=1.001, mechanism="generalised")
    with pytest.raises(ValueError, match="mechanism must be 'auto' or one of"):
        planned(mechanism="best")
    with pytest.raises(ValueError, match="spacing must be > 1"):
        planned(spacing=0.5)
    with pytest.raises(SamplerError, match="4 penalties were requested"):
        planned(d=4)
