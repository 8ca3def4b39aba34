"""What is promised of draws at ψ = 0 from a set of another ψ, and of draws with no such law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gamma

from rashomon_explorer.measures.decomposition import noise_by_budget
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.plots import list_guarantees, plot_bounds, plot_guarantee
from rashomon_explorer.plots.guarantees import excess_table
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

ROWS = {"n": 50_000, "p": 11, "loss": "logistic", "ridge": 0.1}
BUDGET = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6, "n_draws": 5}


def bought(name: str, psi: float = 0.01) -> Plan:
    made = MECHANISMS[name].plan_for(Request(psi=psi, **ROWS, **BUDGET))
    assert isinstance(made, Plan)
    return made


def test_promises_are_those_of_the_law_that_is_drawn_from() -> None:
    crowded, plain = bought("unthresholded"), bought("unthresholded", psi=0.0)
    public = {k: v for k, v in ROWS.items() if k != "loss"}
    known = Constants.of("logistic", **public, domain=Ball(4.0), row_bound=1.5)
    told = {one.name: one for one in list_guarantees(crowded, known)}
    same = {one.name: one for one in list_guarantees(plain, known)}
    within = gamma(crowded.p).cdf(crowded.beta * crowded.psi)
    assert told["Draws within ψ"].bound == pytest.approx(within)
    assert told["Draws within ψ, by the paper"].missing
    for name in (
        "Mean excess loss",
        "Mean excess loss, by the paper",
        "Mean excess loss on new rows",
    ):
        assert told[name].bound == same[name].bound


def test_figures_show_the_gamma_law_and_the_sets_own_threshold() -> None:
    crowded = bought("unthresholded")
    within = gamma(crowded.p).cdf(crowded.beta * crowded.psi)
    marks = next(one for one in plot_guarantee(crowded).data if one.name == "guaranteed")
    assert tuple(marks.x[:1]) == (crowded.psi,)
    assert marks.y[0] == pytest.approx(within)
    assert excess_table(crowded)["guaranteed, at least"].loc[crowded.psi] == pytest.approx(within)


@pytest.mark.parametrize(
    "name", ["langevin", "langevin_average", "langevin_clipped", "ellipsoid", "ellipsoid_exact"]
)
@pytest.mark.parametrize("show", [list_guarantees, plot_guarantee])
def test_no_theorem_of_exact_draws_is_quoted_for_others(name: str, show: object) -> None:
    with pytest.raises(ValueError, match=r"guarantees of exact draws.*explain\(plan\)"):
        show(bought(name))  # type: ignore[operator]


def test_draws_at_psi_zero_do_not_end_at_the_width_of_the_set(models) -> None:
    crowded = replace(models, plan=replace(models.plan, law_psi=0.0), mechanism="unthresholded")
    with pytest.raises(ValueError, match="mechanism='exact'"):
        noise_by_budget(crowded, np.zeros((2, 3)), 50.0)
    title = plot_bounds(crowded).layout.title.text
    assert "not of" not in title
    assert plan(1000, 3, 0.1, radius=1.0, row_norm=1.0, epsilon=9.0).of_exact_draws
