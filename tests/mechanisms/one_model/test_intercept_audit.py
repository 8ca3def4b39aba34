"""Methods that answer in a moment, audited on 100 rows with an intercept at ε = 3."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.audit import monte_carlo
from rashomon_explorer.problem.problem import Problem

pytestmark = pytest.mark.law
N, EPSILON, DELTA, RUNS = 100, 3.0, 1e-2, 400
LOSSES = {"moments": "squared"}
ASKED = Request(
    N, 2, 0.0, "logistic", radius=2.0, row_norm=math.sqrt(2), ridge=0.1, epsilon=EPSILON,
    delta=DELTA, n_draws=1, ledger=True,
)  # fmt: skip
# Long paths are audited exactly, each in its own file.
QUICK = [
    "objective_perturbation", "moments", "noisy_descent", "localised_gaussian",
    "output_perturbation",
]  # fmt: skip


def ended(label):
    """99 rows of both labels, one column, and a record (1, 1) in full length."""
    rows = np.ones((N, 1))
    labels = np.array([*[1.0, -1.0] * (N // 2 - 1), 1.0, label])
    return rows, labels


def audited(name, epsilon, runs=RUNS):
    asked = replace(ASKED, loss=LOSSES.get(name, "logistic"), epsilon=epsilon)
    offer = MECHANISMS[name].offer(asked)

    def one(records, rng):
        X, y = records
        posed = {"loss": asked.loss, "radius": 2.0, "row_norm": 1.0, "ridge": offer.plan.ridge}
        target = GibbsTarget.of(Problem(X, y, **posed), offer.plan)
        return next(MECHANISMS[name].for_plan(offer.plan).batches(target, rng)).theta[:, 0]

    claim = MECHANISMS[name].offer(replace(asked, epsilon=EPSILON)).guarantee
    return monte_carlo(
        one, ended(1.0), ended(-1.0), claim=claim, n_runs=runs, delta=DELTA, random_state=0,
        statistic=lambda outputs: outputs.sum(axis=1),
    )  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_no_claim_is_broken_with_an_intercept(name):
    assert not audited(name, EPSILON).broken


@pytest.mark.parametrize("name", ["objective_perturbation", "localised_gaussian"])
def test_a_claim_of_a_tenth_of_the_price_is_broken(name):
    assert audited(name, 10 * EPSILON).broken
