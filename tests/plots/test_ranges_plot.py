"""The figure of exact ranges: what it shows, and that a release cannot make it."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import plots
from rashomon_explorer.measures import draws_in_range, exact_coefficient_ranges, exact_score_ranges
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.problem import Problem
from tests.plots.conftest import trace_of


@pytest.fixture(scope="module")
def exact(rows, models):
    problem = Problem(rows.X, np.where(rows.y == 1, 1.0, -1.0))
    assert problem.minimum.value == pytest.approx(models.minimum.value)
    return problem, exact_coefficient_ranges(
        problem, models.psi, feature_names=models.feature_names[:-1]
    )


def test_bars_are_exact_ranges_widest_above_and_dots_lie_inside(models, exact):
    figure = plots.plot_ranges(models, exact[1])
    widest = (exact[1]["high_outer"] - exact[1]["low_outer"]).sort_values()
    assert list(figure.layout.yaxis.ticktext) == list(widest.index)
    bar, dots = trace_of(figure, "exact range"), trace_of(figure, "draw")
    low, high = np.array(bar.base), np.array(bar.base) + np.array(bar.x)
    where = np.array(dots.y, dtype=int)
    assert (dots.x >= low[where] - 1e-5).all() and (dots.x <= high[where] + 1e-5).all()
    inside = models.losses <= models.minimum.value + models.psi
    assert len(dots.x) == len(widest) * inside.sum()
    order = list(exact[1].index.get_indexer(widest.index))
    np.testing.assert_allclose(
        trace_of(figure, "best model").x, models.best[order], rtol=1e-3, atol=1e-3
    )
    assert f"{int(inside.sum())} of 12 draws inside the set" in figure.layout.title.text


def test_it_is_the_curators_and_says_so(models, exact):
    figure = plots.plot_ranges(models, exact[1])
    assert figure.layout.meta["view"] == "curator"
    unprotected = replace(models, guarantee=no_guarantee("bounds were learnt"))
    assert plots.plot_ranges(unprotected, exact[1]).layout.meta["view"] == "none"
    with pytest.raises(TypeError, match="needs a RashomonSet, got ReleasedSet"):
        plots.plot_ranges(models.release(), exact[1])


def test_people_and_ranges_of_another_psi(rows, models, exact):
    problem, _ = exact
    people = rows.X.iloc[:20]
    scores = exact_score_ranges(problem, models.psi, people)
    figure = plots.plot_ranges(models, scores, models.margins(people), unit="score")
    assert len(figure.layout.yaxis.ticktext) == 12
    assert figure.layout.title.text.count("12 widest of 20") == 1
    with pytest.raises(ValueError, match="outside the exact range"):
        plots.plot_ranges(models, exact_coefficient_ranges(problem, models.psi / 50))
    with pytest.raises(ValueError, match=r"exact must have the columns .* lacks \['best'\]"):
        plots.plot_ranges(models, scores.drop(columns="best"))


def test_what_draws_in_range_makes_is_plotted_as_it_is(models, exact):
    table = draws_in_range(models, exact[1])
    figure, direct = plots.plot_ranges(models, table), plots.plot_ranges(models, exact[1])
    for one, other in zip(figure.data, direct.data, strict=True):
        np.testing.assert_array_equal(one.x, other.x)
