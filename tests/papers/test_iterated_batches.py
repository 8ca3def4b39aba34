"""Draws on disjoint batches: the exact joint law of neighbours, who is in which batch, promises."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import batch_gap, generalisation_gap
from rashomon_explorer.papers import localisation
from rashomon_explorer.papers.localisation import batch_sizes, of_fewer, plan_disjoint
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import request_of

LOSS, RADIUS, RIDGE, ROWS, EPSILON = SmoothedHingeLoss(smoothing=0.5), 0.5, 1.0, 4_000, 2.0
KNOWN = Constants.of(LOSS, n=ROWS, p=1, domain=Ball(RADIUS), row_bound=1.0, ridge=RIDGE)
PLANNED = plan_disjoint(KNOWN, Ball(RADIUS), epsilon=EPSILON, n_stages=2)
GRID = np.linspace(-RADIUS, RADIUS, 401)


def drawn_from(pull, size, stage, middle=0.0):
    """Log law of a stage on the grid: −pull·θ/size + ½mθ², on the part near the middle."""
    logs = stage.beta * (pull * GRID / size - RIDGE / 2 * GRID**2)
    logs = np.where(np.abs(GRID - middle) <= stage.distance, logs, -np.inf)
    return logs - logsumexp(logs)


def joint(pulls):
    """Log probability of every pair of draws, by what all rows of a batch pull together."""
    (one, other), (first, second) = PLANNED.sizes, PLANNED.stages
    later = [drawn_from(pulls[1], other, second, middle) for middle in GRID]
    return drawn_from(pulls[0], one, first)[:, None] + np.array(later)


def apart(one, other):
    """Largest log ratio of two laws; neither can what the other cannot."""
    assert (np.isfinite(one) == np.isfinite(other)).all()
    inside = np.isfinite(one)
    return float(np.abs(one[inside] - other[inside]).max())


@pytest.mark.parametrize("batch", [0, 1])
def test_a_record_costs_one_stage_whichever_batch_it_is_in(batch):
    assert math.isinf(PLANNED.stages[0].distance) and PLANNED.stages[1].distance < RADIUS / 2
    pulls = [2_000, 2_000]
    pulls[batch] -= 2  # one record pulls the other way
    assert 0.7 * EPSILON < apart(joint([2_000, 2_000]), joint(pulls)) <= EPSILON


def test_a_record_in_both_batches_costs_both_stages():
    """The control: parallel composition needs that batches share no row."""
    assert apart(joint([2_000, 2_000]), joint([1_998, 1_998])) > 1.2 * EPSILON


def test_every_row_is_in_one_batch_and_no_row_decides_which(monkeypatch):
    taken, problem = [], table()

    def seen(posed, middle, stage, sampler, rng):
        taken.append(posed.rows[:, 0])
        assert posed.constants == of_fewer(problem.constants, len(posed.rows))
        return middle + 0.1

    monkeypatch.setattr(localisation, "draw_near", seen)
    found = localisation.draw_by_batches(problem, PLANNED, np.random.default_rng(0))
    assert [len(part) for part in taken] == list(PLANNED.sizes)
    assert sorted(np.concatenate(taken)) == sorted(problem.rows[:, 0])
    assert found == pytest.approx([0.2]) and (np.diff(np.concatenate(taken)) < 0).any()


def table():
    rows = np.linspace(-0.9, 0.9, ROWS)[:, None]
    return Problem(
        rows, np.ones(ROWS), loss=LOSS, radius=RADIUS, ridge=RIDGE, row_norm=1.0, intercept=False
    )


@pytest.mark.parametrize("n", [2, 17, 1_000])
def test_sizes_add_up_and_double(n):
    for k in range(1, int(math.log2(n)) + 1):
        sizes = batch_sizes(n, k)
        assert sum(sizes) == n and len(sizes) == k and min(sizes) >= 1
        assert all(later == n // 2 ** (k - i) for i, later in enumerate(sizes) if i)


def test_the_minimiser_of_the_law_is_rarely_lost():
    """θ* of the risk lies within the radius of the first draw, as often as is said and more."""
    n, rng = 4_000, np.random.default_rng(0)
    known = Constants.of(LOSS, n=n, p=1, domain=Ball(RADIUS), row_bound=1.0, ridge=RIDGE)
    planned = plan_disjoint(known, Ball(RADIUS), epsilon=8.0, n_stages=2)
    near = planned.stages[1].distance
    assert near < RADIUS
    strays = []
    for _ in range(300):  # rows ±1 with mean .2: θ* = .2
        pull = rng.choice([1.0, -1.0], planned.sizes[0], p=[0.6, 0.4]).sum()
        law = np.exp(drawn_from(pull, planned.sizes[0], planned.stages[0]))
        strays.append(abs(rng.choice(GRID, p=law) - 0.2))
    assert max(strays) < near < 12 * np.mean(strays)


def test_new_rows_are_promised_more_than_by_draws_from_all_rows():
    numbers = {"n": 100_000, "p": 5, "radius": 4.0, "row_norm": 1.0, "epsilon": 1.0, "delta": 0.0}
    request, kind = request_of(**numbers, ridge=1.0), MECHANISMS["iterated_batches"]
    offer = kind.offer(request)
    assert offer.guarantee.pure_epsilon == 1.0 and kind.traits.may_give_up
    bound = offer.plan.population_bound
    for other in ("unthresholded", "iterated", "localised"):
        assert bound < MECHANISMS[other].offer(request).plan.population_bound / 5
    assert offer.excess > bound  # of the rows less is known than of new ones
    assert "see unthresholded" in kind.offer(request_of(**{**numbers, "n": 2_000})).why
    assert batch_gap(request, 100_000, 4.0) == generalisation_gap(request)


@pytest.mark.parametrize(("epsilon", "by_n", "by_p"), [(1e-3, -1.9, 1.5), (1.0, -1.5, 1.0)])
def test_what_it_promises_falls_as_is_printed(epsilon, by_n, by_p):
    """p²log/(εn)² where noise decides; p/(εn^1.5), less than 1/n, where the law's scatter does."""
    fits = [
        plan_disjoint(
            Constants.of("logistic", n=n, p=p, domain=Ball(4.0), row_bound=1.0, ridge=1.0),
            Ball(4.0),
            epsilon=epsilon,
        ).fitted
        for n, p in ((10**7, 8), (4 * 10**7, 8), (4 * 10**7, 32))
    ]
    assert math.log(fits[1] / fits[0]) / math.log(4) == pytest.approx(by_n, abs=0.1)
    assert math.log(fits[2] / fits[1]) / math.log(4) == pytest.approx(by_p, abs=0.1)
