"""What mechanisms of one model share: the best ridge, gaps to new rows, and radial noise."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.request import (
    Request,
    best_ridged,
    generalisation_gap,
    own_cost,
    stable_gap,
)
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss

ROW_NORM = math.hypot(0.6, 1.0)


def asked(**changed):
    numbers = {"n": 300, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 2.0, "ridge": 0.0}
    budget = {"epsilon": 4.0, "delta": 1e-5, "n_draws": 1}
    return Request(**{**numbers, "row_norm": ROW_NORM, **budget, **changed})


def test_the_best_ridge_is_found_and_counted():
    request = asked(ridge=0.1)
    ridge, made = best_ridged(request, lambda one: ((one.ridge - 0.35) ** 2, one))
    assert made.ridge == ridge and 0.2 < ridge < 0.5
    assert own_cost(request, 0.35) == pytest.approx(0.25 / 2 * 4)
    assert own_cost(request, 0.1) == 0.0


def test_gaps_to_new_rows():
    request = asked(loss="hinge", n=400)
    assert generalisation_gap(request) == pytest.approx(2 * ROW_NORM * 2.0 / 20)
    assert stable_gap(request, 5.0) == pytest.approx(2 * ROW_NORM**2 / (5 * 400))
    assert stable_gap(request, 5.0, 0.01) == pytest.approx(
        stable_gap(request, 5.0) + 0.01 * ROW_NORM
    )
    assert stable_gap(request, 0.0) == generalisation_gap(request)
    three, two = (asked(loss=SoftmaxLoss(k), p=6 if k == 3 else 3) for k in (3, 2))
    assert generalisation_gap(three) > 2 * generalisation_gap(two)


def test_the_gap_to_new_rows_holds_for_the_worst_model():
    """Linear losses y·θ of signs: sup over the ball of risk − mean is R|mean y|."""
    rng = np.random.default_rng(0)
    n, radius = 100, 0.5
    means = rng.choice([-1.0, 1.0], (4_000, n)).mean(axis=1)
    request = asked(loss="hinge", n=n, p=1, radius=radius, row_norm=1.0)
    assert 0.2 * generalisation_gap(request) < radius * np.abs(means).mean()
    assert radius * np.abs(means).mean() < generalisation_gap(request)


@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_has_its_law(gaussian):
    rng = np.random.default_rng(0)
    noise = np.array([radial_noise(4, 0.3, rng, gaussian=gaussian) for _ in range(2_000)])
    lengths = np.linalg.norm(noise, axis=1) / 0.3
    law = ("chi", (4,)) if gaussian else ("gamma", (4,))
    assert kstest(lengths, law[0], args=law[1]).pvalue > 1e-3
    directions = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    assert np.abs(directions.mean(axis=0)).max() < 0.05
