"""Audits of the whole road, from rows through the estimators to rounded coefficients."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.privacy import audit, bounded_range, pure

ETA, DRAWS = 2.0, 40_000
ROWS = np.ones((3, 1))
BINARY = [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]
SEVERAL = [0, 1, 2, 0], [0, 1, 2, 2]


def mechanism(kind, price=ETA, named="exact", **settings):
    """Draws of one fit are independent: one fit runs the mechanism once a draw."""

    def draw(labels, rng, size):
        model = kind(
            psi=0.01,
            epsilon=price * size,
            delta=0.0,
            n_draws=size,
            radius=1.0,
            mechanism=named,
            random_state=int(rng.integers(2**31)),
            **settings,
        )
        model.fit(np.ones((len(labels), 1)), labels)
        return model.rashomon_set_.coef.reshape(size, -1)

    return draw


def audited(draw, neighbours, claim, n_runs=DRAWS):
    return audit.monte_carlo(
        draw,
        *neighbours,
        claim=claim,
        n_runs=n_runs,
        confidence=0.9999,
        random_state=0,
        batched=True,
    )


@pytest.mark.law
@pytest.mark.parametrize(
    ("kind", "neighbours"),
    [(RashomonClassifier, BINARY), (RashomonRegressor, BINARY), (RashomonClassifier, SEVERAL)],
)
def test_draws_leak_no_more_than_their_price(kind, neighbours):
    found = audited(mechanism(kind), neighbours, bounded_range(eta=ETA))
    assert not found.broken
    assert found.epsilon() > 0.1 * ETA


@pytest.mark.law
@pytest.mark.parametrize("neighbours", [BINARY, SEVERAL])
def test_tilted_minimisers_leak_no_more_than_their_price(neighbours):
    tilted = mechanism(RashomonClassifier, named="objective_perturbation")
    assert not audited(tilted, neighbours, pure(ETA), n_runs=2_000).broken


@pytest.mark.law
@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_draws_at_six_times_the_temperature_are_caught(kind):
    """Negative control: draws bought at 6η and sold as η."""
    assert audited(mechanism(kind, 6 * ETA), BINARY, bounded_range(eta=ETA)).broken


@pytest.mark.law
@pytest.mark.parametrize(
    ("kind", "neighbours"),
    [(RashomonClassifier, BINARY), (RashomonRegressor, BINARY), (RashomonClassifier, SEVERAL)],
)
@pytest.mark.parametrize("psi", [0.0, 0.02])
def test_planned_paths_leak_no_more_than_one_chain_costs(kind, neighbours, psi):
    """A fit's chains are independent, and its price is that of all of them."""
    size = 2000

    def model(size):
        return kind(
            mechanism="langevin", psi=psi, epsilon=3.0 * size, delta=1e-3, n_draws=size, radius=1.0
        )

    def draw(labels, rng, size):
        fitted = model(size).set_params(random_state=int(rng.integers(2**31)))
        fitted.fit(np.ones((len(labels), 1)), labels)
        return fitted.rashomon_set_.coef.reshape(size, -1)

    planned = model(size).plan(4, 1, 3) if neighbours is SEVERAL else model(size).plan(len(ROWS), 1)
    one = path_guarantee(
        beta=planned.beta,
        sensitivity=planned.sensitivity,
        step_size=planned.step_size,
        n_steps=planned.n_steps,
    )
    assert one.mu < 4.0
    found = audited(draw, neighbours, one, n_runs=size)
    assert not found.broken
    if psi == 0.0:  # nor for a much smaller price; with three rows, a threshold hides the rest
        bold = replace(one, mu=one.mu / 8, rho=one.rho / 64)
        assert replace(found, claim=bold).broken
