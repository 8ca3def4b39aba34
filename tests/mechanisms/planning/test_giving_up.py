"""How likely exact rejection gives up, by public numbers alone."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import FitError, SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.bounds import enough_patience, least_acceptance
from rashomon_explorer.mechanisms.bounds.hit_rate import giving_up_probability
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.rejection.candidates import Candidates
from rashomon_explorer.mechanisms.samplers import exponential as exact
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed

SIZES = {"radius": 4.0, "row_norm": 1.0}


@pytest.mark.parametrize("p", [1, 2, 3, 6])
@pytest.mark.parametrize(("beta", "psi"), [(0.5, 0.0), (20.0, 0.02), (300.0, 0.1), (5.0, 7.9)])
def test_the_bound_is_the_integral_from_below(p: int, beta: float, psi: float) -> None:
    spread = 8.0

    def density(t: float) -> float:
        return p * t ** (p - 1) * math.exp(-beta * max(0.0, t * spread - psi))

    corner = min(1.0, psi / spread)
    knots = [corner + (1 - corner) * min(1.0, k / (beta * spread)) for k in (0, 1, 5, 20, 100)]
    exact_value = quad(density, 0, corner)[0] + sum(
        quad(density, low, high, epsabs=0)[0]
        for low, high in zip(knots, [*knots[1:], 1.0], strict=True)
        if high > low
    )
    bound = least_acceptance(p, beta, psi, spread)
    assert 0.95 * exact_value < bound <= exact_value


def uniform_acceptance(problem: Problem, beta: float, psi: float, spread: float) -> float:
    """Share of uniform proposals that are accepted, by a fine grid over the disc."""
    axis = np.linspace(-1, 1, 801) * problem.domain.radius
    grid = np.stack(np.meshgrid(axis, axis)).reshape(2, -1)
    inside = grid[:, problem.domain.contains(grid)]
    excess = problem.value(inside) - problem.minimum.value
    assert excess.max() <= spread
    return float(np.exp(-beta * np.maximum(excess - psi, 0)).mean())


@crossed(
    {
        "loss": ["logistic", "squared"],
        "beta": [1.0, 10.0, 100.0],
        "kind": ["one", "same", "split", "random"],
    }
)
def test_no_table_is_accepted_less_often(loss: str, beta: float, kind: str) -> None:
    rng = np.random.default_rng(3)
    X = {
        "one": np.ones((1, 1)),
        "same": np.ones((30, 1)),
        "split": np.repeat([[1.0], [-1.0]], 15, axis=0),
        "random": rng.uniform(-1, 1, (30, 1)),
    }[kind]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = Problem(X, y, loss=loss, radius=2.0)
    spread = problem.L * 2 * 2.0
    bound = least_acceptance(2, beta, 0.01, spread)
    assert bound <= uniform_acceptance(problem, beta, 0.01, spread)
    target = GibbsTarget(problem, beta, 0.01)
    mass = Candidates(target)._proposal.log_mass
    assert mass <= math.log(math.pi * 2.0**2) + 1e-12


def test_a_cone_attains_the_bound() -> None:
    """The control: with a spread a tenth too small the bound would be false."""
    beta, spread = 30.0, 2.0
    attained = quad(lambda t: 3 * t**2 * math.exp(-beta * spread * t), 0, 1)[0]
    assert least_acceptance(3, beta, 0.0, spread) <= attained
    assert least_acceptance(3, beta, 0.0, 0.9 * spread) > attained


def test_runs_of_refusals_are_as_rare_as_is_said() -> None:
    rng = np.random.default_rng(0)
    acceptance, patience, n_draws = 0.05, 60, 4
    failed = 0
    for _ in range(4000):
        gaps = rng.geometric(acceptance, n_draws) - 1
        failed += bool((gaps >= patience).any())
    bound = giving_up_probability(acceptance, patience, n_draws)
    assert failed / 4000 <= bound
    assert failed / 4000 > bound / 2  # and the bound is no idle one
    assert giving_up_probability(1.0, 10, 3) == 0.0
    assert giving_up_probability(0.0, 10, 3) == 1.0
    enough = enough_patience(acceptance, n_draws, 1e-9)
    assert giving_up_probability(acceptance, enough, n_draws) <= 1e-9
    assert giving_up_probability(acceptance, enough - 1, n_draws) > 1e-9
    for bad in ({"acceptance": 0.0}, {"acceptance": 1.0}, {"failure": 0.0}, {"failure": 1.0}):
        with pytest.raises(ValueError, match=r"must be in \(0, 1\)"):
            enough_patience(**{"acceptance": 0.1, "n_draws": 1, "failure": 0.1, **bad})


def test_the_guarantee_says_what_is_known() -> None:
    warm = plan(100, 2, 0.02, **SIZES, epsilon=1.0, n_draws=5)
    cold = plan(10**5, 12, 0.02, **SIZES, epsilon=8.0, n_draws=5)
    known = ExactSampler(spread=8.0)
    assert "probability at most 1e-300, for all rows" in str(known.guarantee(warm))
    assert known.giving_up(warm) < 1e-300
    assert "no useful bound" in str(known.guarantee(cold)) and known.giving_up(cold) == 1.0
    assert "no useful bound" in str(ExactSampler().guarantee(warm))
    less = ExactSampler(patience=10_000, spread=8.0)
    assert "after 10,000 proposals" in str(less.guarantee(warm))
    acceptance = least_acceptance(2, warm.beta, 0.02, 8.0)
    assert less.giving_up(warm) == giving_up_probability(acceptance, 10_000 - 8192, 5)
    endless = ExactSampler(patience=None)
    assert endless.giving_up(cold) == 0.0
    assert "never give up" in str(endless.guarantee(cold))
    assert "no useful" not in str(endless.guarantee(cold))
    grid = plan(100, 2, 0.02, **SIZES, epsilon=1.0)
    assert "draws on a grid never give up" in FiniteGridSampler().guarantee(grid).assumptions
    with pytest.raises(ValueError, match="patience must be at least 1, or None"):
        ExactSampler(patience=0)


def test_endless_patience_outlasts_what_the_other_gives_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = GibbsTarget(Problem([[0.5], [-0.5]], [1, -1]), beta=20.0, psi=0.1)
    judged, left = exact._thin, [0]

    def refusing(*args: Any) -> Any:
        left[0] -= 1
        return judged(*args) & (left[0] < 0)

    monkeypatch.setattr(exact, "_thin", refusing)
    left[0] = 30
    with pytest.raises(SamplerError, match="infeasible here"):
        collect(ExactSampler(patience=1000), target, 1, np.random.default_rng(0))
    left[0] = 30
    draws = collect(ExactSampler(patience=None), target, 1, np.random.default_rng(0))
    assert draws.coef.shape == (1, 2)


def test_estimators_pass_patience_on_and_say_it(tmp_path: Any) -> None:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 1))
    y = (X[:, 0] > 0).astype(int)
    model = RashomonClassifier(n_draws=2, classes=(0, 1), patience=None, mechanism="exact").fit(
        X, y
    )
    assert any("never give up" in said for said in model.guarantee_.assumptions)
    assert any("only the curator may see" in said for said in model.guarantee_.assumptions)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-6)
    charged = RashomonRegressor(n_draws=2, epsilon=1.0, ledger=ledger, mechanism="exact")
    told = charged.fit(X, y - 0.5).guarantee_
    assert any("for all rows" in said for said in told.assumptions)
    assert any(said.endswith("make it fail") for said in told.assumptions)
    (entry,) = ledger.entries()
    assert entry.guarantee == told and entry.parameters["patience"] == 5_000_000
    with pytest.raises(ValueError, match="'patience' parameter"):
        RashomonRegressor(patience=0).fit(X, y)
    assert FitError().detail == ""
