"""Audits of the whole path, from rows through the estimators to rounded coefficients."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.privacy import audit, bounded_range, pure

pytestmark = pytest.mark.law

ETA, DRAWS = 2.0, 40_000
ROWS = np.ones((3, 1))
BINARY = [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]
SEVERAL = [0, 1, 2, 0], [0, 1, 2, 2]
EACH = pytest.mark.parametrize(
    ("kind", "neighbours"),
    [(RashomonClassifier, BINARY), (RashomonRegressor, BINARY), (RashomonClassifier, SEVERAL)],
)


def draws(kind, **settings):
    """Draws of one fit are independent: one fit runs the mechanism once a draw."""

    def draw(labels, rng, size):
        seed = int(rng.integers(2**31))
        model = kind(n_draws=size, radius=1.0, random_state=seed, **settings)
        if "epsilon" not in settings:
            model.set_params(epsilon=ETA * size, delta=0.0)
        model.fit(np.ones((len(labels), 1)), labels)
        return model.rashomon_set_.coef.reshape(size, -1)

    return draw


def audited(draw, neighbours, claim, n_runs=DRAWS):
    settings = {"confidence": 0.9999, "random_state": 0, "batched": True}
    return audit.monte_carlo(draw, *neighbours, claim=claim, n_runs=n_runs, **settings)


@EACH
def test_draws_leak_no_more_than_their_cost(kind, neighbours):
    found = audited(draws(kind, psi=0.01, mechanism="exact"), neighbours, bounded_range(eta=ETA))
    assert not found.broken
    assert found.epsilon() > 0.1 * ETA


@pytest.mark.parametrize("neighbours", [BINARY, SEVERAL])
def test_objective_perturbation_leaks_no_more_than_its_cost(neighbours):
    draw = draws(RashomonClassifier, psi=0.01, mechanism="objective_perturbation")
    assert not audited(draw, neighbours, pure(ETA), n_runs=2_000).broken


@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_draws_at_six_times_the_temperature_are_caught(kind):
    """Negative control: draws at 6η that claim η."""
    size = DRAWS
    bold = draws(kind, psi=0.01, mechanism="exact", epsilon=6 * ETA * size, delta=0.0)
    assert audited(bold, BINARY, bounded_range(eta=ETA), n_runs=size).broken


@EACH
@pytest.mark.parametrize("psi", [0.0, 0.02])
def test_planned_paths_leak_no_more_than_one_chain_costs(kind, neighbours, psi):
    """A fit's chains are independent, and its cost is that of all of them."""
    size = 2000
    settings = {"mechanism": "langevin", "psi": psi, "epsilon": 3.0 * size, "delta": 1e-3}
    model = kind(**settings, n_draws=size, radius=1.0)
    planned = model.plan(4, 1, 3) if neighbours is SEVERAL else model.plan(len(ROWS), 1)
    one = path_guarantee(
        beta=planned.beta,
        sensitivity=planned.sensitivity,
        step_size=planned.step_size,
        n_steps=planned.n_steps,
    )
    assert one.mu < 4.0
    found = audited(draws(kind, **settings), neighbours, one, n_runs=size)
    assert not found.broken
    if psi == 0.0:  # nor for a much smaller cost; with three rows, a threshold hides the rest
        bold = replace(one, mu=one.mu / 8, rho=one.rho / 64)
        assert replace(found, claim=bold).broken
