"""Certificates of noisy paths against exact privacy: closed forms, and chains on a fine grid."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from rashomon_explorer.mechanisms.langevin.accounting import last_iterate_guarantee, path_guarantee


def last(**changes):
    common = {"beta": 20.0, "sensitivity": 0.05, "step_size": 1e-2, "n_steps": 40}
    return last_iterate_guarantee(**{**common, "contraction": 0.9, **changes})


@given(
    contraction=st.floats(0.01, 1.0),
    n_steps=st.integers(1, 2000),
    shift=st.floats(1e-3, 1.0),
    h=st.floats(1e-4, 1.0),
)
def test_a_linear_chain_attains_the_contracted_bound(contraction, n_steps, shift, h):
    """θ ← cθ ± s/2 + √(2h)ξ: both last states are normal, s·Σcʲ apart."""
    powers = contraction ** np.arange(n_steps)
    exact = shift * powers.sum() / np.sqrt(2 * h * (powers**2).sum())
    claimed = last_iterate_guarantee(
        beta=1.0, sensitivity=shift / h, step_size=h, n_steps=n_steps, contraction=contraction
    )
    assert claimed.mu == pytest.approx(exact, rel=1e-9)


def test_without_contraction_and_diameter_the_last_state_costs_the_path():
    settings = {"beta": 20.0, "sensitivity": 0.05, "step_size": 1e-2, "n_steps": 40}
    path = path_guarantee(**settings, n_chains=3)
    assert last(contraction=1.0, n_chains=3).mu == pytest.approx(path.mu)
    assert last(n_chains=3).mu < path.mu
    assert "last of 40" in str(last()) and "path of 40" in str(path)


def test_long_chains_cost_no_more_on_a_bounded_domain():
    mus = [last(contraction=1.0, diameter=0.2, n_steps=n).mu for n in (10, 1000, 10**6, 10**9)]
    assert mus[0] < mus[1] == pytest.approx(mus[2]) == pytest.approx(mus[3])
    shift = 1e-2 * 20.0 * 0.05
    assert mus[3] == pytest.approx(np.sqrt(4 * 0.2 * shift / 2e-2), rel=0.01)
    strong = [last(n_steps=n).mu for n in (10, 1000, 10**6)]
    assert strong[0] < strong[1] == pytest.approx(strong[2])


def grid_chain(mean, deviation, radius, n_steps, cells=601):
    """Exact law of θ ← clip(θ + mean + deviation·ξ) from 0, on a grid with atoms at the ends."""
    edges = np.linspace(-radius, radius, cells + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    places = np.concatenate([[-radius], centres, [radius]])
    cuts = np.concatenate([[-np.inf], edges, [np.inf]])
    moves = np.diff(norm.cdf((cuts[None, :] - places[:, None] - mean) / deviation), axis=1)
    law = np.zeros(len(places))
    law[len(places) // 2] = 1.0
    for _ in range(n_steps):
        law = law @ moves
    return law


@pytest.mark.parametrize("n_steps", [5, 40, 300])
def test_a_projected_chain_keeps_the_bound_of_a_bounded_domain(n_steps):
    """Linear losses of slope ±Δ/2 on an interval: nothing contracts but the ends."""
    radius, h, beta, sensitivity = 0.5, 1e-2, 10.0, 1.0
    shift, deviation = h * beta * sensitivity, math.sqrt(2 * h)
    one, other = (grid_chain(s * shift / 2, deviation, radius, n_steps) for s in (1, -1))
    settings = {"beta": beta, "step_size": h, "n_steps": n_steps, "contraction": 1.0}
    claimed = last_iterate_guarantee(**settings, sensitivity=sensitivity, diameter=2 * radius)
    halved = last_iterate_guarantee(**settings, sensitivity=sensitivity / 4, diameter=radius / 2)
    caught = False
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        exact = np.maximum(one - np.exp(epsilon) * other, 0).sum()
        assert exact <= claimed.delta(epsilon) + 1e-9
        caught |= exact > halved.delta(epsilon)
    assert caught


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contraction": 1.1}, "contraction must be at most 1"),
        ({"contraction": -0.1}, "contraction must be >= 0"),
        ({"diameter": float("nan")}, "diameter must be >= 0"),
        ({"sensitivity": -1.0}, "sensitivity must be >= 0"),
    ],
)
def test_numbers_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        last(**change)


def test_extremes_are_finite():
    assert last(n_steps=0).mu == 0
    assert last(contraction=0.0).mu == pytest.approx(1e-2 * 20 * 0.05 / math.sqrt(2e-2))
    assert last(contraction=1 - 1e-15).mu == pytest.approx(last(contraction=1.0).mu)
    assert last(sensitivity=0.0, diameter=1.0).mu == 0
    assert last(contraction=1.0, diameter=1e-9, n_steps=5).mu > 0
