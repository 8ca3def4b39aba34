"""A refit is a model of the rows as they are, whatever its penalties made of the columns."""

import numpy as np
from scipy.optimize import minimize

from rashomon_explorer.estimators.bilevel_search import refit_plan, refitted
from rashomon_explorer.mechanisms.penalties import PenaltyConstants
from rashomon_explorer.problem.constants import row_bound


def test_with_a_budget_without_end_it_is_the_penalised_minimum():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(-0.7, 0.7, (900, 2)), np.ones(900)])
    targets = np.where(rows[:, 0] - rows[:, 1] + rng.normal(0, 0.3, 900) > 0, 1.0, -1.0)
    penalties = np.array([0.2, 1.0, 0.05])
    known = PenaltyConstants("logistic", 1.5, 0.05, 1.0, 600, 300)
    planned = refit_plan(known, 3, 1.0, epsilon=1e6, delta=0.0)

    def energy(theta):
        losses = np.logaddexp(0, -targets * (rows @ theta))
        return losses.mean() + penalties @ theta**2 / 2

    best = minimize(energy, np.zeros(3), tol=1e-12).x
    found = refitted(planned, rows, targets, penalties, row_bound(1.0, intercept=True), rng)
    np.testing.assert_allclose(found, best, atol=0.02)
    assert np.abs(best - best / np.sqrt(0.05 / penalties)).max() > 0.1, "scales that do not matter"
