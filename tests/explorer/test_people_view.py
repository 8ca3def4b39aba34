"""The view People & groups: numbers against the library, selections, and nothing in the release."""

from types import SimpleNamespace

import numpy as np
import pytest

from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.model_inputs import group_labels
from rashomon_explorer.explorer.panels import people as people_headline
from rashomon_explorer.measures import (
    exact_flips,
    fairness_audit,
    flip_psi,
    linear_shap,
    multiplicity_by_person_group,
)
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.plots.person import contributions


def test_who_flips_and_from_which_psi_on_is_what_the_library_proves(loans):
    models = loans.rashomon_set
    problem = set_problem(models, loans.rows, loans.targets)
    loans.show("people_ranges")
    table = loans.cards["people_ranges"].call.table()
    known = exact_flips(problem, models.psi, loans.rows)["flips"].to_numpy()
    np.testing.assert_array_equal(table["flips"] == "yes", known)
    place = int(np.flatnonzero(~known)[0]) if not known.all() else 0
    told = loans.exact.person(place)
    assert told["flip"] == flip_psi(problem, loans.rows.to_numpy()[place])
    assert (told["flip"].lower >= models.psi * 0.99) or known[place]
    row = next(row for row in loans.people_table.table.rows if row["id"] == place)
    assert row["cells"][0] == str(place) and "flips" in row["cells"][5]
    spread = contributions(models, loans.rows, place)
    shap = linear_shap(models, loans.rows.to_numpy()[[place]], background=loans.rows)[:, 0]
    assert spread["spread"].max() == pytest.approx(shap.std(axis=0).max())


def test_a_row_of_the_table_a_dot_and_a_group_are_one_selection(loans):
    loans.show("person")
    assert "Click a person" in str(loans.cards["person"].view.figure["layout"])
    loans.people_table.table.picked = [12]
    assert loans.state.people == (12,)
    title = loans.cards["person"].view.figure["layout"]["title"]["text"]
    assert title.startswith("Person 12:") and "ψ" in title
    loans.cards["people_ranges"].view.clicked = {"id": 30, "at": 1}
    assert loans.state.people == (30,) and loans.people_table.table.picked == [30]
    loans.people_headline.column.value = "sex"
    loans.people_headline.group.value = "f"
    assert loans.state.groups == (("sex", "f"),)
    women = int((loans.data.frame["sex"] == "f").sum())
    assert loans.people_table.table.note == f"{women} of 200 people"
    loans.state.pick_nothing()
    assert loans.people_headline.group.value == "everyone"
    assert loans.people_table.table.picked == []


def test_every_column_tells_groups_apart_the_sensitive_one_first(loans):
    loans.show("gaps")
    assert loans.people_headline.column.options == ("sex", "home", "age", "debt")
    loans.state.group_column = "age"
    groups = group_labels(loans.data, "age")
    known = fairness_audit(loans.rashomon_set, loans.rows, loans.targets, groups).ranges()
    found = loans.cards["gaps"].call.table()
    np.testing.assert_allclose(found["high"], known["high"])
    loans.show("burden")
    table = loans.cards["burden"].call.table()
    bears = multiplicity_by_person_group(loans.rashomon_set, loans.rows, groups)
    np.testing.assert_allclose(table["ambiguity"], bears["ambiguity"])
    # Of all 200 people it was asked, so that the exact ambiguity is at least what draws show.
    exact = loans.exact.ambiguity_by(loans.selected.everyone, "age")
    assert (exact >= bears["ambiguity"].drop("all rows").reindex(exact.index) - 1e-12).all()
    loans.state.group_column = ""


def test_a_fitted_model_shows_its_people_without_a_draw(tmp_path):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(0, 1, 60) > 0).astype(int)
    page = Explorer(LogisticRegression().fit(X, y), data=(X, y), home=tmp_path)
    page.show("people_ranges")
    table = page.cards["people_ranges"].call.table()
    assert set(table) == {"flips", "best", "exact_low", "exact_high"} and len(table) == 60
    assert "good models can flip" in page.people_headline.words.value
    assert len(page.people_table.table.rows) == 60


def test_fewer_than_two_draws_tell_neither_width_nor_noise(loans):
    models = loans.rashomon_set
    best = int(np.argmin(models.excess))
    one = models.filter(np.arange(models.n_draws) == best)
    state = SimpleNamespace(rashomon_set=one)
    told = people_headline._width(SimpleNamespace(state=state, picked=loans.session.picked))
    assert told == "The decomposition needs at least two draws within ψ."
