"""Figures of importance over the set: what they show and who may see them."""

import numpy as np
import pytest

from rashomon_explorer import plots
from rashomon_explorer.measures import (
    importance_cloud,
    importance_distribution,
    model_class_reliance,
    model_reliance,
)
from rashomon_explorer.plots import importance
from rashomon_explorer.problem.problem import Problem
from tests.plots.conftest import trace_of


@pytest.fixture(scope="module")
def table(rows):
    problem = Problem(rows.X.to_numpy(), rows.target.to_numpy(), loss="squared", radius=2.0)
    return model_class_reliance(problem, psi=0.01, feature_names=list(rows.X))


def test_the_cloud_is_the_measured_one(models, rows):
    outside, inside = models.excess.argmax(), models.excess.argmin()
    figure = plots.plot_importance_cloud(models, rows.X, rows.y, highlight=[outside, inside])
    cloud = importance_cloud(models.inside(), rows.X, rows.y)
    shown = {dimension.label: dimension.values for dimension in figure.data[0].dimensions}
    assert set(shown) == {"age", "debt", "luck"}
    np.testing.assert_allclose(shown["age"], cloud["age"], rtol=1e-5)
    assert figure.layout.meta["view"] == "curator"
    ringed = figure.data[0].marker.size == 10
    assert figure.data[0].customdata[ringed].tolist() == [inside]
    with pytest.raises(ValueError, match="at least two features"):
        plots.plot_importance_cloud(models, rows.X, rows.y, features=["age"])


def test_a_wide_cloud_is_cut_in_words(models, rows, monkeypatch):
    monkeypatch.setattr(importance, "MOST_IN_CLOUD", 2)
    figure = plots.plot_importance_cloud(models, rows.X, rows.y, measure="permutation")
    assert len(figure.data[0].dimensions) == 2
    assert "2 widest of 3" in figure.layout.title.text


def test_distribution_curves_are_its_shares():
    rng = np.random.default_rng(0)
    found = importance_distribution([rng.normal(size=(9, 8)) + range(8)], list("abcdefgh"))
    figure = plots.plot_importance_distribution(found)
    assert [trace.name for trace in figure.data] == list("hgfedc")
    curve = trace_of(figure, "h")
    np.testing.assert_allclose(curve.y, found.cdf(np.asarray(curve.x, float) + 1e-6)["h"])
    assert figure.layout.meta["view"] == "curator"
    assert "6 most important of 8" in figure.layout.title.text


def test_limits_hold_what_is_attained_and_the_draws(table, rows, regression):
    draws = model_reliance(regression, rows.X, rows.target)
    figure = plots.plot_class_reliance(table, draws)
    assert figure.layout.meta["view"] == "curator"
    for name, low, high in (
        ("no model exceeds", "lower", "upper"),
        ("some model attains", "lower_attained", "upper_attained"),
    ):
        bar = trace_of(figure, name)
        base = np.asarray(bar.base, dtype=float)
        np.testing.assert_allclose(base, table[low][::-1], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(base + bar.x, table[high][::-1], rtol=1e-5, atol=1e-7)
    dots = trace_of(figure, "draws")
    assert np.abs(dots.y - np.round(dots.y)).max() < 0.2
    top = dots.x[np.round(dots.y) == 2]
    np.testing.assert_allclose(np.sort(top), np.sort(draws["age"]), rtol=1e-5)
    assert "lower bound" in figure.layout.title.text
    with pytest.raises(ValueError, match="draws has no column 'luck'"):
        plots.plot_class_reliance(table, draws[["age", "debt"]])
    assert "draws" not in [trace.name for trace in plots.plot_class_reliance(table).data]


def test_names_in_a_figure_cannot_become_markup(table):
    figure = plots.plot_class_reliance(table.rename(index={"age": "<b>age</b>"}))
    assert "<b>age" not in "".join(figure.layout.yaxis.ticktext)
