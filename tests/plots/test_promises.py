"""Numbers that theorems promise, against the bounds themselves."""

import math

import numpy as np
import pytest

from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.mechanisms.bounds import (
    expected_excess,
    hit_probability_from_excess,
    uniform_stability,
)
from rashomon_explorer.plots import guarantees_table, list_guarantees, plot_guarantee
from rashomon_explorer.plots.guarantees import excess_table

CLF = RashomonClassifier(epsilon=4.0, radius=4.0, ridge=0.05, n_draws=20)
PLANNED, KNOWN = CLF.plan(20_000, 5), CLF.constants(20_000, 5)


def test_a_plan_has_promises_and_nothing_measured():
    rows = list_guarantees(PLANNED, KNOWN)
    law = {"p": 6, "beta": PLANNED.beta, "psi": PLANNED.psi}
    assert rows[0].bound == PLANNED.hit_rate_bound
    assert rows[1].bound == hit_probability_from_excess(**law) <= rows[0].bound
    assert rows[3].bound == expected_excess(**law) >= rows[2].bound
    assert rows[4].bound == uniform_stability(L=KNOWN.L, m=0.05, n=20_000, psi=PLANNED.psi)
    assert rows[5].bound == pytest.approx(rows[3].bound + rows[4].bound)
    assert all(math.isnan(row.measured) and row.found == "–" for row in rows)
    assert all("heor" in row.theorem for row in rows)


def test_a_set_has_both_sides(models):
    rows = list_guarantees(models)
    assert len(rows) == 4
    assert rows[0].measured == rows[1].measured == models.hit_rate
    assert rows[2].measured == rows[3].measured == models.excess.mean()
    table = guarantees_table(models)
    assert list(table["bound"]) == [row.bound for row in rows]
    with pytest.raises(AttributeError):
        list_guarantees(models.release().hit_rate)


def test_without_strong_convexity_stability_says_what_it_needs():
    flat = RashomonClassifier(epsilon=4.0, ridge=0.0, mechanism="exact")
    rows = list_guarantees(flat.plan(100, 2), flat.constants(100, 2))
    assert [row.promised for row in rows[4:]] == ["needs ridge > 0"] * 2
    assert guarantees_table(PLANNED, KNOWN)["bound"].notna().all()


def test_the_promise_is_drawn_without_rows(models):
    figure = plot_guarantee(PLANNED)
    assert figure.layout.legend.y == 1.0  # not below the axis, where a low card has no room
    assert figure.layout.meta["view"] == "plan"
    assert {trace.name for trace in figure.data} == {
        *("guaranteed, at least", "a quadratic loss", "guaranteed")
    }
    table = excess_table(PLANNED)
    assert list(table.columns) == ["guaranteed, at least"]
    assert table.loc[PLANNED.psi].item() == pytest.approx(PLANNED.hit_rate_bound)
    measured = excess_table(models)
    assert measured.loc[models.psi, "draws"] == models.hit_rate
    assert np.all(np.diff(measured["draws"]) >= 0)
