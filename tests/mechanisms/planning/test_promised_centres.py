"""The bounds of private centres and of averaged paths, by hand; the noise's largest eigenvalue."""

import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms.ellipsoid.plan import plan_ellipsoid
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning.centres import by_gradients
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

RADIUS, ZERO_LOSS = 4.0, math.log(2)


@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
def test_descent_promises_what_its_steps_start_and_noise_add_up_to(ridge: float) -> None:
    public = {"n": 20_000, "p": 9, "domain": Ball(RADIUS), "row_bound": 1.4, "ridge": ridge}
    known = Constants.of("logistic", **public)
    centre = by_gradients(known, RADIUS, 0.3, ZERO_LOSS)
    shrink = 1 - centre.step_size * known.m
    weights = sum(shrink**-j for j in range(1, centre.n_steps + 1))
    # m/2·‖θ*‖² ≤ L(θ*) ≤ L(0): the minimiser is no farther from the start than this.
    start = RADIUS**2 if ridge == 0 else min(RADIUS**2, 2 * ZERO_LOSS / ridge)
    begun = start / (2 * centre.step_size * weights)
    shaken = centre.step_size * known.p * centre.noise**2
    assert centre.excess == pytest.approx(begun + shaken, rel=1e-9)
    # Each is a part that counts.
    assert min(begun, shaken) > 0.05 * centre.excess


def test_the_lift_is_above_the_noises_largest_eigenvalue() -> None:
    rows = {"n": 20_000, "p": 80, "psi": 0.02, "radius": RADIUS, "row_norm": 1.4, "ridge": 0.01}
    bought = plan_ellipsoid(**rows, epsilon=1.0, delta=1e-6)
    rng, largest = np.random.default_rng(0), []
    for _ in range(300):
        noise = rng.standard_normal((80, 80))
        largest.append(np.linalg.eigvalsh(bought.hessian_noise * (noise + noise.T) / 2)[-1])
    assert np.mean(np.array(largest) <= bought.lift) >= 0.95
    beyond = math.sqrt(-2 * math.log(0.05))
    edge = bought.hessian_noise * (math.sqrt(2 * 80) + beyond)
    assert bought.lift == pytest.approx(edge, rel=1e-3)
    assert bought.lift >= edge


@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_a_path_promises_what_temperature_and_time_give(psi: float) -> None:
    rows = {"radius": RADIUS, "row_norm": 1.4, "epsilon": 1.0, "delta": 1e-6, "n_draws": 3}
    bought = plan_path(200_000, 9, psi, **rows)
    squared = bought.beta**2 * bought.step_size * bought.n_steps  # β²T, which the budget fixes
    ideal = math.sqrt(2 * squared * 9) / RADIUS
    far = RADIUS**2 * bought.beta / (2 * squared)
    assert bought.excess_bound == pytest.approx(9 / ideal + far + psi + bought.width / 2)
