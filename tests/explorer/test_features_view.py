"""The view Features: its numbers against the library, its lines, its words, its release."""

import numpy as np
import pytest

from rashomon_explorer.measures import (
    importance_cloud,
    model_class_reliance,
    partial_dependence_band,
)
from rashomon_explorer.measures.ranges import set_problem


def shown(page, name):
    page.show(name)
    return page.cards[name].view.figure


def drawn(page, name):
    """The figure with its numbers as arrays."""
    page.show(name)
    return page.cards[name].call.figure()


def headline(figure):
    return figure["layout"]["title"]["text"].split("<br>")[0]


def test_exact_ranges_and_class_reliance_are_those_of_the_whole_table(loans):
    models = loans.rashomon_set
    problem = set_problem(models, loans.rows, loans.targets)
    loans.state.groups = (("sex", "f"),)  # who is looked at does not change the set
    shown(loans, "class_reliance")
    found = loans.cards["class_reliance"].call.table()
    asked = {"home": [name for name in loans.rows if name.startswith("home")]}
    names = list(models.feature_names[:-1])
    known = model_class_reliance(problem, psi=0.3, features=asked, feature_names=names)
    np.testing.assert_allclose(found.loc["home"], known.loc["home"], atol=1e-9)
    assert set(found.index) == {"age", "debt", "home"}
    figure = drawn(loans, "exact_ranges")
    bar = figure.data[0]
    table = loans.cards["exact_ranges"].call.table()
    assert sorted(bar.base) == pytest.approx(sorted(table["low_outer"]), rel=1e-6)
    either = ((table["low"] < 0) & (table["high"] > 0)).sum()
    assert headline(figure).startswith(f"{either} of {len(table)} coefficients")


def test_two_features_against_each_other_fade_what_is_not_picked(loans):
    card = loans.cards["importance_cloud"]
    shown(loans, "importance_cloud")
    card._x.value, card._y.value = "home", "debt"
    loans.state.selection = (0, 3)
    dots = card.call.figure().data[0]
    inside = np.flatnonzero(loans.rashomon_set.excess <= 0.3)
    cloud = importance_cloud(loans.rashomon_set, loans.rows, loans.targets, measure="shap")
    np.testing.assert_allclose(dots.x, cloud["home"].iloc[inside], rtol=1e-5)
    faded = np.asarray(dots.marker.opacity) < 1
    assert list(np.flatnonzero(~faded)) == [0, 3]
    assert "2 of 12 models selected" in card.view.figure["layout"]["title"]["text"]


def test_a_profile_sets_whole_columns_and_says_which_way_models_go(loans):
    card = loans.cards["profile"]
    shown(loans, "profile")
    assert card._feature.options == ("age", "debt", "home")
    card._feature.value = "debt"
    encoder = loans.session.encoder
    encode = loans.selected.encode
    band = partial_dependence_band(
        loans.rashomon_set.inside(), loans.data.frame, "debt", transform=encode
    )
    np.testing.assert_allclose(card.call.table(), band)
    assert encoder is not None and headline(card.view.figure)[:4] in ("Ever", "The ")
    card._feature.value = "home"
    assert card.view.figure["data"][-1]["mode"] == "markers"
    assert headline(card.view.figure).startswith("home: ")


def test_importance_is_of_the_people_who_are_picked(loans):
    everyone = shown(loans, "importance")["layout"]["title"]["text"]
    loans.state.groups = (("sex", "f"),)
    women = int((loans.data.frame["sex"] == "f").sum())
    picked = shown(loans, "importance")["layout"]["title"]["text"]
    assert "200 of 200 rows read" in everyone and f"{women} of {women} rows read" in picked
