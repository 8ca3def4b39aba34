"""How widely models lie: spread, effective size and R̂ of a path, and the share of exact ranges."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.measures import declared_problem, enough_draws, set_width
from rashomon_explorer.measures.width import split_r_hat
from rashomon_explorer.mechanisms import MECHANISMS

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (400, 2))
Y = (X[:, 0] + RNG.normal(size=400) / 2 > 0).astype(int)


def autoregression(keep, count, rng):
    """States of x ← keep·x + ξ from its stationary law, for two columns."""
    noise = rng.standard_normal((count, 2))
    states = [noise[0] / math.sqrt(1 - keep**2)]
    for step in noise[1:]:
        states.append(keep * states[-1] + step)
    return np.array(states)


@pytest.fixture(scope="module")
def fitted():
    settings = {"mechanism": "langevin", "epsilon": 30.0, "n_draws": 200, "random_state": 0}
    return RashomonClassifier(**settings).fit(X, Y)


def test_a_path_is_worth_the_independent_states_of_its_autocorrelation(fitted):
    models = fitted.rashomon_set_
    coef = autoregression(0.8, 4_000, np.random.default_rng(1))
    coef = np.column_stack([coef, coef[:, 0]])
    known = replace(models, coef=coef, losses=np.zeros(4_000))
    table = set_width(known.release())
    assert table["effective"].to_numpy() == pytest.approx(4_000 * 0.2 / 1.8, rel=0.25)
    assert table["spread"].to_numpy() == pytest.approx(1 / math.sqrt(1 - 0.64), rel=0.1)
    assert (table["r_hat"] < 1.02).all()
    drifting = coef + np.linspace(0, 9, 4_000)[:, None]
    assert (split_r_hat(drifting) > 1.5).all()
    assert split_r_hat(np.ones((10, 1)))[0] == 1.0


def test_exact_ranges_hold_what_the_models_inside_cover(fitted):
    models, problem = fitted.rashomon_set_, declared_problem(fitted, X, Y)
    table = set_width(models, problem)
    inside = models.inside().coef
    np.testing.assert_allclose(table["low"], inside.min(axis=0))
    assert (table["exact_low"] <= table["low"]).all() and (
        table["high"] <= table["exact_high"]
    ).all()
    ratio = (table["high"] - table["low"]) / (table["exact_high"] - table["exact_low"])
    np.testing.assert_allclose(table["covered"], ratio)
    assert table["covered"].between(0.2, 1).all()
    with pytest.raises(ValueError, match="at least 8, got 3"):
        set_width(replace(models, coef=models.coef[:3], losses=models.losses[:3]))


def test_pairs_of_a_path_are_half_of_it_apart():
    """Neighbours of a slow path hardly differ; halves of it differ as independent models do."""
    states = autoregression(0.99, 4_000, np.random.default_rng(2))[:, :1]
    labels = states > np.linspace(-8, 8, 41)
    assert MECHANISMS["langevin"].traits.n_chains == 1
    found = enough_draws("disagreement", labels, mechanism="langevin", half_width=0.2)
    deviation = 1 / math.sqrt(1 - 0.99**2)
    far = deviation * np.random.default_rng(3).standard_normal((40_000, 1))
    expected = 2 * np.mean([(far > x).mean() * (far <= x).mean() for x in np.linspace(-8, 8, 41)])
    assert found.low < expected < found.high and found.effective < 400
    nearby = np.mean(labels[::2] != labels[1::2])
    assert nearby < expected / 3
