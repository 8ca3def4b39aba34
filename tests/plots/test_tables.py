"""The numbers behind the figures."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rashomon_explorer import plots
from rashomon_explorer.explorer.html import table_html
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.mechanisms.plans import Rejected, unplanned
from rashomon_explorer.mechanisms.registry import SET_MECHANISMS
from rashomon_explorer.mechanisms.select import compare
from rashomon_explorer.plots.coefficients import coefficients_table, spread_table
from rashomon_explorer.plots.guarantees import excess_table
from rashomon_explorer.plots.importance import importance_table
from rashomon_explorer.plots.losses import losses_table
from rashomon_explorer.plots.people import people_table
from rashomon_explorer.plots.prices import options_table
from rashomon_explorer.plots.text import rounded_bounds


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("make", [plan, plan_path])
def test_every_way_to_spend_a_budget_is_listed_and_one_of_them_is_the_plan(make, ridge):
    asked = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6, "ridge": ridge}
    planned = make(50_000, 11, 0.02, n_draws=5, **asked)
    offers, table = compare(planned.request), options_table(planned)
    assert len(table) == len(offers) == len(SET_MECHANISMS) - 1
    assert sum("this plan" in name for name in table.index) == 1
    for offer, (_, row) in zip(offers, table.iterrows(), strict=True):
        rejected = isinstance(offer, Rejected)
        assert row["reason"] == (offer.reason if rejected else offer.certificate)
        assert (row["within ψ"] == "not applicable") is rejected
        assert (row["privacy cost"] == "–") is rejected
    # A plan that does not record what it was made from has no candidates.
    assert options_table(unplanned((5, 11), 0.02, "logistic", planned.guarantee)).empty


LABELS = [1, 1.5, "1", "1.0", "a", "", None, float("nan"), False, 7, 2.0, "no value", b"x"]


@given(st.lists(st.sampled_from(LABELS), min_size=300, max_size=300), st.booleans())
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_people_by_any_kind_of_group_are_all_there_and_no_number_is_missing(
    models, rows, groups, as_series
):
    given_as = pd.Series(groups, dtype=object) if as_series else groups
    table = people_table(models, rows.X, given_as)
    assert table["people"].sum() == 300
    assert table.index.is_unique and table.index.name == "group"
    assert not table.isna().any(axis=None)
    assert table["people"].is_monotonic_decreasing
    kinds = {"no value" if pd.isna(x) else (isinstance(x, str | bytes), x) for x in groups}
    assert len(table) == len(kinds)
    everyone = people_table(models, rows.X)["ambiguity"].iloc[0]
    assert (table["ambiguity"] * table["people"]).sum() / 300 == pytest.approx(everyone)


def test_all_of_many_groups_are_in_the_table_and_the_figure_says_how_many_it_shows(models, rows):
    groups = np.arange(300) % 23
    assert len(people_table(models, rows.X, groups)) == 23
    figure = plots.plot_people(models, rows.X, groups)
    assert "8 of 23 groups shown, all in the table" in figure.layout.title.text
    with pytest.raises(ValueError, match="one value for each of 300 rows"):
        people_table(models, rows.X, groups[:-1])


CELLS = st.one_of(st.integers(0, 3), st.floats(0, 4), st.sampled_from([1e-9, 0.1 + 0.2, 2 / 3]))


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12))
def test_rounded_bounds_lose_no_number_whatever_the_index_is(cells):
    index = pd.Index([row[0] for row in cells], name="at most")
    frame = pd.DataFrame([row[1:] for row in cells], columns=["low", "high"], index=index)
    frame.attrs["rounding"] = {"at most": "up", "low": "down", "high": "up"}
    shown = rounded_bounds(frame)
    assert shown.shape == frame.shape and not shown.isna().any(axis=None)
    hair = 1 + 1e-11  # so much of a number is not a digit
    assert (shown["low"].to_numpy() <= frame["low"].to_numpy() * hair).all()
    assert (shown["high"].to_numpy() * hair >= frame["high"].to_numpy()).all()
    assert (shown.index.to_numpy() * hair >= frame.index.to_numpy()).all()
    assert shown.index.name == "at most"
    np.testing.assert_allclose(shown["low"].to_numpy(), frame["low"].to_numpy(), rtol=1e-3)


@given(
    n=st.integers(50, 10**6),
    p=st.integers(1, 60),
    psi=st.floats(0, 0.3),
    epsilon=st.floats(0.05, 40),
    n_draws=st.integers(1, 50),
)
@settings(max_examples=12)
def test_tables_of_a_plan_are_numbers_throughout(n, p, psi, epsilon, n_draws):
    public = {"radius": 4.0, "row_norm": 1.0, "delta": 1e-6}
    planned = plan(n, p, psi, epsilon=epsilon, n_draws=n_draws, **public)
    table = excess_table(planned)
    shown = rounded_bounds(table)
    assert not shown.isna().any(axis=None) and not shown.index.isna().any()
    assert "NaN" not in table_html(table, "numbers")


def test_tables_of_draws_are_the_sets_numbers_throughout(models, regression, several, rows):
    losses = losses_table(models)
    np.testing.assert_allclose(losses["excess"], models.excess)
    assert losses["within ψ"].mean() == models.hit_rate
    np.testing.assert_array_equal(coefficients_table(models.release()), models.coef)
    importance = importance_table(models, rows.X, rows.y)
    assert list(importance.index) == ["age", "debt", "luck"] and "best" in importance
    assert (importance["min"] <= importance["median"]).all()
    for models_, y in ((models, rows.y), (regression, rows.target), (several.models, several.y)):
        tables = [spread_table(models_.release()), importance_table(models_, rows.X, y)]
        for table in (*tables, people_table(models_, rows.X, rows.groups), excess_table(models_)):
            assert "NaN" not in table_html(table, "numbers")
