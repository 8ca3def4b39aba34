"""By brute force: which choices among private draws are still private.

An exponential mechanism draws two of four models on each of two data sets that differ in one
record. All pairs of draws are listed with their exact probabilities, the set's own methods choose
from them, and the largest log-ratio of an outcome's probabilities is what the choice reveals.
"""

import math
from itertools import product

import numpy as np
import pytest

from rashomon_explorer.privacy import bounded_range, compose
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import from_draws

MODELS = np.array([[-2.0, 0.0], [-0.5, 0.5], [0.5, 0.0], [2.0, -0.5]])
PUBLIC_ROWS = [[0.3], [-0.8]]
X, Y = [[0.9], [0.5], [-0.4], [-1.0]], [1, -1, 1, -1]
NEIGHBOUR = [-1, -1, 1, -1]
BETA, PSI = 0.2, 0.2


def outcomes(targets, choose):
    """Exact probability of everything that a choice from two draws can leave."""
    problem = Problem(X, targets, radius=3.0)
    weights = np.exp(-BETA * problem.value(MODELS.T))
    chances = weights / weights.sum()
    found: dict[bytes, float] = {}
    for pair in product(range(4), repeat=2):
        drawn = from_draws(
            problem, MODELS[list(pair)], PSI, guarantee=compose([bounded_range(eta())] * 2)
        )
        left = choose(drawn).coef.tobytes()
        found[left] = found.get(left, 0.0) + math.prod(chances[list(pair)])
    return found


def eta():
    """Exact bounded range of one draw: how far one record moves the differences of losses."""
    one, other = (Problem(X, targets, radius=3.0).value(MODELS.T) for targets in (Y, NEIGHBOUR))
    return float(BETA * np.ptp(one - other))


def revealed(choose):
    here, there = outcomes(Y, choose), outcomes(NEIGHBOUR, choose)
    if here.keys() != there.keys():
        return math.inf
    return max(abs(math.log(here[left] / there[left])) for left in here)


@pytest.mark.parametrize(
    "choose",
    [
        lambda m: m,
        lambda m: m.simplest(),
        lambda m: m.dedupe(by="coef"),
        lambda m: m.dedupe(PUBLIC_ROWS, reads_rows=False),
        lambda m: m.nearest([1.0, 0.0], reads_rows=False),
        lambda m: m.filter(lambda s: s.coef[:, 0] > 0, reads_rows=False),
    ],
)
def test_choices_that_keep_the_guarantee_keep_its_number(choose):
    problem = Problem(X, Y, radius=3.0)
    kept = choose(
        from_draws(problem, MODELS[:2], PSI, guarantee=compose([bounded_range(eta())] * 2))
    ).guarantee
    assert kept.holds
    assert revealed(choose) <= kept.epsilon(0.0) * (1 + 1e-12)


@pytest.mark.parametrize(
    "choose",
    [
        lambda m: m.inside(),
        lambda m: m[[int(np.argmin(m.losses))]],
        lambda m: m.nearest(m.best),
        lambda m: m.filter(lambda s: s.excess < 0.3),
    ],
)
def test_choices_by_private_rows_reveal_more_than_was_paid_for(choose):
    """The control: were the guarantee kept here, it would be false."""
    assert revealed(choose) > 2 * eta() * (1 + 1e-9)
