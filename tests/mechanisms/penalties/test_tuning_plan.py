"""Bounds of a plan hold of the worst landscapes there can be, and are attained."""

import numpy as np
import pytest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.landscape import (
    GeneralisedTarget,
    PenaltyTarget,
    pair_sensitivity,
)
from rashomon_explorer.mechanisms.penalties.penalty_set import validation_rows
from rashomon_explorer.mechanisms.penalties.plan import grid_points, plan_tuning


def planned(epsilon=1.0, n=30_000, d=1, **options):
    known = PenaltyConstants("logistic", 1.5, 0.02, 2.0, 2 * n // 3, n // 3, margin_bound=4.0)
    return plan_tuning(known, d, epsilon=epsilon, **options)


def law(plan, values):
    known, target = plan.constants, PenaltyTarget(None, plan.beta, plan.psi)
    if plan.mechanism == "generalised":
        pairs = pair_sensitivity(known, np.geomspace(known.low, known.high, plan.n_points))
        target = GeneralisedTarget(None, plan.eta, pairs, plan.psi)
    weights = np.exp(-target.energy(values - values.min()))
    return weights / weights.sum()


def spikes(plan, height):
    """One best point, and all others equally bad."""
    return np.append(0.0, np.full(plan.n_points - 1, height))


@pytest.mark.parametrize("psi", [0.0, 0.05])
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "best"),
    [
        ("exponential", 0.3, 0),
        *((kind, 3.0, best) for kind in ("exponential", "generalised") for best in (0, 16, 32)),
    ],
)
def test_bounds_hold_of_one_good_point_among_many(mechanism, epsilon, best, psi):
    plan = planned(epsilon, psi=psi, mechanism=mechanism)
    for height in np.linspace(1e-3, plan.loss_range, 60):
        values = np.roll(spikes(plan, height), best)
        drawn = law(plan, values)
        assert drawn @ values <= plan.excess_bound * (1 + 1e-9)
        assert drawn[values > plan.excess_within(0.9)].sum() <= 0.1 + 1e-9
        assert np.abs(drawn - 1 / plan.n_points).sum() / 2 <= plan.from_uniform + 1e-12


def test_bounds_are_attained():
    """A tenth of the draws at the bounded excess, but for the best's share, and the tail's mean."""
    plan = planned(300.0)
    excess = plan.excess_within(0.9)
    assert excess < plan.loss_range
    drawn = law(plan, spikes(plan, excess))
    assert drawn[1:].sum() == pytest.approx(0.1 / 1.1, rel=1e-9)
    u = np.linspace(0, 1, 2_000_001)
    tail = np.minimum(1.0, (plan.n_points - 1) * np.exp(-plan.beta * u))
    assert np.trapezoid(tail, u) == pytest.approx(plan.excess_bound, rel=1e-5)
    plan = planned(0.05)  # two levels are as far from uniform as can be
    rest, share = np.exp(-plan.beta * plan.loss_range), np.linspace(1e-3, 1, 4000, endpoint=False)
    apart = share * (1 - share) * (1 - rest) / (share + (1 - share) * rest)
    assert apart.max() == pytest.approx(plan.from_uniform, rel=1e-4)


@pytest.mark.parametrize("n", [2, 3, 10, 101])
@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.99])
def test_a_split_leaves_rows_on_both_sides_evenly(n, fraction):
    validation = validation_rows(n, fraction)
    many = validation.sum()
    assert 1 <= many <= n - 1 and abs(many - fraction * n) <= max(1, 0.5)
    for end in range(1, n + 1):
        assert abs(validation[:end].sum() - many * end / n) <= 1


@pytest.mark.parametrize(("d", "points"), [(1, 33), (2, 17**2), (3, 9**3)])
def test_grids_end_at_the_bounds(d, points):
    plan = planned(d=d)
    assert plan.n_points == points == grid_points(plan.constants, d, plan.spacing)


@pytest.mark.parametrize(
    ("error", "options", "match"),
    [
        (SamplerError, {"spacing": 1.00001}, "points of 1 penalties"),
        (SamplerError, {"spacing": 1e9}, "points of 1 penalties"),
        (SamplerError, {"spacing": 1.001, "mechanism": "generalised"}, "compares all pairs of at"),
        (SamplerError, {"d": 4}, "4 penalties were requested"),
        (ValueError, {"mechanism": "best"}, "mechanism must be 'auto' or one of"),
        (ValueError, {"spacing": 0.5}, "spacing must be > 1"),
    ],
)
def test_what_has_no_grid_is_refused(error, options, match):
    with pytest.raises(error, match=match):
        planned(**options)
    with pytest.raises(ValueError, match="n_samples=1: tuning needs at least 2 rows"):
        validation_rows(1, 0.3)
