"""A larger ε never guarantees less: the plan takes the best smaller one, and charges only that."""

import numpy as np
import pytest

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.select import select
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.plots.prices import guarantee_curves

TABLE = {"p": 9, "psi": 0.02, "loss": "logistic", "radius": 4.0, "ridge": 0.0, "delta": 1e-6}
MECHANISMS_THAT_RISE = ("objective_perturbation", "ellipsoid", "ellipsoid_exact", "langevin")


def _plan(mechanism, epsilon, **changes):
    settings = {**TABLE, "n": 6366, "n_draws": 20, "ledger": True, "row_norm": 2**0.5, **changes}
    return select(mechanism=mechanism, epsilon=epsilon, **settings)


@pytest.mark.parametrize("mechanism", MECHANISMS_THAT_RISE)
@pytest.mark.parametrize("n", [124, 6366])
def test_curves_of_the_promise_never_rise_and_a_plan_is_a_point_of_its_curve(mechanism, n):
    planned = _plan(mechanism, 100.0, n=n)
    sign = -1 if has_hit_rate(planned) else 1
    for _, curve in guarantee_curves(planned, (1, 20)).groupby("n_draws"):
        promises = sign * curve.sort_values("epsilon")["promise"].to_numpy()
        assert np.all(np.diff(promises) <= 1e-3 * np.abs(promises[:-1]))
    if not has_hit_rate(planned):
        smaller = [_plan(mechanism, e, n=n).weighed_excess for e in (5.0, 20.0, 50.0, 99.0)]
        assert planned.weighed_excess <= 1.25 * min(smaller)


def test_the_smaller_epsilon_is_charged_and_named():
    planned = _plan("objective_perturbation", 100.0, n=124, p=16, ridge=0.01)
    assert planned.epsilon < 100
    assert f"ε = {rounded_up(planned.epsilon)} of 100 is used" in planned.why
    assert planned.guarantee.epsilon(planned.delta) <= planned.epsilon * (1 + 1e-9)
    row = {**TABLE, "n": 124, "p": 16, "ridge": 0.01, "row_norm": 2**0.5, "ledger": True}
    request = Request(**row, epsilon=planned.epsilon, n_draws=20)
    same = MECHANISMS["objective_perturbation"].plan_for(request)
    assert same == planned  # nothing but ε is another
    whole = MECHANISMS["objective_perturbation"].plan_for(
        Request(**row, epsilon=100.0, n_draws=20)
    )  # the control
    assert whole.weighed_excess > 1.3 * planned.weighed_excess and whole.epsilon == 100


def test_one_model_keeps_the_epsilon_that_was_asked_for():
    row = {**TABLE, "n": 12_000, "p": 20, "row_norm": 40.0, "n_draws": 1}
    planned = select(mechanism="noisy_descent", epsilon=1.0, **row)  # at .08 it guarantees less
    assert planned.epsilon == 1 and "is used" not in planned.why
