"""Measured and guaranteed numbers: bounds, costs and budgets, against laws and plans."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gamma

from rashomon_explorer import plots
from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.mechanisms import bounds
from rashomon_explorer.mechanisms.bounds import quadratic_law
from rashomon_explorer.mechanisms.exact import hit_rate_at
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.plots.budget import budget_bar
from rashomon_explorer.plots.guarantees import excess_table
from rashomon_explorer.plots.prices import draws_at, guarantee_at, guarantee_curves
from rashomon_explorer.plots.text import at_least, at_most
from rashomon_explorer.privacy import Ledger, bounded_range, compose
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from tests.plots.conftest import title_of, trace_of

CLF = RashomonClassifier(epsilon=4.0, radius=4.0, ridge=0.05, n_draws=20)
PLANNED, KNOWN = CLF.plan(20_000, 5), CLF.constants(20_000, 5)


def _share_at(trace, place):
    """Height of a step trace at a place."""
    return trace.y[np.searchsorted(trace.x, place, side="right") - 1]


@pytest.mark.parametrize("kind", ["models", "regression"])
def test_measured_and_guaranteed_stand_where_they_are(kind, request):
    models = request.getfixturevalue(kind)
    figure = plots.plot_bounds(models)
    law = bounds.convex_law(p=4, beta=models.beta, psi=models.psi)
    draws = trace_of(figure, "draws")
    for place in np.quantile(models.excess, [0.2, 0.6]) * (1 + 1e-4):
        assert _share_at(draws, place) == pytest.approx(np.mean(models.excess <= place))
    quadratic = quadratic_law(p=4, beta=models.beta, psi=models.psi)
    for name, expected in (("guaranteed, at least", law), ("a quadratic loss", quadratic)):
        curve = trace_of(figure, name)
        np.testing.assert_allclose(curve.y, expected.cdf(curve.x), atol=1e-5)
    assert tuple(trace_of(figure, "measured").y) == (models.hit_rate, 0)
    assert trace_of(figure, "measured").x[1] == pytest.approx(models.excess.mean())
    assert tuple(trace_of(figure, "guaranteed").x) == (models.psi, law.mean)
    assert trace_of(figure, "guaranteed").y[0] == models.plan.hit_rate_bound
    assert law.mean == pytest.approx(models.plan.excess_bound, rel=1e-12)
    assert f"guaranteed {at_least(law.hit_rate)}" in title_of(figure)
    assert f"guaranteed {at_most(law.mean)}" in title_of(figure)


def test_the_band_of_chance_holds_the_steps_narrows_and_shows_a_broken_guarantee(models):
    def width(models):
        figure = plots.plot_bounds(models)
        upper, lower = trace_of(figure, "upper").y, trace_of(figure, "chance, 95 %").y
        steps = trace_of(figure, "draws").y
        assert np.all(np.asarray(lower) <= steps) and np.all(np.asarray(upper) >= steps)
        assert len(steps) <= 2002  # however many draws there are
        return float(np.max(np.subtract(upper, lower)))

    coef, losses = np.tile(models.coef, (1000, 1)), np.tile(models.losses, 1000)
    expected = math.sqrt(2 * math.log(2 / 0.05) / 12_000)  # Dvoretzky, Kiefer and Wolfowitz
    assert width(replace(models, coef=coef, losses=losses)) == pytest.approx(expected, rel=1e-3)
    assert width(models) > 0.2
    worse = replace(models, losses=models.minimum.value + models.psi + np.full(12, 1.0))
    figure, far = plots.plot_bounds(worse), models.psi + 0.5
    promised = bounds.convex_law(p=4, beta=models.beta, psi=models.psi).cdf(far)
    assert _share_at(trace_of(figure, "upper"), far) < promised
    assert "in the set 0%" in title_of(figure)


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("finite_grid", "guaranteed for draws from the ball; these are exact on a grid in it"),
        ("hit_and_run", "guaranteed for private draws; hit-and-run never leaves the set"),
        ("langevin", "not for langevin"),
    ],
)
def test_draws_without_this_guarantee_say_why(models, mechanism, words):
    assert words in title_of(plots.plot_bounds(replace(models, mechanism=mechanism)))
    assert words not in title_of(plots.plot_bounds(models))


def test_no_draws_leave_the_guarantee(models):
    figure = plots.plot_bounds(replace(models, coef=models.coef[:0], losses=models.losses[:0]))
    names = {"guaranteed, at least", "a quadratic loss", "guaranteed"}
    assert {trace.name for trace in figure.data} == names
    assert "no draws · guaranteed ≥" in title_of(figure)
    planned = plots.plot_guarantee(PLANNED)
    assert {trace.name for trace in planned.data} == names
    assert planned.layout.meta["view"] == "plan"


def test_a_plan_has_bounds_and_a_set_has_measured_values_too(models):
    rows = plots.list_guarantees(PLANNED, KNOWN)
    law = {"p": 6, "beta": PLANNED.beta, "psi": PLANNED.psi}
    assert rows[0].bound == PLANNED.hit_rate_bound
    assert rows[1].bound == bounds.hit_probability_from_excess(**law) <= rows[0].bound
    assert rows[3].bound == bounds.expected_excess(**law) >= rows[2].bound
    assert rows[4].bound == bounds.uniform_stability(L=KNOWN.L, m=0.05, n=20_000, psi=PLANNED.psi)
    assert rows[5].bound == pytest.approx(rows[3].bound + rows[4].bound)
    assert all(math.isnan(row.measured) and row.found == "–" for row in rows)
    assert all("heor" in row.theorem for row in rows)
    assert all(math.isfinite(row.bound) for row in rows)
    rows = plots.list_guarantees(models)
    assert len(rows) == 4
    assert rows[0].measured == rows[1].measured == models.hit_rate
    assert rows[2].measured == rows[3].measured == models.excess.mean()
    table = excess_table(PLANNED)
    assert list(table.columns) == ["guaranteed, at least"]
    assert table.loc[PLANNED.psi].item() == pytest.approx(PLANNED.hit_rate_bound)
    assert excess_table(models).loc[models.psi, "draws"] == models.hit_rate


def test_without_strong_convexity_stability_says_what_it_needs():
    flat = RashomonClassifier(epsilon=4.0, ridge=0.0, mechanism="exact")
    rows = plots.list_guarantees(flat.plan(100, 2), flat.constants(100, 2))
    assert [row.promised for row in rows[4:]] == ["needs ridge > 0"] * 2


ROWS = {"n": 50_000, "p": 11, "loss": "logistic", "ridge": 0.1}
BUDGET = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6, "n_draws": 5}


def _planned_for(name, psi=0.01):
    return MECHANISMS[name].plan(Request(psi=psi, **ROWS, **BUDGET))


def test_guarantees_of_draws_at_psi_zero_are_those_of_their_gamma_law(models):
    crowded, plain = _planned_for("unthresholded"), _planned_for("unthresholded", psi=0.0)
    public = {name: value for name, value in ROWS.items() if name != "loss"}
    known = Constants.from_loss("logistic", **public, domain=Ball(4.0), row_bound=1.5)
    rows, same = (
        {one.name: one for one in plots.list_guarantees(planned, known)}
        for planned in (crowded, plain)
    )
    within = gamma(crowded.p).cdf(crowded.beta * crowded.psi)
    assert rows["Draws within ψ"].bound == pytest.approx(within)
    assert rows["Draws within ψ, by the paper"].missing
    for name in ("Mean excess loss", "Mean excess loss, by the paper"):
        assert rows[name].bound == same[name].bound
    marks = trace_of(plots.plot_guarantee(crowded), "guaranteed")
    assert (marks.x[0], marks.y[0]) == (crowded.psi, pytest.approx(within))
    table = excess_table(crowded)["guaranteed, at least"]
    assert table.loc[crowded.psi] == pytest.approx(within)
    drawn = replace(models, plan=replace(models.plan, law_psi=0.0), mechanism="unthresholded")
    assert "not of" not in title_of(plots.plot_bounds(drawn))


@pytest.mark.parametrize("name", ["langevin", "langevin_clipped", "ellipsoid"])
@pytest.mark.parametrize("show", [plots.list_guarantees, plots.plot_guarantee])
def test_no_theorem_of_exact_draws_is_quoted_for_others(name, show):
    with pytest.raises(ValueError, match=r"guarantees of exact draws.*explain\(plan\)"):
        show(_planned_for(name))


TABLE = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}


def _planned(epsilon, n_draws, **options):
    return plan(**TABLE, epsilon=epsilon, n_draws=n_draws, **options)


@pytest.fixture(scope="module")
def planned():
    return _planned(4.0, 20)


@pytest.mark.parametrize("epsilon", [0.3, 4.0, 31.0])
@pytest.mark.parametrize("n_draws", [1, 7, 64])
def test_the_guarantee_at_another_cost_and_number_is_that_of_its_plan(planned, epsilon, n_draws):
    once, found = _planned(epsilon, n_draws), guarantee_at(planned, epsilon, n_draws)
    assert found <= once.hit_rate_bound + 2e-3  # other certificates prove more, never less
    if once.certified_by_bounded_range:
        assert found == pytest.approx(hit_rate_at(once, once.eta), abs=2e-3)


def test_the_curves_hold_the_same_guarantees_and_the_plan_stands_on_its_own(planned):
    for row in guarantee_curves(planned, (5, 50)).iloc[::9].itertuples():
        found = guarantee_at(planned, row.epsilon, row.n_draws)
        assert found == pytest.approx(row.promise, abs=1e-6)
    figure = plots.plot_costs(planned)
    handle = figure.layout.meta["handle"]
    point, curve = figure.data[handle["trace"]], figure.data[handle["own"]]
    assert (point.name, curve.name) == ("this plan", "20 draws")
    assert handle["curves"][handle["own"]] == planned.n_draws
    assert point.x[0] == planned.epsilon and point.y[0] == planned.hit_rate_bound


def test_a_path_has_one_curve_and_the_cost_that_is_charged():
    path = RashomonClassifier(mechanism="langevin", epsilon=4.0, n_draws=400).plan(50_000, 10)
    assert path.cost[0] < 2.0
    figure = plots.plot_costs(path)
    assert [curve.name for curve in figure.data] == ["400 draws", "this plan"]
    assert [note.text for note in figure.layout.annotations] == ["any number of models"]
    assert "ε = 4" not in figure.layout.title.text


@pytest.mark.parametrize(("epsilon", "promise"), [(4.0, 0.5), (20.0, 0.9)])
def test_as_many_draws_as_have_a_guarantee_and_no_more(planned, epsilon, promise):
    found = draws_at(planned, epsilon, promise)
    by_counting = [n for n in range(1, 101) if guarantee_at(planned, epsilon, n) >= promise]
    assert found == max(by_counting)
    assert guarantee_at(planned, epsilon, found + 1) < promise
    assert (draws_at(planned, 0.05, 0.99), draws_at(planned, 100.0, 0.01)) == (1, 100)


def test_of_guaranteed_excesses_the_smaller_is_better():
    clf = RashomonClassifier(epsilon=4.0, delta=1e-6, n_draws=5, mechanism="langevin_clipped")
    cold = clf.plan(50_000, 10)
    at = [guarantee_at(cold, 4.0, count) for count in (1, 5, 20, 100)]
    assert np.all(np.diff(at) > 0)
    middle = draws_at(cold, 4.0, (at[1] + at[2]) / 2)
    assert 5 < middle < 20
    assert guarantee_at(cold, 4.0, middle) <= (at[1] + at[2]) / 2


def test_the_bar_of_a_ledger_composes_charges_and_names_what_exceeds_it(tmp_path):
    drawn = _planned(4.0, 20, delta=1e-6)
    with Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=1e-6) as ledger:
        for _ in range(3):
            ledger.reserve(bounded_range(eta=0.8)).commit()
        figure = plots.plot_budget(ledger, drawn)
        planned = trace_of(figure, "planned")
        after = planned.base[0] + planned.x[0]
        assert after == pytest.approx(ledger.epsilon_after(drawn.guarantee))
        assert trace_of(figure, "left").x[0] == pytest.approx(8.0 - after)
    figure = budget_bar([bounded_range(eta=7.0)], 8.0, 1e-6, drawn.guarantee)
    assert trace_of(figure, "planned: over the budget") and trace_of(figure, "left").x[0] == 0
    parts = [bounded_range(eta=0.3)] * 30
    bar = budget_bar(parts, 20.0, 1e-6).data[29]
    end = bar.base[0] + bar.x[0]
    assert end == pytest.approx(compose(parts).epsilon(1e-6)) and end < 30 * 0.3 - 1
    with Ledger.create(tmp_path / "b.ledger") as ledger:
        assert plots.plot_budget(ledger).layout.annotations[0].text == "This ledger has no budget."
