"""The last state over batches in turn: the proof's own schedule, exact chains, refusals."""

import itertools
import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms.langevin.accounting import (
    earlier_epochs,
    last_batch_state_guarantee,
    last_iterate_guarantee,
)
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.batch_theorems import cyclic_strongly_convex
from rashomon_explorer.papers.drifts import BatchDrift
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.problem.problem import Problem

SHIFT = 2.0  # s = hβΔ with h = ½, and σ = 1


def mu_squared(c: float, batches: int, steps: int, diameter: float = math.inf) -> float:
    found = last_batch_state_guarantee(
        beta=2.0, sensitivity=SHIFT, step_size=0.5, n_steps=steps, n_batches=batches,
        contraction=c, diameter=diameter,
    )  # fmt: skip
    return found.mu**2


def spent(c: float, visits: list[int], steps: int) -> float:
    """Squares of the proof's schedule, which must make up for everything and for nothing more."""
    *before, last = visits
    moves = np.zeros(steps + 1)
    if before:
        span = np.arange(before[0], last)
        due = sum(SHIFT * c ** (last - 1 - t) for t in before)
        weights = c ** (last - 1.0 - span)
        moves[span] = due * weights / (weights**2).sum()
    moves[last] = SHIFT
    apart = 0.0
    for t in range(1, steps + 1):
        apart = c * apart + SHIFT * (t in visits) - moves[t]
        assert apart >= -1e-9
    assert apart == pytest.approx(0, abs=1e-9)
    return float((moves**2).sum())


@pytest.mark.parametrize("c", [1.0, 0.999, 0.9, 0.4])
@pytest.mark.parametrize("batches", [1, 2, 7])
def test_no_place_of_a_record_costs_more_and_the_last_costs_all_of_it(c, batches):
    for steps in [1, batches, batches + 1, 5 * batches, 6 * batches - 1]:
        told = []
        for place in range(1, batches + 1):
            visits = list(range(place, steps + 1, batches))
            told.append(spent(c, visits, steps) if visits else 0.0)
        assert max(told) <= mu_squared(c, batches, steps) * (1 + 1e-9)
        assert max(told) == pytest.approx(mu_squared(c, batches, steps))


def test_it_is_theorem_4_5_where_that_applies():
    for c, batches, epochs in itertools.product([0.2, 0.9, 0.9999], [2, 40], [1, 2, 50]):
        printed = cyclic_strongly_convex(
            sensitivity=SHIFT, batch_size=1, sigma=1.0, batches_per_epoch=batches, epochs=epochs,
            contraction=c,
        )  # fmt: skip
        assert mu_squared(c, batches, batches * epochs) == pytest.approx(printed.mu**2)
    assert earlier_epochs(1.0, 5, 11) == pytest.approx(2.0)


def test_a_bounded_domain_ends_what_a_path_costs():
    found = [mu_squared(1.0, 10, 10 * epochs, diameter=6.0) for epochs in (1, 5, 50, 5000)]
    assert found[0] == pytest.approx(SHIFT**2) and found[1] < found[2]
    assert found[3] == pytest.approx(SHIFT**2 + (6.0 + 3 * SHIFT) ** 2 / (3 * 10))
    assert found[3] == pytest.approx(found[2]) and found[3] < mu_squared(1.0, 10, 50_000)
    # The schedule of the proof: D apart at the start, k visits, equal moves, never below nothing.
    apart, k, l = 6.0, 3, 10  # noqa: E741
    move = (6.0 + k * SHIFT) / (k * l)
    for t in range(k * l):
        apart += SHIFT * (t % l == 0) - move
        assert apart >= -1e-9
    assert apart == pytest.approx(0, abs=1e-9)


def test_one_batch_of_all_rows_is_never_cheaper_than_its_own_theorem():
    for c, steps in itertools.product([0.5, 0.99, 1.0], [1, 3, 100]):
        plain = last_iterate_guarantee(
            beta=2.0, sensitivity=SHIFT, step_size=0.5, n_steps=steps, contraction=c
        )
        assert mu_squared(c, 1, steps) >= plain.mu**2 * (1 - 1e-9)


def rows(first: float) -> Problem:
    """Squared loss on one column, far inside its ball: every step is linear."""
    targets = np.array([first, 0.2, -0.1, 0.3, 0.0, -0.3])
    return Problem(np.ones((6, 1)), targets, loss="squared", radius=50.0, intercept=False)


@pytest.mark.parametrize("n_steps", [1, 3, 6, 7, 60])
def test_linear_chains_keep_their_certificate_and_half_of_it_is_caught(n_steps):
    """Mean and variance of the last state by recursion, for every order of the batches."""
    sampler = LangevinSampler(0.01, n_steps, n_chains=1, batch_size=2, shown="last")
    targets = [GibbsTarget(rows(y), 40.0, 0.0) for y in (1.0, -1.0)]
    claimed = sampler.certificate(targets[0])
    found = 0.0
    for seed in range(12):
        ends = []
        for target in targets:
            gradient = BatchDrift(target, 2).run(np.random.default_rng(seed))
            mean, spread = np.zeros((1, 1)), 0.0
            for _ in range(n_steps):
                stretched = gradient(np.hstack([mean, mean + 1]))
                slope = float(stretched[0, 1] - stretched[0, 0])
                mean = mean - 0.01 * stretched[:, :1]
                spread = spread * (1 - 0.01 * slope) ** 2 + 2 * 0.01
            ends.append((float(mean[0, 0]), spread))
        found = max(found, abs(ends[0][0] - ends[1][0]) / math.sqrt(ends[0][1]))
    # Two targets are 2 apart; Δ counts on any two in the whole ball, which are farther.
    reach = claimed.mu * 2 / (BatchDrift(targets[0], 2).sensitivity(1) * 2)
    assert found <= reach * (1 + 1e-9)
    assert found > (0.7 if n_steps < 10 else 0.3) * reach  # these contract, and c = 1 is claimed
    if n_steps < 10:  # the control: half of the price would be broken
        assert gdp_delta(found, 0.1) > gdp_delta(reach / 2, 0.1)


def test_what_has_no_such_certificate_is_refused():
    with pytest.raises(ValueError, match="contraction must be at most 1"):
        mu_squared(1.1, 2, 4)
    with pytest.raises(ValueError, match="n_batches must be"):
        mu_squared(1.0, 0, 4)
    assert mu_squared(0.9, 3, 0) == 0.0
