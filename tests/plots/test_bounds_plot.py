"""The figure of what was measured beside what is promised."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms.bounds import convex_law
from rashomon_explorer.mechanisms.bounds.law import quadratic_law
from rashomon_explorer.plots.guarantees import plot_bounds
from rashomon_explorer.plots.text import at_least, at_most
from tests.plots.conftest import trace_of


def _share_at(trace, place):
    """Height of a step trace at a place."""
    return trace.y[np.searchsorted(trace.x, place, side="right") - 1]


@pytest.mark.parametrize("kind", ["models", "regression"])
def test_measured_and_promised_stand_where_they_are(kind, request):
    given = request.getfixturevalue(kind)
    figure = plot_bounds(given)
    law = convex_law(p=4, beta=given.beta, psi=given.psi)
    draws = trace_of(figure, "draws")
    for place in np.quantile(given.excess, [0.2, 0.6]) * (1 + 1e-4):
        assert _share_at(draws, place) == pytest.approx(np.mean(given.excess <= place))
    for name, expected in (
        ("guaranteed, at least", law),
        ("a quadratic loss", quadratic_law(p=4, beta=given.beta, psi=given.psi)),
    ):
        curve = trace_of(figure, name)
        np.testing.assert_allclose(curve.y, expected.cdf(curve.x), atol=1e-5)
        assert np.all(np.diff(curve.y) >= 0)
    assert tuple(trace_of(figure, "measured").y) == (given.hit_rate, 0)
    assert trace_of(figure, "measured").x[1] == pytest.approx(given.excess.mean())
    assert tuple(trace_of(figure, "guaranteed").x) == (given.psi, law.mean)
    assert trace_of(figure, "guaranteed").y[0] == given.plan.hit_rate_bound
    assert law.mean == pytest.approx(given.plan.excess_bound, rel=1e-12)
    assert f"guaranteed {at_least(law.hit_rate)}" in figure.layout.title.text
    assert f"guaranteed {at_most(law.mean)}" in figure.layout.title.text


def test_the_band_of_chance_holds_the_steps_and_narrows(models):
    def width(given):
        figure = plot_bounds(given)
        upper, lower = trace_of(figure, "upper"), trace_of(figure, "chance, 95 %")
        draws = trace_of(figure, "draws")
        assert np.all(np.asarray(lower.y) <= np.asarray(draws.y))
        assert np.all(np.asarray(upper.y) >= np.asarray(draws.y))
        return float(np.max(np.subtract(upper.y, lower.y)))

    many = replace(models, coef=np.tile(models.coef, (50, 1)), losses=np.tile(models.losses, 50))
    assert width(many) < 0.2 < width(models)


def test_draws_that_break_the_promise_are_seen(models):
    worse = replace(models, losses=models.minimum.value + models.psi + np.full(12, 1.0))
    figure = plot_bounds(worse)
    promised = convex_law(p=4, beta=models.beta, psi=models.psi)
    upper = trace_of(figure, "upper")
    assert _share_at(upper, models.psi + 0.5) < promised.cdf(models.psi + 0.5)
    assert "in the set 0%" in figure.layout.title.text


def test_a_chain_is_not_given_the_promise_of_exact_draws(models):
    assert (
        "not for langevin" in plot_bounds(replace(models, mechanism="langevin")).layout.title.text
    )
    assert "not of" not in plot_bounds(models).layout.title.text


def test_no_draws_leave_the_promise(models):
    figure = plot_bounds(replace(models, coef=models.coef[:0], losses=models.losses[:0]))
    assert {trace.name for trace in figure.data} == {
        "guaranteed, at least",
        "a quadratic loss",
        "guaranteed",
    }
    assert "no draws · guaranteed ≥" in figure.layout.title.text


def test_many_draws_are_drawn_with_few_steps(models):
    many = replace(
        models, coef=np.tile(models.coef, (1000, 1)), losses=np.tile(models.losses, 1000)
    )
    assert len(trace_of(plot_bounds(many), "draws").x) <= 2002


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("finite_grid", "guaranteed for draws from the ball; these are exact on a grid in it"),
        ("mala", "guaranteed for exact draws, not for mala"),
    ],
)
def test_draws_of_which_it_is_not_promised_say_why(models, mechanism, words):
    assert words in plot_bounds(replace(models, mechanism=mechanism)).layout.title.text
    assert words not in plot_bounds(models).layout.title.text
