"""Figures that may leave the building are made of the draws alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import plots
from rashomon_explorer.plots.coefficients import MOST_NUMBERS
from rashomon_explorer.release import release
from tests.release.cases import models_of


@pytest.mark.parametrize("make", [plots.plot_released_coefficients, plots.plot_released_spread])
def test_release_figures_carry_their_price_and_refuse_a_curators_set(make, models):
    figure = make(models.release())
    assert figure.layout.meta["view"] == "release"
    paid, doubt = figure.layout.shapes[0].label.text.split("<br>")
    assert paid == "released at ε = 20 at δ = 1e-6"
    assert models.plan.hit_rate_bound < 0.2
    assert doubt == "guaranteed hit rate ≥ 17%: weak guarantee"
    strong = replace(models, plan=replace(models.plan, hit_rate_bound=0.2)).release()
    assert "<br>" not in make(strong).layout.shapes[0].label.text
    with pytest.raises(TypeError, match=r"needs a ReleasedSet, got RashomonSet; call .release"):
        make(models)


@pytest.mark.parametrize("make", [plots.plot_released_coefficients, plots.plot_released_spread])
def test_release_figures_do_not_change_with_what_only_the_curator_knows(make, models):
    changed = replace(models, losses=models.losses + 1.0, clipped_share=0.9, acceptance=0.5)
    assert json.loads(make(changed.release()).to_json()) == json.loads(
        make(models.release()).to_json()
    )
    # Negative control: the curator's figure does change.
    assert json.loads(plots.plot_coefficients(changed).to_json()) != json.loads(
        plots.plot_coefficients(models).to_json()
    )


def test_released_numbers_have_names_of_their_own_and_intervals_that_hold_them():
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    groups = np.where(rows[:, 1] > 0, "people of the one group", "people of the other group")
    released = release(
        models_of(n_draws=20),
        *(rows, (rows[:, 0] > 0).astype(int), groups),
        queries=["losses", "selection_gap", "mean_selection_gap"],
        categories=tuple(np.unique(groups)),
        rho=1.0,
        ledger=None,
    )
    figure = plots.plot_released(released)
    # Rates are compared on one axis; losses, which have no such range, keep their own.
    assert figure.layout.xaxis2.range == figure.layout.xaxis3.range == (-0.02, 1.02)
    assert figure.layout.xaxis.range is None
    for number, axis in enumerate(
        (figure.layout.yaxis, figure.layout.yaxis2, figure.layout.yaxis3)
    ):
        shown = released.answers[number].statistics[:MOST_NUMBERS]
        assert len(set(axis.ticktext)) == len(axis.ticktext) == len(shown)
    assert "selection rate gap of draw 11" in figure.layout.yaxis2.ticktext
    assert "8 more in the table" in figure.layout.xaxis.title.text
    for trace, answer in zip(figure.data, released.answers, strict=True):
        for words, statistic in zip(trace.hovertext, answer.statistics, strict=False):
            low, high = map(float, words.split(" (")[1].split(")")[0].split(" to "))
            least, most = statistic.interval()
            assert low <= least + 1e-9 and high >= most - 1e-9
