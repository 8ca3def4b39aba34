"""Figures of private rows: what they show, and that a release cannot make them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import plots
from rashomon_explorer.measures import ambiguity, coefficient_spread, viable_prediction_range
from rashomon_explorer.plots import text as _checks
from rashomon_explorer.plots.people import multiplicity
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets import from_estimators
from tests.plots.conftest import band_of, trace_of

MAKERS = {
    "losses": lambda given, rows: plots.plot_losses(given),
    "coefficients": lambda given, rows: plots.plot_coefficients(given),
    "spread": lambda given, rows: plots.plot_coefficient_spread(given),
    "importance": lambda given, rows: plots.plot_importance(given, rows.X, rows.y),
    "cloud": lambda given, rows: plots.plot_importance_cloud(given, rows.X, rows.y),
    "people": lambda given, rows: plots.plot_people(given, rows.X),
    "person": lambda given, rows: plots.plot_person(given, rows.X, 0),
    "profile": lambda given, rows: plots.plot_profile(given, rows.X, "age"),
    "bounds": lambda given, rows: plots.plot_bounds(given),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_curator_figures_say_so_and_refuse_a_release(make, models, rows):
    figure = make(models, rows)
    assert figure.layout.meta["view"] == "curator"
    assert band_of(figure).startswith("curator view: not private")
    with pytest.raises(TypeError, match="needs a RashomonSet, got ReleasedSet"):
        make(models.release(), rows)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_draws_without_a_guarantee_say_so_in_every_figure(make, models, rows):
    figure = make(replace(models, guarantee=no_guarantee("bounds were learnt")), rows)
    assert figure.layout.meta["view"] == "none"
    assert band_of(figure).startswith("no privacy guarantee")


def test_losses_stand_where_they_are_and_psi_is_an_edge_of_a_bin(models):
    figure = plots.plot_losses(models, highlight=[2])
    draws = trace_of(figure, "draw")
    np.testing.assert_allclose(draws.x, models.excess, rtol=1e-6)
    np.testing.assert_array_equal(draws.customdata, np.arange(12))
    widths = draws.marker.line.width
    assert widths[2] > 0
    assert np.count_nonzero(widths) == 1
    bins = trace_of(figure, "draws").xbins
    assert models.psi / bins.size == pytest.approx(round(models.psi / bins.size))
    assert f"{100 * models.hit_rate:.0f}" in figure.layout.title.text
    assert trace_of(figure, "best model").x[0] == 0


def test_cloud_shows_the_two_widest_coefficients_unless_told(models):
    figure = plots.plot_coefficients(models)
    spread = coefficient_spread(models).drop("intercept")
    widest = (spread["max"] - spread["min"]).sort_values(ascending=False).index[:2]
    assert [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text] == [
        f"coefficient of {name}" for name in widest
    ]
    figure = plots.plot_coefficients(models, "luck", "intercept")
    np.testing.assert_allclose(trace_of(figure, "draw").x, models.coef[:, 2], rtol=1e-6)
    best = trace_of(figure, "best model")
    assert (best.x[0], best.y[0]) == pytest.approx((models.best[2], models.best[3]))
    with pytest.raises(ValueError, match="no feature is called 'height'; the set has age, debt"):
        plots.plot_coefficients(models, "height")


def test_spread_bars_reach_from_the_least_to_the_largest(models):
    inside = models.excess <= models.psi
    chosen = [int(np.argmax(inside)), int(np.argmin(inside))]
    figure = plots.plot_coefficient_spread(models, highlight=chosen)
    table = coefficient_spread(models.inside())
    bars = trace_of(figure, "draws inside")
    for row, name in enumerate(figure.layout.meta.get("features", figure.layout.yaxis.ticktext)):
        assert bars.base[row] == pytest.approx(table.loc[name, "min"], rel=1e-5)
        assert bars.base[row] + bars.x[row] == pytest.approx(table.loc[name, "max"], rel=1e-5)
    assert len(trace_of(figure, "selected draws").x) == inside[chosen].sum() * len(table) > 0


def test_a_choice_of_the_draws_is_not_called_all_draws(models, rows):
    chosen = models.inside()
    for figure in (
        plots.plot_coefficient_spread(chosen),
        plots.plot_importance(chosen, rows.X, rows.y),
    ):
        names = [trace.name for trace in figure.data]
        assert "all models shown" in names and "all draws" not in names


def test_importance_reads_at_most_so_many_rows_and_says_so(models, rows):
    figure = plots.plot_importance(models, rows.X, rows.y, max_rows=100)
    assert "100 of 300 rows read" in figure.layout.title.text
    names = list(figure.layout.yaxis.ticktext)
    median = dict(zip(names, trace_of(figure, "median").x, strict=True))
    assert set(names) == {"age", "debt", "luck"}
    assert median["age"] > median["luck"]
    best = dict(zip(names, trace_of(figure, "best model").x, strict=True))
    assert best["age"] > best["luck"]


def test_people_are_sorted_and_inside_their_range(models, rows):
    figure = plots.plot_people(models, rows.X, rows.groups, group_name="luck")
    best = trace_of(figure, "best model")
    assert np.all(np.diff(best.y) >= 0)
    low, high = np.asarray(best.customdata).T
    exact = viable_prediction_range(models.inside().scores(rows.X))
    assert low.min() >= exact[:, 0].min()
    assert high.max() <= exact[:, 1].max()
    for name in ("luck a", "luck b"):
        assert np.sum(trace_of(figure, name).y) == pytest.approx(100, rel=1e-5)


def test_multiplicity_agrees_with_the_measures(models, rows):
    found = multiplicity(models, rows.X)
    best = (models.best_scores(rows.X) > 0.5).astype(int)
    assert found.ambiguity == pytest.approx(ambiguity(models.inside().labels(rows.X), best))
    assert found.ambiguous.mean() == pytest.approx(found.ambiguity)


def test_a_long_table_is_read_in_part_and_the_figure_says_so(models, rows, monkeypatch):
    monkeypatch.setattr(
        "rashomon_explorer.plots.people._MOST_PREDICTIONS", 100 * len(models.inside().coef)
    )
    monkeypatch.setattr("rashomon_explorer.plots.people._FEWEST_ROWS", 50)
    figure = plots.plot_people(models, rows.X, rows.groups)
    assert figure.layout.xaxis.title.text == "100 of 300 people, sorted"
    for name in ("group a", "group b"):
        assert np.sum(trace_of(figure, name).y) == pytest.approx(100, rel=1e-5)


def test_regression_people_have_ranges_and_no_labels(regression, rows):
    figure = plots.plot_people(regression, rows.X)
    assert "median range" in figure.layout.title.text
    assert "ambiguity" not in figure.layout.title.text
    assert figure.layout.yaxis.title.text == "prediction"


def test_more_points_than_can_be_drawn_are_subsampled_in_words(models, monkeypatch):
    monkeypatch.setattr(_checks, "MOST_POINTS", 5)
    figure = plots.plot_coefficients(models)
    assert len(trace_of(figure, "draw").x) == 5
    assert "showing 5 of 12" in figure.layout.title.text
    np.testing.assert_array_equal(
        trace_of(figure, "draw").customdata,
        trace_of(plots.plot_coefficients(models), "draw").customdata,
    )


def test_names_in_a_figure_cannot_become_markup(models):
    names = ("<b>age</b>", *models.feature_names[1:])
    figure = plots.plot_coefficients(replace(models, feature_names=names), "<b>age</b>", "debt")
    assert "<b>" not in figure.layout.xaxis.title.text


def test_people_of_models_that_take_text_and_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, 90), "home": rng.choice(["own", "rent"], 90)})
    y = ((frame["age"] > 40) ^ (rng.random(90) < 0.2)).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    trees = [
        make_pipeline(encode, DecisionTreeClassifier(max_depth=depth, random_state=0)).fit(frame, y)
        for depth in (1, 2, 3)
    ]
    models = from_estimators(trees, frame, y)
    found = multiplicity(models, frame)
    scores = np.stack([tree.predict_proba(frame)[:, 1] for tree in trees])
    np.testing.assert_allclose(found.width, np.ptp(scores, axis=0), atol=1e-12)
    assert plots.plot_people(models, frame, groups=frame["home"]).layout.meta["view"]
