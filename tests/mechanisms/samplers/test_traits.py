"""What a sampler says of its draws: true of the code, and nothing of draws made elsewhere."""

import numpy as np
import pytest

from rashomon_explorer.mechanisms.planning.offers import Request
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.samplers.base import Traits, collect
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS, sampler_traits
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem

PUBLIC = {"radius": 1.0, "row_norm": 1.0, "epsilon": 1.0, "delta": 1e-6, "n_draws": 40}


def drawn(name: str) -> np.ndarray:
    """Excess of a few draws over ψ = 0.05."""
    problem = Problem([[0.5], [-0.5]] * 20, [1, -1] * 20, radius=1.0)
    settings = {**PUBLIC, "row_norm": problem.row_bound}
    request = Request(problem.n, problem.p, 0.05, "logistic", ridge=0.0, **settings)
    bought = MECHANISMS[sampler_traits(name).mechanism].plan(request)
    target = GibbsTarget.of(problem, bought)
    sampler = SAMPLERS[name].for_plan(bought, patience=10**6)
    draws = collect(sampler, target, bought.n_draws, np.random.default_rng(0))
    return draws.losses - problem.minimum.value - bought.psi


def test_nothing_is_known_of_draws_made_elsewhere() -> None:
    assert sampler_traits("unknown") == sampler_traits("stored predictions") == Traits()
    assert sampler_traits("grid_walk") == Traits()  # no estimator runs it


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_traits_do_not_contradict_each_other(name: str) -> None:
    known = sampler_traits(name)
    assert known.dependence_known
    assert known.independent == (known.n_chains == 0)
    assert not (known.planned_law and known.unplanned)
    if known.n_chains:
        assert known.n_chains == SAMPLERS[name].for_plan(plan(40, 2, 0.05, **PUBLIC)).n_chains


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_draws_stay_inside_exactly_where_the_sampler_says_so(name: str) -> None:
    # At ε = 1 on 40 rows the law is nearly flat: what may leave the set does.
    assert (drawn(name) <= 1e-12).all() == sampler_traits(name).stays_inside


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_plan_names_the_sampler_that_alone_carries_it_out(name: str) -> None:
    """And says that its draws follow a path exactly where that sampler runs its mechanism."""
    rows = {"n": 5_000, "p": 3, "psi": 0.05, "loss": "logistic", "ridge": 0.1}
    rows["ridge"] *= name != "regularised"  # which chooses its own
    bought = MECHANISMS[name].plan(Request(**rows, **PUBLIC))
    if isinstance(bought, Plan):
        assert bought.along_path == name.startswith("path")
        assert not bought.mechanism or sampler_traits(bought.mechanism).mechanism == name


def test_a_name_is_no_setting() -> None:
    with pytest.raises(TypeError, match="name"):
        HitAndRunSampler(name="exact")  # type: ignore[call-arg]
