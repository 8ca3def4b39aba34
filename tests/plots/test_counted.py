"""Draws outside the set never count in a figure or table that says "the set"."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import plots
from rashomon_explorer.measures import ambiguity
from rashomon_explorer.plots.coefficients import spread_table
from rashomon_explorer.plots.importance import importance_table
from rashomon_explorer.plots.people import multiplicity, people_table
from rashomon_explorer.sets import from_predictions

SET_FIGURES = {
    "people": lambda m, rows: plots.plot_people(m, rows.X, rows.groups),
    "importance": lambda m, rows: plots.plot_importance(m, rows.X, rows.y, highlight=[1]),
    "spread": lambda m, rows: plots.plot_coefficient_spread(m, highlight=[1]),
    "cloud": lambda m, rows: plots.plot_importance_cloud(m, rows.X, rows.y),
}
SET_TABLES = {
    "people": lambda m, rows: people_table(m, rows.X, rows.groups),
    "importance": lambda m, rows: importance_table(m, rows.X, rows.y),
    "spread": lambda m, rows: spread_table(m),
}


def _title(figure):
    return figure.layout.title.text


def _strayed(models):
    """The same set, with models that say the opposite in the place of the draws outside."""
    outside = models.excess > models.psi
    coef = np.where(outside[:, None], -9.0, models.coef)
    assert 0 < outside.sum() < models.n_draws
    return replace(models, coef=coef)


@pytest.mark.parametrize("name", SET_FIGURES)
def test_draws_outside_change_nothing_in_a_figure_of_the_set(name, models, rows):
    make = SET_FIGURES[name]
    first, second = (json.loads(make(m, rows).to_json()) for m in (models, _strayed(models)))
    assert first == second
    # Negative control: the same strays, said to be inside.
    called_inside = replace(_strayed(models), losses=np.full(12, models.least))
    assert json.loads(make(called_inside, rows).to_json())["data"] != first["data"]


@pytest.mark.parametrize("name", SET_TABLES)
def test_draws_outside_change_nothing_in_a_table_of_the_set(name, models, rows):
    make = SET_TABLES[name]
    pd.testing.assert_frame_equal(make(models, rows), make(_strayed(models), rows))
    called_inside = replace(_strayed(models), losses=np.full(12, models.least))
    assert not make(called_inside, rows).equals(make(models, rows))


@pytest.mark.parametrize("name", SET_FIGURES)
def test_figures_say_how_many_draws_count(name, models, rows):
    n_inside = int((models.excess <= models.psi).sum())
    assert f"of the {n_inside} draws inside ψ = 0.05 (of 12)" in _title(
        SET_FIGURES[name](models, rows)
    )
    every = replace(models, losses=np.full(12, models.least))
    assert "of 12 draws, all inside" in _title(SET_FIGURES[name](every, rows))


@pytest.mark.parametrize("name", SET_FIGURES)
def test_with_nobody_inside_there_are_words_and_no_numbers(name, models, rows):
    strays = replace(models, losses=models.losses + 1.0)
    figure = SET_FIGURES[name](strays, rows)
    assert not figure.data
    (words,) = [note.text for note in figure.layout.annotations if note.name == "empty"]
    assert "None of 12 draws lies inside ψ = 0.05" in words
    assert "Raise <b>ε</b>" in words
    assert figure.layout.meta["view"] == "curator"


@pytest.mark.parametrize("name", SET_TABLES)
def test_a_table_of_nobody_is_refused_with_a_remedy(name, models, rows):
    strays = replace(models, losses=models.losses + 1.0)
    with pytest.raises(ValueError, match=r"None of 12 draws .* raise epsilon or psi"):
        SET_TABLES[name](strays, rows)


def test_the_page_of_the_review_shows_what_is_inside_alone(models, rows):
    inside = models.excess <= models.psi
    best = (models.best_scores(rows.X) > 0.5).astype(int)
    labels = models.labels(rows.X)
    shown = multiplicity(models, rows.X)
    assert shown.n_models == inside.sum()
    assert shown.ambiguity == ambiguity(labels[inside], best) < ambiguity(labels, best)


def test_only_draws_inside_are_ringed(models):
    inside = np.flatnonzero(models.excess <= models.psi)
    figure = plots.plot_coefficient_spread(models, highlight=range(12))
    ringed = next(trace for trace in figure.data if trace.name == "selected draws")
    assert len(ringed.x) == len(inside) * 4
    np.testing.assert_allclose(
        sorted(ringed.x), sorted(models.coef[inside].ravel().astype(np.float32))
    )


def test_the_cloud_of_coefficients_shows_all_draws_and_those_outside_as_diamonds(models):
    figure = plots.plot_coefficients(models)
    dots = next(trace for trace in figure.data if trace.name == "draw")
    strays = np.asarray(dots.marker.symbol) == "diamond"
    np.testing.assert_array_equal(strays, models.excess > models.psi)
    assert f"◆ the {strays.sum()} outside ψ" in _title(figure)


def test_a_release_is_said_to_be_of_all_draws(models):
    released = models.release()
    for make in (plots.plot_released_spread, plots.plot_released_coefficients):
        title = _title(make(released))
        assert "of all 12 draws (guaranteed hit rate ≥ " in title
        assert "inside ψ" not in title
        chosen = _title(make(released[:5]))
        assert "of 5 selected draws, inside ψ or not" in chosen and "guaranteed" not in chosen
    table = spread_table(released)
    np.testing.assert_array_equal(table["max"], models.coef.max(axis=0))


def test_models_of_unknown_loss_all_count_and_are_said_to():
    three = np.array([[0.9, 0.2, 0.6], [0.8, 0.1, 0.4], [0.1, 0.9, 0.5]])
    rows = np.zeros((3, 1)) + np.arange(3)[:, None]
    others = from_predictions(three, X=rows)
    figure = plots.plot_people(others, rows)
    assert "of 3 models, of unknown loss" in _title(figure)
    assert multiplicity(others, rows).ambiguity == 1.0
