"""Contract of figures: whose they are, which draws count, and that names are no markup."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import measures, plots
from rashomon_explorer.plots.coefficients import spread_table
from rashomon_explorer.plots.importance import importance_table
from rashomon_explorer.plots.people import multiplicity, people_table
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import from_predictions
from tests.plots.conftest import band_of, title_of


def _ranges(models, rows):
    problem = Problem(rows.X, np.where(rows.y == 1, 1.0, -1.0))
    names = models.feature_names[:-1]
    return plots.plot_ranges(
        models, measures.exact_coefficient_ranges(problem, 0.05, feature_names=names)
    )


OF_A_SET = {
    "people": lambda m, rows: plots.plot_people(m, rows.X, rows.groups),
    "importance": lambda m, rows: plots.plot_importance(m, rows.X, rows.y, highlight=[1]),
    "spread": lambda m, rows: plots.plot_coefficient_spread(m, highlight=[1]),
    "pair": lambda m, rows: plots.plot_importance_pair(
        m, measures.importance_cloud(m, rows.X, rows.y)
    ),
}
"""Figures of the draws inside ψ alone."""
CURATOR = {
    **OF_A_SET,
    "losses": lambda m, rows: plots.plot_losses(m),
    "coefficients": lambda m, rows: plots.plot_map(m),
    "person": lambda m, rows: plots.plot_person(m, rows.X, 0),
    "profile": lambda m, rows: plots.plot_profile(m, rows.X, "age"),
    "bounds": lambda m, rows: plots.plot_bounds(m),
    "ranges": _ranges,
    "frontier": lambda m, rows: plots.plot_frontier(_audit(m, rows)),
    "gaps": lambda m, rows: plots.plot_fairness_range(_audit(m, rows)),
    "decomposition": lambda m, rows: plots.plot_decomposition(
        measures.disagreement_decomposition(m, rows.X)
    ),
}
RELEASED = {"coefficients": plots.plot_map, "spread": plots.plot_coefficient_spread}
TABLES = {
    "people": lambda m, rows: people_table(m, rows.X, rows.groups),
    "importance": lambda m, rows: importance_table(m, rows.X, rows.y),
    "spread": lambda m, rows: spread_table(m),
}


def _audit(models, rows):
    return measures.fairness_audit(models, rows.X, rows.y, rows.groups)


def _json(figure):
    return json.loads(figure.to_json())


@pytest.mark.parametrize("name", CURATOR)
def test_a_figure_of_rows_says_whose_it_is_and_refuses_a_release(name, models, rows):
    figure = CURATOR[name](models, rows)
    assert figure.layout.meta["view"] == "curator"
    assert band_of(figure).startswith("curator view: not private")
    unprotected = replace(models, guarantee=no_guarantee("bounds were computed"))
    figure = CURATOR[name](unprotected, rows)
    assert figure.layout.meta["view"] == "none"
    assert band_of(figure).startswith("no privacy guarantee")
    if name not in RELEASED:
        with pytest.raises((TypeError, ValueError, AttributeError)):
            CURATOR[name](models.release(), rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: plots.plot_losses(m.release()), "needs a RashomonSet, got ReleasedSet"),
        (lambda m: plots.plot_map(0), "RashomonSet or a ReleasedSet, got int"),
        (lambda m: plots.plot_frontier(m.release()), "needs a FairnessAudit, got ReleasedSet"),
        (lambda m: plots.plot_fairness_range(m), "needs a FairnessAudit, got RashomonSet"),
        (lambda m: plots.plot_decomposition(m), r"disagreement_decomposition\(models, X\), got"),
        (lambda m: plots.plot_two_sets(m, m.release()), "not one of each"),
    ],
)
def test_figures_name_the_type_that_they_need(call, message, models):
    with pytest.raises(TypeError, match=message):
        call(models)


@pytest.mark.parametrize("make", RELEASED.values(), ids=RELEASED)
def test_a_released_figure_has_its_cost_and_nothing_that_only_the_curator_knows(make, models):
    released = models.release()
    figure = make(released)
    assert figure.layout.meta["view"] == "release"
    cost, doubt = band_of(figure).split("<br>")
    assert cost == "released: ε = 20 at δ = 1e-6 by itself"
    assert doubt == "guaranteed hit rate ≥ 17%: weak guarantee"
    strong = replace(models, plan=replace(models.plan, hit_rate=0.2)).release()
    assert "<br>" not in band_of(make(strong))
    assert "of all 12 draws (guaranteed hit rate ≥ " in title_of(figure)
    part = title_of(make(released[:5]))
    assert "of 5 selected draws, inside ψ or not" in part and "guaranteed" not in part
    # Negative control: the curator's figure does change.
    changed = replace(models, losses=models.losses + 0.02, clipped_share=0.9, acceptance=0.5)
    assert _json(make(changed.release())) == _json(figure)
    assert _json(make(changed)) != _json(make(models))


def _strayed(models):
    """The same set, with models that say the opposite in the place of the draws outside."""
    outside = models.excess > models.psi
    assert 0 < outside.sum() < models.n_draws
    return replace(models, coef=np.where(outside[:, None], -9.0, models.coef))


@pytest.mark.parametrize("name", OF_A_SET)
def test_draws_outside_change_nothing_in_a_figure_or_table_of_the_set(name, models, rows):
    make, strayed = OF_A_SET[name], _strayed(models)
    first = _json(make(models, rows))
    assert _json(make(strayed, rows)) == first
    n_inside = int((models.excess <= models.psi).sum())
    assert f"of the {n_inside} draws inside ψ = 0.05 (of 12)" in title_of(make(models, rows))
    # Negative control: the same strays, said to be inside.
    inside = replace(strayed, losses=np.full(12, models.least))
    figure = make(inside, rows)
    assert _json(figure)["data"] != first["data"]
    assert "of 12 draws, all inside" in title_of(figure)
    if name in TABLES:
        table = TABLES[name](models, rows)
        pd.testing.assert_frame_equal(TABLES[name](strayed, rows), table)
        assert not TABLES[name](inside, rows).equals(table)


@pytest.mark.parametrize("name", OF_A_SET)
def test_without_draws_inside_there_are_words_and_no_numbers(name, models, rows):
    strays = replace(models, losses=models.losses + 1.0)
    figure = OF_A_SET[name](strays, rows)
    assert not figure.data and figure.layout.meta["view"] == "curator"
    (words,) = [note.text for note in figure.layout.annotations if note.name == "empty"]
    assert "None of 12 draws lies inside ψ = 0.05" in words and "Raise <b>ε</b>" in words
    if name in TABLES:
        with pytest.raises(ValueError, match=r"None of 12 draws .* raise epsilon or psi"):
            TABLES[name](strays, rows)


def test_models_of_unknown_loss_all_count_and_a_selection_is_not_called_all_draws(models, rows):
    three = np.array([[0.9, 0.2, 0.6], [0.8, 0.1, 0.4], [0.1, 0.9, 0.5]])
    X = np.arange(3.0)[:, None]
    others = from_predictions(three, X=X)
    assert "of 3 models, of unknown loss" in title_of(plots.plot_people(others, X))
    assert multiplicity(others, X).ambiguity == 1.0
    names = [trace.name for trace in plots.plot_coefficient_spread(models.inside()).data]
    assert "all models shown" in names and "all draws" not in names


def test_names_in_a_figure_are_no_markup(models):
    renamed = replace(models, feature_names=("<b>age</b>", *models.feature_names[1:]))
    figure = plots.plot_map(renamed, "<b>age</b>", "debt")
    assert "<b>" not in figure.layout.xaxis.title.text
    names = plots.plot_coefficient_spread(renamed).layout.yaxis.ticktext
    assert not any("<b>" in name for name in names)
