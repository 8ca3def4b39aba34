"""How likely exact rejection gives up, by public numbers alone."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.bounds import enough_patience, least_acceptance
from rashomon_explorer.mechanisms.bounds.hit_rate import giving_up_probability
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.rejection.candidates import Candidates
from rashomon_explorer.mechanisms.samplers import exponential
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed

SIZES = {"radius": 4.0, "row_norm": 1.0}


@pytest.mark.parametrize("p", [1, 2, 3, 6])
@pytest.mark.parametrize(("beta", "psi"), [(0.5, 0.0), (20.0, 0.02), (300.0, 0.1), (5.0, 7.9)])
def test_the_bound_is_the_integral_from_below(p, beta, psi):
    """Of a cone, which attains it; with a spread a tenth too small the bound would be false."""
    spread = 8.0

    def density(t):
        return p * t ** (p - 1) * math.exp(-beta * max(0.0, t * spread - psi))

    corner = min(1.0, psi / spread)
    knots = [corner + (1 - corner) * min(1.0, k / (beta * spread)) for k in (0, 1, 5, 20, 100)]
    spans = [(0, corner), *zip(knots, [*knots[1:], 1.0], strict=True)]
    exact = sum(quad(density, low, high, epsabs=0)[0] for low, high in spans if high > low)
    assert 0.95 * exact < least_acceptance(p, beta, psi, spread) <= exact
    assert psi > 1 or beta < 1 or least_acceptance(p, beta, psi, 0.9 * spread) > exact


@crossed(
    {
        "loss": ["logistic", "squared"],
        "beta": [1.0, 10.0, 100.0],
        "kind": ["one", "same", "split", "random"],
    }
)
def test_no_table_is_accepted_less_often(loss, beta, kind):
    """Share of uniform proposals that are accepted, by a fine grid over the disc."""
    X = {
        "one": np.ones((1, 1)),
        "same": np.ones((30, 1)),
        "split": np.repeat([[1.0], [-1.0]], 15, axis=0),
        "random": np.random.default_rng(3).uniform(-1, 1, (30, 1)),
    }[kind]
    problem = Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), loss=loss, radius=2.0)
    spread, axis = problem.L * 2 * 2.0, np.linspace(-2, 2, 501)
    grid = np.stack(np.meshgrid(axis, axis)).reshape(2, -1)
    excess = problem.value(grid[:, problem.domain.contains(grid)]) - problem.minimum.value
    assert excess.max() <= spread
    accepted = float(np.exp(-beta * np.maximum(excess - 0.01, 0)).mean())
    assert least_acceptance(2, beta, 0.01, spread) <= accepted
    mass = Candidates(GibbsTarget(problem, beta, 0.01))._proposal.log_mass
    assert mass <= math.log(math.pi * 2.0**2) + 1e-12


def test_runs_of_refusals_are_as_rare_as_is_said():
    rng, acceptance, patience, n_draws = np.random.default_rng(0), 0.05, 60, 4
    gaps = rng.geometric(acceptance, (4000, n_draws)) - 1
    failed = (gaps >= patience).any(axis=1).mean()
    bound = giving_up_probability(acceptance, patience, n_draws)
    assert bound / 2 < failed <= bound  # the bound is no idle one
    assert giving_up_probability(1.0, 10, 3) == 0.0
    assert giving_up_probability(0.0, 10, 3) == 1.0
    enough = enough_patience(acceptance, n_draws, 1e-9)
    assert giving_up_probability(acceptance, enough, n_draws) <= 1e-9
    assert giving_up_probability(acceptance, enough - 1, n_draws) > 1e-9
    for bad in ({"acceptance": 0.0}, {"acceptance": 1.0}, {"failure": 0.0}, {"failure": 1.0}):
        with pytest.raises(ValueError, match=r"must be in \(0, 1\)"):
            enough_patience(**{"acceptance": 0.1, "n_draws": 1, "failure": 0.1, **bad})


def test_the_guarantee_says_what_is_known():
    warm = plan(100, 2, 0.02, **SIZES, epsilon=1.0, n_draws=5)
    cold = plan(10**5, 12, 0.02, **SIZES, epsilon=8.0, n_draws=5)
    known, bare = exponential.ExactSampler(spread=8.0), exponential.ExactSampler()
    less = exponential.ExactSampler(patience=10_000, spread=8.0)
    endless = exponential.ExactSampler(patience=None)
    assert "probability at most 1e-300, for all rows" in str(known.guarantee(warm))
    assert known.giving_up(warm) < 1e-300 and known.giving_up(cold) == 1.0
    for sampler, planned in ((known, cold), (bare, warm)):
        assert "no useful bound" in str(sampler.guarantee(planned))
    acceptance = least_acceptance(2, warm.beta, 0.02, 8.0)
    assert "after 10,000 proposals" in str(less.guarantee(warm))
    assert less.giving_up(warm) == giving_up_probability(acceptance, 10_000 - 8192, 5)
    assert endless.giving_up(cold) == 0.0
    assert "never give up" in str(endless.guarantee(cold))
    assert "draws on a grid never give up" in FiniteGridSampler().guarantee(warm).assumptions
    with pytest.raises(ValueError, match="patience must be at least 1, or None"):
        exponential.ExactSampler(patience=0)


def test_endless_patience_outlasts_what_the_other_gives_up_on(monkeypatch):
    target = GibbsTarget(Problem([[0.5], [-0.5]], [1, -1]), beta=20.0, psi=0.1)
    judged, left = exponential._thin, [30]

    def refusing(*args):
        left[0] -= 1
        return judged(*args) & (left[0] < 0)

    monkeypatch.setattr(exponential, "_thin", refusing)
    patient, endless = (exponential.ExactSampler(patience=one) for one in (1000, None))
    with pytest.raises(SamplerError, match="infeasible here"):
        collect(patient, target, 1, np.random.default_rng(0))
    left[0] = 30
    assert collect(endless, target, 1, np.random.default_rng(0)).coef.shape == (1, 2)


def test_estimators_pass_patience_on_and_say_it(tmp_path):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 1))
    y = (X[:, 0] > 0).astype(int)
    exact = {"n_draws": 2, "mechanism": "exact"}
    stated = RashomonClassifier(**exact, classes=(0, 1), patience=None).fit(X, y).guarantee_
    for words in ("never give up", "only the curator may see"):
        assert any(words in one for one in stated.assumptions)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-6)
    RashomonRegressor(**exact, ledger=ledger).fit(X, y - 0.5)
    (entry,) = ledger.entries()
    assert entry.parameters["patience"] == 5_000_000
    assert any("for all rows" in one for one in entry.guarantee.assumptions)
