"""Every figure and table of models that tell several classes apart."""

import numpy as np
import pytest

from rashomon_explorer import plots
from rashomon_explorer.measures import (
    ambiguity,
    coefficient_spread,
    disagreement,
    permutation_importance,
    viable_prediction_range,
)
from rashomon_explorer.plots.coefficients import coefficients_table, default_axes
from rashomon_explorer.plots.people import multiplicity, people_table
from tests.plots.conftest import trace_of


def test_parameters_are_named_by_class_and_feature(several):
    models = several.models
    names = models.parameter_names
    assert names[:4] == ("mid: age", "mid: debt", "mid: luck", "mid: intercept")
    assert list(coefficient_spread(models).index) == list(names)
    assert list(coefficients_table(models.release()).columns) == list(names)
    assert not any("intercept" in axis for axis in default_axes(models))
    figure = plots.plot_coefficients(models, "top: age", "mid: intercept")
    np.testing.assert_allclose(trace_of(figure, "draw").x, models.coef[:, 4], rtol=1e-6)
    np.testing.assert_allclose(trace_of(figure, "draw").y, models.coef[:, 3], rtol=1e-6)
    released = plots.plot_released_coefficients(models.release(), "top: age", "mid: luck")
    assert released.layout.xaxis.title.text == "coefficient of top: age"
    for figure in (
        plots.plot_coefficient_spread(models, highlight=[1]),
        plots.plot_released_spread(models.release()),
    ):
        assert set(figure.layout.yaxis.ticktext) == set(names)
        assert "8 coefficients" in figure.layout.title.text


def test_importance_is_the_rise_of_the_cross_entropy(several, rows):
    models, X = several.models, rows.X.to_numpy()
    got = permutation_importance(models, X, several.y, n_repeats=1, random_state=3)
    order = np.random.RandomState(3).permutation(len(X))
    moved = X.copy()
    moved[:, 1] = X[order, 1]
    own = np.searchsorted(models.classes, several.y)
    loss = [-np.log(models.scores(x)[:, np.arange(len(x)), own]).mean(axis=1) for x in (moved, X)]
    np.testing.assert_allclose(got[:, 1], loss[0] - loss[1], atol=1e-12)
    figure = plots.plot_importance(models, rows.X, several.y, highlight=[2])
    assert set(figure.layout.yaxis.ticktext) == {"age", "debt", "luck"}
    with pytest.raises(ValueError, match=r"labels \['low', 'mid', 'top'\] of the models, got 0"):
        permutation_importance(models, X, own)


def test_people_have_the_probability_of_the_best_models_class(several, rows):
    models = several.models
    found = multiplicity(models, rows.X)
    best = models.best_scores(rows.X)
    np.testing.assert_allclose(found.best, best.max(axis=1))
    assert np.all(found.low <= found.high)
    labels = models.inside().labels(rows.X)
    assert found.ambiguity == pytest.approx(ambiguity(labels, best.argmax(axis=1)))
    assert found.disagreement == pytest.approx(disagreement(labels))
    figure = plots.plot_people(models, rows.X, rows.groups)
    assert figure.layout.yaxis.title.text == "probability of the best model's class"
    assert "decision" not in {trace.name for trace in figure.data}
    assert "ambiguity" in people_table(models, rows.X).columns


def test_losses_and_bounds_know_nothing_of_classes(several):
    assert len(trace_of(plots.plot_losses(several.models), "draw").x) == 12
    assert trace_of(plots.plot_bounds(several.models), "measured").y[0] == several.models.hit_rate


def test_ranges_of_several_classes_are_those_of_each(several, rows):
    scores = several.models.scores(rows.X)
    each = [viable_prediction_range(scores[:, :, k]) for k in range(scores.shape[2])]
    assert np.array_equal(viable_prediction_range(scores), np.stack(each, axis=1))
    with pytest.raises(ValueError, match=r"use scores.argmax\(axis=2\)"):
        ambiguity(scores)
