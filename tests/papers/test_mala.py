"""MALA: its steps keep the target's law, and are fitted only while it warms up.

Its law is compared with quadrature in `tests/mechanisms/samplers/test_exact.py`.
"""

import numpy as np
import pytest

from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers import mala
from rashomon_explorer.papers.mala import Kernel, MalaSampler
from tests.mechanisms.samplers.laws import LEVEL, agreement, small_problem

TARGET = GibbsTarget(small_problem(2, radius=0.7, scale=4.0), 120.0, 0.02)


@pytest.mark.parametrize(
    "broken",
    [
        lambda state, proposed, step_size, noise: state.energy - proposed.energy,
        lambda state, proposed, step_size, noise: np.zeros(len(state.energy)),
    ],
    ids=["without_proposals", "without_energies"],
)
def test_a_broken_acceptance_ratio_is_caught(broken, monkeypatch):
    target = GibbsTarget(small_problem(2, "squared", radius=40.0, n=400), beta=300.0, psi=0.0)
    monkeypatch.setattr(mala, "log_acceptance", broken)
    # A step fitted in the warm-up would run away from a ratio that refuses nothing.
    monkeypatch.setattr(mala, "adapted", lambda step_size, accepted, step: step_size)
    sampler = MalaSampler(n_chains=250, thin=25)
    draws = collect(sampler, target, 4000, np.random.default_rng(0)).coef
    assert agreement(draws, target) < LEVEL


@pytest.mark.parametrize("step_size", [0.3, 1.5])
def test_exact_draws_stay_exact_under_any_step(step_size):
    rng = np.random.default_rng(2)
    draws = collect(ExactSampler(), TARGET, 3000, rng).coef
    kernel = Kernel.of(TARGET)
    state = kernel.at(np.linalg.solve(kernel.whiten, draws.T * (1 - 1e-9) - kernel.centre[:, None]))
    for _ in range(12):
        state, _ = kernel.step(state, step_size, rng)
    moved = kernel.models(state.u)
    assert agreement(moved.T, TARGET) > LEVEL
    assert state.losses == pytest.approx(TARGET.problem.value(moved))


def test_the_step_is_fitted_in_the_burn_in_and_then_left_alone(monkeypatch):
    sizes, honest = [], Kernel.step

    def spy(self, state, step_size, rng):
        sizes.append(step_size)
        return honest(self, state, step_size, rng)

    monkeypatch.setattr(Kernel, "step", spy)
    target = GibbsTarget(small_problem(2), 120.0, 0.0)
    sampler = MalaSampler(n_chains=50, burn_in=80, thin=5)
    collect(sampler, target, 500, np.random.default_rng(0))
    assert len(set(sizes[:80])) > 70 and len(set(sizes[80:])) == 1
    kernel, rng = Kernel.of(target), np.random.default_rng(1)
    state, rates = kernel.start(200), []
    for _ in range(100):
        state, accepted = honest(kernel, state, sizes[-1], rng)
        rates.append(accepted.mean())
    assert np.mean(rates) == pytest.approx(0.574, abs=0.1)


def test_the_drift_is_the_gradient_of_the_energy():
    kernel = Kernel.of(GibbsTarget(small_problem(3), 30.0, 0.02, threshold="smooth"))
    u = np.random.default_rng(0).standard_normal((3, 20)) * 0.5
    for axis in 1e-6 * np.eye(3):
        rise = kernel.at(u + axis[:, None]).energy - kernel.at(u - axis[:, None]).energy
        assert kernel.at(u).gradient.T @ axis == pytest.approx(rise / 2, abs=1e-11)


@pytest.mark.parametrize("wrong", [{"n_chains": 0}, {"thin": 0}, {"burn_in": -1}])
def test_settings_that_make_no_chain_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MalaSampler(**wrong)
