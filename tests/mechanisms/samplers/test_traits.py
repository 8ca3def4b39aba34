"""What a sampler says of its draws: true of the code, and nothing of draws made elsewhere."""

import numpy as np
import pytest

from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS, mechanism_traits
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem

SEVERAL = sorted(name for name, kind in MECHANISMS.items() if not kind.traits.one_model)
PUBLIC = {"radius": 1.0, "row_norm": 1.0, "epsilon": 1.0, "delta": 1e-6, "n_draws": 40}


def drawn(name: str) -> np.ndarray:
    """Excess of a few draws over ψ = 0.05."""
    problem = Problem([[0.5], [-0.5]] * 20, [1, -1] * 20, radius=1.0)
    settings = {**PUBLIC, "row_norm": problem.row_bound}
    request = Request(problem.n, problem.p, 0.05, "logistic", ridge=0.0, **settings)
    bought = MECHANISMS[name].plan_for(request)
    target = GibbsTarget.of(problem, bought)
    sampler = MECHANISMS[name].for_plan(bought, patience=10**6)
    draws = collect(sampler, target, bought.n_draws, np.random.default_rng(0))
    return draws.losses - problem.minimum.value - bought.psi


@pytest.mark.parametrize("name", SEVERAL)
def test_draws_stay_inside_exactly_where_the_sampler_says_so(name: str) -> None:
    # At ε = 1 on 40 rows the law is nearly flat: what may leave the set does.
    assert (drawn(name) <= 1e-12).all() == mechanism_traits(name).stays_inside


def test_a_name_is_no_setting() -> None:
    with pytest.raises(TypeError, match="name"):
        HitAndRunSampler(name="exact")  # type: ignore[call-arg]
